//! The result of `vectored versus`, as saved in JSON.

use std::collections::BTreeMap;
use std::iter;

use serde::{Deserialize, Serialize};
use vectored_machine::model::Host;
pub use vectored_report::{Change, Ruling};

pub const VERSUS_SCHEMA: &str = "vectored-versus/1";

/// One old command, compared with one or several new commands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Versus {
    /// The value is [`VERSUS_SCHEMA`].
    pub schema: String,
    /// The version of this program.
    pub vectored_version: String,
    /// The start of the run: RFC 3339, UTC.
    pub started_at: String,
    /// Whether all requested rounds were run.
    pub complete: bool,
    /// The time of the whole run.
    pub elapsed_s: f64,
    /// The output of `git describe --always --dirty` in the working directory of the commands.
    #[serde(default)]
    pub commit: Option<String>,
    /// The start times of the earlier runs whose rounds are included (`--add`). The earliest time is first.
    #[serde(default)]
    pub added: Vec<String>,
    /// The machine.
    pub host: Host,
    /// How the commands were run.
    pub options: RunOptions,
    /// The reason why no calls were counted.
    pub not_counted: Option<String>,
    /// Outputs, or lines of outputs, that differ between runs of the old command. The comparison ignores them.
    pub not_compared: Vec<String>,
    /// The old command.
    pub old: Side,
    /// The second runs of the old command, one for each round.
    pub old_again_runs: Vec<Run>,
    /// The second runs of the old command compared with its first runs. Any difference here is noise.
    pub noise: Vec<Compared>,
    /// The new commands, each against the old command.
    pub new: Vec<Comparison>,
    /// The limits that were set, with their outcomes.
    pub limits: Vec<RuledLimit>,
}

/// How the commands were run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunOptions {
    /// The shell that ran the commands. `None` if the commands ran without a shell.
    pub shell: Option<String>,
    /// Where the standard output of timed runs went.
    pub stdout: Stdout,
    /// The file on standard input. `None` means `/dev/null`.
    pub input: Option<String>,
    /// The number of untimed runs of each command, before its counted and timed runs.
    pub warmup: u64,
    /// The commands that ran before each run: one command for all sides, or one command for each side.
    pub prepare: Vec<String>,
    /// The budget of the whole run.
    pub budget_s: f64,
    /// Whether failed runs were used.
    pub ignore_failure: bool,
    /// Whether all timed runs had the same environment. If false, each run had a variable of a random length.
    #[serde(default)]
    pub same_layout: bool,
}

/// Where the standard output of timed runs goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdout {
    /// The device `/dev/null`.
    #[default]
    Null,
    /// A temporary file.
    File,
    /// A pipe whose bytes are discarded.
    Pipe,
}

impl Stdout {
    pub const ALL: [Stdout; 3] = [Stdout::Null, Stdout::File, Stdout::Pipe];

    pub fn name(self) -> &'static str {
        match self {
            Stdout::Null => "null",
            Stdout::File => "file",
            Stdout::Pipe => "pipe",
        }
    }
}

/// A command and its runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// `old`, `new` or `new 2`.
    pub name: String,
    /// The command as typed.
    pub command: String,
    /// The usual end of the runs, for example `exit status 0`.
    pub ended: String,
    /// The last line on standard error of a run with the usual end. Empty for exit status 0.
    pub said: String,
    /// Runs with an unusual end, or with an end that is always a failure.
    pub failed: Vec<FailedRun>,
    /// One timed run for each round.
    pub runs: Vec<Run>,
    /// The calls of the counted runs.
    pub calls: Option<Calls>,
    /// The files that were executed, mapped or run as scripts.
    pub files: Vec<File>,
    /// The largest number of processes that were running after the end of the command.
    pub left_behind: u64,
}

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The run fills the caches.
    WarmUp,
    /// The calls of the run are counted.
    Counted,
    /// The run is timed.
    Timed,
}

/// A run that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedRun {
    /// What the run was for.
    pub phase: Phase,
    /// The number among the runs of this phase, from 1. For a timed run, the number is the round.
    pub number: u64,
    /// The end of the run, for example `exit status 2`.
    pub ended: String,
    /// The last line on standard error.
    pub said: String,
}

/// The outcome of a limit (`--fail-if-…`) for one figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuledLimit {
    /// The option. If the limit is for one call, the name of the call follows: `--fail-if-more-calls fsync`.
    pub option: String,
    /// The permitted increase, as a fraction.
    pub share: f64,
    /// The name of the new command.
    pub new: String,
    /// The name of the figure.
    pub figure: String,
    /// The outcome.
    pub ruling: Ruling,
    /// `None` if the figure is unknown.
    pub compared: Option<Compared>,
    /// The reason why the limit is undecided, if the figure is unknown or has no interval.
    pub unknown: String,
    /// The calls that the new command makes more often, if a limit of `total`, `reads` or `writes` is exceeded. The
    /// largest increase is first.
    #[serde(default)]
    pub grown: Vec<GrownCall>,
}

/// A call that a new command makes more of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrownCall {
    /// The name of the call.
    pub call: String,
    /// How many of these calls the old command makes.
    pub old: Range,
    /// How many of these calls the new command makes.
    pub new: Range,
}

