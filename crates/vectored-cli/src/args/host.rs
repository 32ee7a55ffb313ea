//! Options of `vectored host`.

use std::path::PathBuf;

use clap::Args;

use super::output::OutputArgs;

const AFTER: &str = "\
Examples:
  vectored host
          This machine and the file system of the current directory
  vectored host --dir /dev/shm
          Another file system
  vectored host --format json --output host.json
          For a program, or to compare machines

Exit status: 0 success, 1 failure, 2 wrong usage; 129, 130 or 143 if stopped by SIGHUP, \
SIGINT or SIGTERM.";

/// Show the limits and features of this machine: iovec limits, io_uring, O_DIRECT
///
/// An io_uring and a file with O_DIRECT are tried, with an unnamed file in the directory. The report says why
/// io_uring or O_DIRECT cannot be used, and 'unknown or none' for the rest. Nothing is saved, and no file is left in the
/// directory.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub struct HostArgs {
    /// Directory on the file system to test; nothing is left there
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    pub dir: PathBuf,

    #[command(flatten)]
    pub output: OutputArgs,
}
