//! The result, saved as JSON.

use std::collections::BTreeMap;
use std::iter;

use serde::{Deserialize, Serialize};
use vectored_machine::model::Host;
pub use vectored_report::{Change, Ruling};

pub const VERSUS_SCHEMA: &str = "vectored-versus/1";

/// One old command against one or several new ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Versus {
    /// [`VERSUS_SCHEMA`].
    pub schema: String,
    /// The version of this program.
    pub vectored_version: String,
    /// When the run began: RFC 3339, UTC.
    pub started_at: String,
    /// Whether all requested rounds were run.
    pub complete: bool,
    /// The time of the whole run.
    pub elapsed_s: f64,
    /// The commit of the repository in which the commands ran, as `git describe --always --dirty` prints it.
    #[serde(default)]
    pub commit: Option<String>,
    /// The begins of the earlier runs whose rounds this result also has (`--add`), the earliest first.
    #[serde(default)]
    pub added: Vec<String>,
    /// The machine.
    pub host: Host,
    /// How the commands were run.
    pub options: RunOptions,
    /// Why no calls were counted.
    pub not_counted: Option<String>,
    /// Outputs, or lines of outputs, that differ between runs of the old command. These are not compared.
    pub not_compared: Vec<String>,
    /// The old command.
    pub old: Side,
    /// The old command a second time in each round.
    pub old_again_runs: Vec<Run>,
    /// The second run of the old command against the first: a difference between them is noise.
    pub noise: Vec<Compared>,
    /// The new commands, each against the old command.
    pub new: Vec<Comparison>,
    /// The limits that were set, with their outcomes.
    pub limits: Vec<RuledLimit>,
}

/// How the commands were run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunOptions {
    /// The shell that ran the commands; `None` if they were run without a shell.
    pub shell: Option<String>,
    /// Where the standard output of timed runs went.
    pub stdout: Stdout,
    /// The file that was standard input; `None` for `/dev/null`.
    pub input: Option<String>,
    /// Untimed runs of each command before its counted and timed runs.
    pub warmup: u64,
    /// What ran before each run: one command for all, or one for each command.
    pub prepare: Vec<String>,
    /// The budget of the whole run.
    pub budget_s: f64,
    /// Whether failed runs are used like other runs.
    pub ignore_failure: bool,
    /// Whether all timed runs had the same environment. If not, each run had a variable of a random length.
    #[serde(default)]
    pub same_layout: bool,
}

/// Where the standard output of timed runs goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdout {
    /// To `/dev/null`.
    #[default]
    Null,
    /// To a temporary file.
    File,
    /// To a pipe whose bytes are discarded.
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
    /// How the runs of the command usually end: `exit status 0`.
    pub ended: String,
    /// The last line of standard error of a run with the usual end; empty for exit status 0.
    pub said: String,
    /// The runs that failed: runs whose end is not the usual end, or is never normal.
    pub failed: Vec<FailedRun>,
    /// The timed runs, one a round.
    pub runs: Vec<Run>,
    /// The calls of the counted runs.
    pub calls: Option<Calls>,
    /// The files that were executed, mapped or run as scripts.
    pub files: Vec<File>,
    /// The largest number of processes that were still running when the command had ended.
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
    /// The number among the runs of this phase, from 1 on. For a timed run, the round.
    pub number: u64,
    /// How the run ended: `exit status 2`.
    pub ended: String,
    /// The last line of standard error.
    pub said: String,
}

/// A limit of `--fail-if-…`, applied to one figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuledLimit {
    /// The option, with the name of a call if the limit is for this call alone: `--fail-if-more-calls fsync`.
    pub option: String,
    /// The increase that the limit allows, as a share.
    pub share: f64,
    /// The name of the new command.
    pub new: String,
    /// The name of the figure.
    pub figure: String,
    /// The outcome.
    pub ruling: Ruling,
    /// The figure of both commands; none if the figure is unknown.
    pub compared: Option<Compared>,
    /// The reason why the limit is undecided, if there is no interval.
    pub unknown: String,
    /// If a limit of all calls, of reads or of writes is exceeded: the calls that the new command makes more of, the largest
    /// increase first.
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

/// Where calls of one name come from, if the new command makes more of them than a limit allows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStack {
    /// The name of the call.
    pub call: String,
    /// The functions, the outermost first.
    pub frames: Vec<String>,
    /// How many of these calls the old command makes.
    pub old: u64,
    /// How many of these calls the new command makes.
    pub new: u64,
}

/// One timed run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// From before the start to the end of the command.
    pub wall_ns: u64,
    /// CPU time in user mode of the command and of the processes that it waited for.
    pub user_ns: u64,
    /// CPU time in the kernel.
    pub system_ns: u64,
    /// The largest resident memory of one process. `None` if this is hardly above the memory of `vectored` itself. The kernel
    /// counts the memory of `vectored` as the command's.
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
    /// Calls whose number depends on the scheduler: `futex`, `poll`, `madvise` and others, and transfers that end with
    /// `EAGAIN`. Reads and writes do not include these transfers.
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
    /// Whether work went through io_uring or Linux AIO, whose transfers are not seen.
    pub submits: bool,
    /// Lines of the log that could not be used.
    pub skipped_lines: u64,
}

/// A file that a command ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// The path of the file.
    pub path: String,
    /// How the file was run.
    pub as_what: FileUse,
    /// SHA-256 of the content of the file; `None` if the file could not be read afterwards.
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
    /// Read by an interpreter.
    Script,
}

/// A new command against the old command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The new command.
    pub side: Side,
    /// Whether both commands run files of the same content.
    pub same_files: bool,
    /// Differences between both commands: outputs, exit statuses and files.
    pub differences: Vec<Difference>,
    /// The figures.
    pub figures: Vec<Compared>,
    /// If a limit of calls is exceeded: where the calls that grew come from, the largest increase first.
    #[serde(default)]
    pub stacks: Vec<CallStack>,
    /// Why it is unknown where these calls come from.
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
    /// The name of the figure: `wall_ns`, `writes`.
    pub figure: String,
    /// The old command's median. For `user_ns` and `system_ns` the mean, for a count the middle of the range.
    pub old: f64,
    /// The new command's value, computed as `old`.
    pub new: f64,
    /// New divided by old: the robust mean of the ratios of the rounds. None with fewer than six rounds.
    pub ratio: Option<f64>,
    /// The lower end of the interval of `ratio`; none for a mean.
    pub low: Option<f64>,
    /// The upper end of this interval.
    pub high: Option<f64>,
    /// Whether the commands differ.
    pub change: Change,
}

impl Versus {
    /// The commands, the old one first.
    pub fn sides(&self) -> impl Iterator<Item = &Side> {
        iter::once(&self.old).chain(self.new.iter().map(|one| &one.side))
    }

    pub fn sides_mut(&mut self) -> impl Iterator<Item = &mut Side> {
        iter::once(&mut self.old).chain(self.new.iter_mut().map(|one| &mut one.side))
    }

    /// Whether a run of the old command or of this new command failed, so that nothing is concluded from the times.
    pub fn is_spoiled(&self, new: &Comparison) -> bool {
        let failed = [&self.old, &new.side];
        !self.options.ignore_failure && failed.iter().any(|side| !side.failed.is_empty())
    }
}

impl Comparison {
    /// Whether a difference makes the comparison fail. Exit statuses that differ are ignored only with both options: otherwise
    /// a new command that fails at its start, and so makes few calls, would pass every limit.
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
