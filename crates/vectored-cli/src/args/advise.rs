//! Options of `vectored advise`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::output::{OutputArgs, SavingArgs};
use super::parsers::{one_size, time};
use crate::results_store::ResultName;

/// The usage line that clap generates shows a log together with a command.
const USAGE: &str = "\
vectored advise [OPTIONS] <LOG>...
       vectored advise [OPTIONS] -- <COMMAND>...
       vectored advise [OPTIONS] -p <PID>... [--for <TIME>]
       vectored advise [OPTIONS] --merge <RESULT>...";

const AFTER: &str = "\
Examples:
  vectored advise -- python3 script.py
          Analyse a script
  vectored advise -p 1234 --for 10s
          Analyse a running program for ten seconds
  strace -f -s1 -v -yy -ttt -T -o trace.log -p PID
  vectored advise trace.log
          Analyse a running program by a log of strace
  vectored advise --html page.html trace.log.*
          Turn the files of strace -ff into a web page
  vectored advise *.log
          Analyse the logs of several programs, or of several runs, in one report
  vectored advise --merge a.json b.json
          Merge several results

Exit status: 0 success, 1 failure, 2 wrong usage. With -- COMMAND: the exit status of the \
command, 128 + N if signal N ended it, 127 if it was not found, 126 if it could not be run.";

/// Where the calls of a command come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Source {
    /// Programs in the kernel.
    Live,
    /// strace(1).
    Strace,
}

/// Find system calls in a program that one larger call could replace
///
/// Reads a log of strace(1), or watches a command or a running process. Finds runs of small reads and writes that one
/// vectored call, or a larger buffer, could replace without changing what the program does. Each finding names the
/// process, the pattern of its calls, what to change, and the time that it would save, with an interval.
///
/// Calls around a poll, an fsync or a long gap could be merged only with a change of behaviour: they are listed, but
/// not counted. The cost of each call is measured on this machine; the times in a log are not used, because strace
/// inflates them.
///
/// With -- COMMAND, the command runs once, watched by programs in the kernel, or under strace where these may not be
/// attached. Its input, output, signals and exit status are unchanged. 'vectored versus' measures what an edit saves.
/// The report goes to standard error, because standard output belongs to the command.
///
/// The result is saved as JSON in $XDG_STATE_HOME/vectored (by default ~/.local/state/vectored). The path of the saved
/// file is the last line on standard error.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER, override_usage = USAGE)]
pub struct AdviseArgs {
    /// Logs written by strace, also with -ff, also compressed by gzip; - is standard input
    #[arg(value_name = "LOG")]
    pub trace: Vec<PathBuf>,

    /// Run this command and watch its calls
    #[arg(
        last = true,
        value_name = "COMMAND",
        conflicts_with_all = ["trace", "merge"],
        num_args = 1..
    )]
    pub command: Vec<OsString>,

    /// Watch running processes, and all that they start
    ///
    /// By programs in the kernel, which slow the processes little and change nothing in them: see `--source`. The watch ends with the
    /// processes, with Ctrl-C, or with `--for`.
    #[arg(short, long, value_name = "PID", value_delimiter = ',', conflicts_with_all = ["trace", "merge", "command"])]
    pub pid: Vec<u32>,

    /// Watch all processes of a cgroup, for example of a service or a container
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["trace", "merge", "command", "pid"])]
    pub cgroup: Option<PathBuf>,

    /// Time of the watch of -p or --cgroup, for example 10s
    #[arg(long = "for", value_name = "TIME", value_parser = watch_time, conflicts_with_all = ["trace", "merge", "command"])]
    pub watch_for: Option<Duration>,

    /// Where the calls of a command come from [default: live, or strace if that is refused]
    ///
    /// `live`: from programs in the kernel, which need Linux 5.8 on x86-64 and the capabilities CAP_BPF and CAP_PERFMON. A call takes 0.1
    /// to 0.2 us longer. `strace`: from strace, which needs no right. A call takes 20 to 100 us longer.
    #[arg(
        long,
        value_name = "SOURCE",
        value_enum,
        requires = "command",
        conflicts_with = "trace"
    )]
    pub source: Option<Source>,

    /// The same as --source live
    #[arg(long, requires = "command", conflicts_with_all = ["source", "trace"])]
    pub live: bool,

    /// Merge saved results of advise instead of reading a log
    #[arg(long, value_name = "RESULT", num_args = 1.., conflicts_with = "trace")]
    pub merge: Vec<ResultName>,

    /// Compare with an earlier result of advise: which calls and findings came and went
    ///
    /// The comparison is shown after the advice, as by `vectored compare RESULT --against`. Its JSON and CSV are what
    /// `compare` makes of the saved result.
    #[arg(long, value_name = "RESULT")]
    pub baseline: Option<ResultName>,

    /// Longest gap between two calls that may be merged, for example 10ms
    ///
    /// Merging calls across a longer gap would delay data that another program may be waiting for. Such
    /// calls are listed, but not counted. If bytes would stay in a buffer for longer, the finding says so.
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = max_delay)]
    pub max_delay: Duration,

    /// Size of the buffer that would collect small calls, for example 64KiB
    #[arg(long, value_name = "BYTES", value_parser = one_size, default_value = "64KiB")]
    pub buffer: u64,

    /// Use the call costs of a saved result of advise instead of measuring them
    ///
    /// For a log from another machine: name a result that was made on that machine.
    #[arg(long, value_name = "RESULT")]
    pub costs: Option<ResultName>,

    /// Directory for temporary files that are used to measure costs; nothing is left there
    ///
    /// The default is the working directory, or the directory for temporary files if no file can be
    /// created in the working directory.
    #[arg(long, value_name = "DIRECTORY")]
    pub dir: Option<PathBuf>,

    /// Number of findings to show; JSON, CSV and the web page contain more
    #[arg(long, value_name = "NUMBER", default_value = "10")]
    pub top: usize,

    #[command(flatten)]
    pub output: OutputArgs,

    #[command(flatten)]
    pub saving: SavingArgs,
}

fn watch_time(text: &str) -> Result<Duration, String> {
    time(text, "10s or 1min")
}

fn max_delay(text: &str) -> Result<Duration, String> {
    time(text, "10ms or 1s")
}