/// The number of calls of one name from one stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStack {
    /// The name of the call.
    pub call: String,
    /// The functions of the stack, the outermost first.
    pub frames: Vec<String>,
    /// How many of these calls the old command makes.
    pub old: u64,
    /// How many of these calls the new command makes.
    pub new: u64,
}

/// One timed run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The time from before the start to the end of the command.
    pub wall_ns: u64,
    /// The CPU time in user mode, with the processes that the command waited for.
    pub user_ns: u64,
    /// The CPU time in kernel mode, with the processes that the command waited for.
    pub system_ns: u64,
    /// The largest resident memory of one process. `None` if the value is near the memory of `vectored`: the kernel
    /// counts the memory at the fork for the command.
    pub peak_bytes: Option<u64>,
    /// Context switches.
    pub switches: u64,
    /// Page faults.
    pub faults: u64,
}

/// A count that may differ between runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// The smallest.
    pub low: u64,
    /// The largest.
    pub high: u64,
}

impl Range {
    pub fn of(count: u64) -> Self {
        Range {
            low: count,
            high: count,
        }
    }
}

/// The system calls of the counted runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calls {
    /// All calls except the waits.
    pub calls: Range,
    /// Calls whose number depends on the scheduler (`futex`, `poll`, `madvise` and others), and transfers that fail
    /// with `EAGAIN`. `reads` and `writes` exclude these transfers.
    pub waits: Range,
    /// Calls that read bytes.
    pub reads: Range,
    /// The bytes that these calls read.
    pub read_bytes: Range,
    /// Calls that write bytes.
    pub writes: Range,
    /// The bytes that these calls wrote.
    pub written_bytes: Range,
    /// Calls by name.
    pub kinds: BTreeMap<String, Range>,
    /// Whether the command used io_uring or Linux AIO. Their transfers are not counted.
    pub submits: bool,
    /// The number of log lines that could not be parsed.
    pub skipped_lines: u64,
}

/// A file that a command ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// The path of the file.
    pub path: String,
    /// How the file was run.
    pub as_what: FileUse,
    /// The SHA-256 sum of the content. `None` if the file could not be read after the run.
    pub sha256: Option<String>,
}

/// How a file was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileUse {
    /// By `execve`.
    Executed,
    /// Mapped into memory.
    Mapped,
    /// The file was opened by an interpreter.
    Script,
}

/// A new command, compared with the old command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The new command.
    pub side: Side,
    /// Whether both commands ran files with equal contents.
    pub same_files: bool,
    /// The differences in outputs, exit statuses and files.
    pub differences: Vec<Difference>,
    /// The figures.
    pub figures: Vec<Compared>,
    /// The stacks of the calls that grew, if a limit of calls is exceeded. The largest increase is first.
    #[serde(default)]
    pub stacks: Vec<CallStack>,
    /// The reason why `stacks` is unknown.
    #[serde(default)]
    pub no_stacks: String,
}

pub const EXIT_STATUS: &str = "exit status";

/// Something in which two commands should be equal, and are not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// `standard output`, `standard error`, `exit status` or the name of a file.
    pub of: String,
    /// How the new command differs.
    pub how: String,
}

/// One figure of two commands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// The name of the figure, for example `wall_ns` or `writes`.
    pub figure: String,
    /// The median of the old command. For `user_ns` and `system_ns`, the mean. For a count, the middle of the range.
    pub old: f64,
    /// The value of the new command, computed like `old`.
    pub new: f64,
    /// New divided by old: the robust mean of the ratios of the rounds. `None` for fewer than six rounds.
    pub ratio: Option<f64>,
    /// The lower end of the interval of `ratio`. `None` if the figure is a mean.
    pub low: Option<f64>,
    /// The upper end of the interval of `ratio`.
    pub high: Option<f64>,
    /// Whether the commands differ.
    pub change: Change,
}

impl Versus {
    /// Returns the old command first.
    pub fn sides(&self) -> impl Iterator<Item = &Side> {
        iter::once(&self.old).chain(self.new.iter().map(|one| &one.side))
    }

    pub fn sides_mut(&mut self) -> impl Iterator<Item = &mut Side> {
        iter::once(&mut self.old).chain(self.new.iter_mut().map(|one| &mut one.side))
    }

    /// Returns whether the times are unusable because a run of the old command or of `new` failed.
    pub fn is_spoiled(&self, new: &Comparison) -> bool {
        let failed = [&self.old, &new.side];
        !self.options.ignore_failure && failed.iter().any(|side| !side.failed.is_empty())
    }
}

impl Comparison {
    /// Returns whether a difference makes the comparison fail. Different exit statuses are accepted only with both
    /// options. A new command that fails at its start makes few calls and would pass every limit.
    pub fn differs(&self, ignore_output: bool, ignore_failure: bool) -> bool {
        let decides = |one: &Difference| match &*one.of {
            EXIT_STATUS => !(ignore_output && ignore_failure),
            _ => !ignore_output,
        };
        self.differences.iter().any(decides)
    }

    pub fn figure(&self, name: &str) -> Option<&Compared> {
        self.figures.iter().find(|one| one.figure == name)
    }
}
