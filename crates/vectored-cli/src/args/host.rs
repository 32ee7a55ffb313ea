//! Options of `vectored host`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub const HOST_ABOUT: &str = "\
Show what this machine offers: limits, io_uring, flags of pwritev2, O_DIRECT

Each flag of pwritev2(2) and preadv2(2) is tried on unnamed files in the directory, buffered and with \
O_DIRECT: 'ok', or the name of the error. io_uring is asked for its operations. What cannot be found \
out is said, with the reason. Nothing is saved, and nothing is left in the directory.";

pub const HOST_AFTER: &str = "\
Examples:
  vectored host
          This machine, and the file system of the current directory
  vectored host --dir /dev/shm
          Another file system
  vectored host --format json --output host.json
          For a program, or to compare machines

Exit status: 0 success, 1 failure, 2 wrong usage; 129, 130 and 143 stopped by SIGHUP, SIGINT and \
SIGTERM.";

/// Options of `vectored host`.
#[derive(Args, Debug)]
pub struct HostArgs {
    /// Directory whose file system is tried; nothing is left there
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    pub dir: PathBuf,

    /// How the answers are printed
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = HostFormat::Table)]
    pub format: HostFormat,

    /// Write the answers to this file instead of standard output
    ///
    /// A file that is there is replaced once the new one is complete, unless it
    /// is read-only. - is standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// How the answers of a machine are printed. They are no table of figures, so
/// there is no form for spreadsheets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HostFormat {
    /// For people, at a terminal
    Table,
    /// Everything, for programs
    Json,
    /// A table for a document
    Markdown,
}
