//! The subcommands, with a file for each subcommand.

#[cfg(unix)]
pub mod advise;
pub mod compare;
pub mod completions;
#[cfg(unix)]
pub mod copy;
pub mod history;
pub mod host;
pub mod man;
pub mod measure;
mod outputs;
pub mod report;
#[cfg(unix)]
pub mod reproduce;
#[cfg(target_os = "linux")]
pub mod versus;
