//! Options of `vectored versus`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, value_parser};
use vectored_versus::judge::CallLimit;
use vectored_versus::model::Stdout;

use super::output::{OutputArgs, SavingArgs};
use super::parsers::{budget, call_limit, one_of, share};
use crate::results_store::ResultName;

const AFTER: &str = "\
Examples:
  vectored versus './prog.old data' './prog data'
          Prove that an edit pays
  vectored versus --fail-if-more-calls 1% './prog.old data' './prog data'
          Fail if the new program makes more system calls
  vectored versus --fail-if-more-calls write=0,fsync=0,total=2% './prog.old data' './prog data'
          Fail if it makes one write or fsync more, or 2 % more calls in all
  vectored versus --shell sh 'sort a | uniq' 'sort -u a'
          Compare pipelines
  vectored versus --same out './copy.old in out' './copy in out'
          Compare a file that the commands write, too

Exit status: 0 success, 1 failure, also of a run; 2 wrong usage; 3 a limit of --fail-if-... is exceeded; 4 a limit \
could not be decided; 5 the outputs differ; 126 or 127 a command cannot be run or was not found; \
130 stopped by Ctrl-C.";

/// Compare two commands: their time, memory, system calls and output
///
/// Runs an old and a new command in turn, in rounds of random order, and compares what they take round by round: wall
/// and CPU time, peak memory, context switches and page faults, each as a ratio with its interval. The old command runs
/// twice in each round: the difference of these two is noise, and no smaller difference is reported.
///
/// Before that, each command runs twice under strace(1), as by 'vectored advise'. Its system calls are counted by name,
/// with the bytes that it reads and writes. Its standard output, standard error, exit status and the files of --same
/// are compared with what the old command has. Before each run, and after the last, a file of --same is put back to
/// what it was before the first. Lines that differ between runs of the old command are not compared, or their numbers
/// if all do. If anything else differs, the commands are not timed, unless --ignore-output is given, and for other exit
/// statuses also --ignore-failure. If a run fails, no times are compared, unless --ignore-failure is given. The files
/// that were executed, mapped or read as scripts are listed with their SHA-256 sums.
///
/// A command is one argument. It is split into words as a shell does it, and run without a shell; --shell runs it in
/// one. Each run has a session of its own, without a terminal: Ctrl-C stops the comparison, and what is measured is
/// kept.
///
/// The result is saved as JSON in $XDG_STATE_HOME/vectored (by default ~/.local/state/vectored). The path of the saved
/// file is the last line on standard error.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub struct VersusArgs {
    /// The old command, as one argument
    #[arg(value_name = "OLD")]
    pub old: String,

    /// The new command, or several that are each compared with OLD
    #[arg(value_name = "NEW", required = true)]
    pub new: Vec<String>,

    /// Run the commands by this shell, with -c
    #[arg(long, value_name = "SHELL")]
    pub shell: Option<String>,

    /// Run this by a shell before each run; given several times, each is for one command, OLD first
    #[arg(long, value_name = "COMMAND")]
    pub prepare: Vec<String>,

    /// Standard input of each run, a regular file; by default it is empty
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,

    /// Standard output of timed runs [default: null]
    ///
    /// null: /dev/null. file: a temporary file. pipe: a pipe that is emptied.
    ///
    /// It may decide what a command does: grep stops at the first match if its output goes to /dev/null.
    /// In counted runs it is a pipe, or with 'file' a temporary file.
    #[arg(long, value_name = "WHERE", default_value = "null", hide_default_value = true, value_parser = one_of(Stdout::ALL, Stdout::name))]
    pub stdout: Stdout,

    /// Untimed runs of each command, before all others
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub warmup: u64,

    /// Time for everything, for example 30s or 2m
    ///
    /// It ends earlier if the intervals of wall and CPU time are narrower than +- 0.5 %. Half of it is for timed
    /// runs, even if counting the calls has taken more than the other half. A run that takes longer than the
    /// whole budget is stopped; one under strace, which counts the calls, may take 1000 times as long as the
    /// longest of the warm-up.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = budget)]
    pub budget: Duration,

    /// Number of rounds, instead of a budget
    #[arg(long, value_name = "NUMBER", value_parser = value_parser!(u64).range(1..), conflicts_with = "budget")]
    pub rounds: Option<u64>,

    /// Go on where this saved result stopped: its rounds are the first ones of the new result
    ///
    /// The commands, options, processor, kernel and files must be the same. The rounds stop by --budget or --rounds alone. So a
    /// difference of 1 % is found in several nights.
    #[arg(long, value_name = "RESULT")]
    pub add: Option<ResultName>,

    /// A file that the commands write, and that is compared; may be given several times
    ///
    /// Each run finds it as the first run did: with the same bytes, or missing. At the end, a file
    /// that existed is as before; the file of the last run stays if there was none.
    #[arg(long, value_name = "FILE")]
    pub same: Vec<PathBuf>,

    /// Time the commands even if their outputs differ; their exit statuses must be equal
    #[arg(long)]
    pub ignore_output: bool,

    /// Use runs that fail like others
    ///
    /// A run fails if it is ended by a signal, if it ends with status 126, 127 or 129 to 159, which shells return for it, or if other
    /// runs of its command end with 0. A status that all runs of a command have is none of these.
    #[arg(long)]
    pub ignore_failure: bool,

    /// Give all timed runs the same environment
    ///
    /// By default each has a variable VECTORED_PADDING of another random length, so that the place of the stack, which may decide
    /// how fast a program is, is noise, and no difference between commands.
    #[arg(long)]
    pub same_layout: bool,

    /// Exit with status 3 if a new command takes longer than OLD by more than SHARE, for example 3% or 0.03
    ///
    /// It does if the whole interval of the ratio is above the limit. If the limit lies within the
    /// interval, the exit status is 4. This also applies to the other limits.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub fail_if_slower: Option<f64>,

    /// The same for system calls: SHARE for all of them, reads and writes, or NAME=SHARE for calls of one name
    ///
    /// For example 1%, or write=0,fsync=0,total=1%. A SHARE without a name limits three numbers, each by itself: 'total', which
    /// is all calls except those that depend on the scheduler, 'reads' and 'writes'. These three are names, and so are
    /// all system calls. That of `vectored compare` counts only calls that move bytes.
    #[arg(long, value_name = "LIMIT", value_parser = call_limit, value_delimiter = ',')]
    pub fail_if_more_calls: Vec<CallLimit>,

    /// The same for the peak memory
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub fail_if_more_memory: Option<f64>,

    /// Print the result with all calls and files
    #[arg(long)]
    pub details: bool,

    #[command(flatten)]
    pub output: OutputArgs,

    #[command(flatten)]
    pub saving: SavingArgs,
}

#[cfg(target_os = "linux")]
impl VersusArgs {
    pub fn shell(&self) -> &str {
        self.shell.as_deref().unwrap_or("sh")
    }
}
