//! Options of `vectored share`.

use std::path::PathBuf;

use clap::Args;

use crate::results_store::ResultName;

pub const SHARE_ABOUT: &str = "\
Make a small extract of a saved result that names no machine

The extract has the type of the machine (processor, number of CPUs, caches, kernel, file system, \
ssd or hdd, virtualization), and for each list the winner and the ratios, and the crossovers and \
cost models. It has no name of a host, user, directory or device, no address, no serial number \
and no day: only fields that are listed in the documentation, and only known words of the \
names of processors and file systems.

The whole extract is printed. With --output it is also written to a file, after you have seen it \
and answered y, or with --yes. `vectored compare --machines` makes tables and a web page of many \
extracts.";

pub const SHARE_AFTER: &str = "\
Examples:
  vectored share
          Show the extract of the newest result
  vectored share latest~1 --output machines/epyc.json
          Show the extract of the result before it, ask, and write it
  vectored share latest --yes --output machines/epyc.json
          Write it in a script, which shows it, too

Exit status: 0 success, 1 failure or answered with no, 2 wrong usage.";

/// Options of `vectored share`.
#[derive(Args, Debug)]
pub struct ShareArgs {
    /// Saved result of `vectored measure`: a file, or a name such as latest or latest~1
    #[arg(value_name = "RESULT", default_value = "latest")]
    pub result: ResultName,

    /// Write the extract to FILE, after showing it
    ///
    /// An existing file is replaced when the new one is complete, unless it is read-only. - is standard
    /// output, where it is shown in any case.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write the file without asking
    #[arg(long)]
    pub yes: bool,
}
