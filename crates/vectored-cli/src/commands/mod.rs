//! One file a subcommand.

pub mod copy;
pub mod host;
pub mod measure;
pub mod reproduce;
