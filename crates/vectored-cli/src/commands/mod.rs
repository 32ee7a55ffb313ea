//! One file a subcommand.

pub mod advise;
pub mod compare;
pub mod completions;
pub mod copy;
pub mod history;
pub mod host;
pub mod man;
pub mod measure;
pub mod receive;
pub mod report;
pub mod reproduce;
pub mod share;
pub mod writer;
