//! Options of `vectored advise`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::format::{Format, formats};
use super::parsers::{one_size, time, whole_number};
use crate::results_store::ResultName;

pub const ADVISE_ABOUT: &str = "\
Find where gathering would help a program, from its system calls

Reads what strace(1) wrote, or runs a command under strace, and names the runs of small reads and writes \
that one call, or a larger buffer, would replace without any other change of what the program does: who \
made them, the pattern, what to do, and the seconds that it would save, with an interval. What could be \
merged but lies around a poll, an fsync or a long gap is listed and not counted. Costs are measured on \
this machine in a moment; strace's own times, which are inflated, are not used for them.

With -- COMMAND the command runs once, under strace; input, output, signals and exit status are its own. \
Its wall time without strace is estimated. --twice runs the command a second time, without strace, and \
measures it. The report goes to standard error, since standard output is the command's.

The result is saved as JSON under $XDG_STATE_HOME/vectored (by default ~/.local/state/vectored); its \
path is the last line on standard error.";

/// What clap makes of it would have a trace and a command at once.
pub const ADVISE_USAGE: &str = "\
vectored advise [OPTIONS] <TRACE>...
       vectored advise [OPTIONS] -- <COMMAND>...
       vectored advise [OPTIONS] --merge <RESULT>...";

pub const ADVISE_AFTER: &str = "\
Examples:
  vectored advise -- python3 script.py
          What a script would gain
  vectored advise --twice -- sort -n numbers
          With a second run, for the true wall time
  strace -f -s1 -v -yy -ttt -T -o trace.log -p PID
  vectored advise trace.log
          A program that runs already
  vectored advise --html page.html trace.log.*
          The files of strace -ff, as a page
  vectored advise --merge a.json b.json
          Several results in one

Exit status: 0 success, 1 failure, 2 wrong usage. With -- COMMAND that of the command, 128 + n if signal \
n ended it, 127 if it is not found and 126 if it cannot be run.";

/// Options of `vectored advise`.
#[derive(Args, Debug)]
pub struct AdviseArgs {
    /// What strace wrote: files, also those of -ff and compressed ones; - is standard input
    #[arg(value_name = "TRACE")]
    pub trace: Vec<PathBuf>,

    /// Run this command under strace
    #[arg(
        last = true,
        value_name = "COMMAND",
        conflicts_with_all = ["trace", "merge"],
        num_args = 1..
    )]
    pub command: Vec<OsString>,

    /// Run the command a second time, without strace, for its true wall time
    ///
    /// What it prints then is thrown away. Only for a command whose effects may be repeated. There is no
    /// second run if the first fails, a signal comes, or standard input was read from a pipe or a terminal.
    #[arg(long, requires = "command")]
    pub twice: bool,

    /// Merge saved results of advise instead of reading a trace
    #[arg(long, value_name = "RESULT", num_args = 1.., conflicts_with = "trace")]
    pub merge: Vec<ResultName>,

    /// A longer gap between two calls is a wait, and they are not counted
    ///
    /// Who reads the data might notice the difference.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "10ms",
        value_parser = max_delay,
        allow_hyphen_values = true
    )]
    pub max_delay: Duration,

    /// The buffer that would collect small calls, in bytes
    #[arg(
        long,
        value_name = "BYTES",
        value_parser = one_size,
        default_value = "64KiB",
        allow_negative_numbers = true
    )]
    pub buffer: u64,

    /// Take what calls cost from a saved result of advise, instead of measuring it
    ///
    /// For a trace of another machine: a result that was made there.
    #[arg(long, value_name = "RESULT")]
    pub costs: Option<ResultName>,

    /// Directory for the files that are measured for the costs; nothing is left there
    ///
    /// By default the working directory, or the directory for temporary files if no file can be made in
    /// the working directory.
    #[arg(long, value_name = "DIRECTORY")]
    pub dir: Option<PathBuf>,

    /// How many findings are shown; the JSON, CSV and the page have more
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "10",
        value_parser = whole_number::<usize>,
        allow_negative_numbers = true
    )]
    pub top: usize,

    /// How the result is printed
    #[arg(
        long,
        value_name = "FORMAT",
        value_parser = formats("One line a finding, counted or not, for spreadsheets"),
        default_value = "table"
    )]
    pub format: Format,

    /// Write a page that stands alone, too
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Write the result to this file instead
    ///
    /// Without it, the result goes to standard output, and with -- COMMAND to standard error. A file
    /// that is there is replaced once the new one is complete. - is standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Do not save the result; it is only printed
    #[arg(long)]
    pub no_save: bool,

    /// Print nothing on standard error but errors and, with -- COMMAND, the report
    #[arg(long, short)]
    pub quiet: bool,
}

fn max_delay(text: &str) -> Result<Duration, String> {
    time(text, "10ms or 1s")
}
