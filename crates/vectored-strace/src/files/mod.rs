//! Logs in files.

mod input;
mod log_files;

pub use log_files::read_logs;
