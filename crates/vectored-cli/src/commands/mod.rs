//! One file a subcommand.

pub mod measure;
