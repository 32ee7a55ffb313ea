//! One file a subcommand.

pub mod advise;
pub mod compare;
pub mod copy;
pub mod history;
pub mod host;
pub mod measure;
pub mod report;
pub mod reproduce;
