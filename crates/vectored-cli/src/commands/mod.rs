//! One file a subcommand.

pub mod host;
pub mod measure;
