//! The result of `vectored advise`: what gathering would save in a program.

use serde::{Deserialize, Serialize};
use vectored_machine::model::{DescriptorKind, Host, Price};

pub use crate::languages::Runtime;

/// The schema of [`Advisory`].
pub const ADVISORY_SCHEMA: &str = "vectored-advice/1";

/// The findings of `vectored advise`: the contract with other programs.
///
/// All of it follows from the counts of its findings and from its prices. So several advisories can be
/// merged: counts are added, and priced again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Advisory {
    /// [`ADVISORY_SCHEMA`].
    pub schema: String,
    /// How the command ended, unless with exit status 0: `exit status 2`, `signal 9 (SIGKILL)`. `None` for logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Exchanges in the findings of kinds [`Stall`](FindingKind::Stall) and [`PeerStall`](FindingKind::PeerStall) that waited
    /// for a delayed acknowledgement.
    pub stalls: u64,
    /// The time that they lost, in s.
    pub stalled_s: f64,
    /// Sum of the positive savings of all other findings, in s. Each call is in one of them at most.
    pub saving_s: f64,
    /// Its interval: lower end.
    pub saving_low_s: f64,
    /// Its interval: upper end.
    pub saving_high_s: f64,
    /// Version of the program that wrote it.
    pub version: String,
    /// When it was made, RFC 3339, UTC.
    pub started_at: String,
    /// The machine on which the prices were measured. The log may be from another.
    pub host: Host,
    /// The command that was run, or the logs that were read, as given by the user.
    pub sources: Vec<String>,
    /// Whether `sources` is a command.
    pub is_command: bool,
    /// What a watch of running programs measured. `None` under strace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<Watched>,
    /// Whether the log was read to its end.
    pub complete: bool,
    /// System calls in the log.
    pub calls: u64,
    /// Calls that move bytes.
    pub transfers: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Processes in the log.
    pub processes: u64,
    /// Skipped lines, by reason.
    pub skipped: Vec<Skipped>,
    /// Costs of calls.
    pub prices: Vec<Price>,
    /// Findings that are counted, the largest saving first.
    pub findings: Vec<Finding>,
    /// Findings that are not counted, the largest possible saving first.
    pub uncounted: Vec<Uncounted>,
}

/// A watch of running programs by programs in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Watched {
    /// Its time, in s.
    pub wall_s: f64,
    /// CPU time that the programs had meanwhile, in s.
    pub cpu_s: f64,
    /// Calls that were lost, since they came faster than they were read. They are in no other count.
    pub lost: u64,
}

/// Lines that were skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The reason, and what to do: `lists of segments were cut: trace again with -s1 -v`.
    pub reason: String,
    /// Number of lines.
    pub lines: u64,
    /// 1-based number of the first such line in its file; over all logs the smallest.
    pub first_line: u64,
    /// The file with that line, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_file: Option<String>,
}

impl From<vectored_strace::Skipped> for Skipped {
    fn from(lines: vectored_strace::Skipped) -> Skipped {
        Skipped {
            reason: lines.reason.to_owned(),
            lines: lines.lines,
            first_line: lines.first_line,
            first_file: lines.first_file.map(|file| file.display().to_string()),
        }
    }
}

/// A pattern of calls that fewer calls would replace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Identity of the finding.
    #[serde(flatten)]
    pub key: FindingKey,
    /// Counts.
    #[serde(flatten)]
    pub tally: Tally,
    /// The pattern in one line: `10,233 × write 8 B + write 4096 B`.
    pub pattern: String,
    /// Time that it would save, in s, by the prices. Times under strace are inflated and never used.
    pub saving_s: f64,
    /// Its interval: lower end; negative if it may cost time.
    pub saving_low_s: f64,
    /// Its interval: upper end.
    pub saving_high_s: f64,
    /// The action, in a sentence.
    pub action: String,
}

/// A finding that is not counted, because merging its calls changes the program's behaviour or may do
/// so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Uncounted {
    /// Identity of the finding.
    #[serde(flatten)]
    pub key: FindingKey,
    /// The reason: `poll, select or epoll_wait between them`, `a gap of more than 10 ms`.
    pub reason: String,
    /// Counts.
    #[serde(flatten)]
    pub tally: Tally,
    /// The pattern in one line.
    pub pattern: String,
    /// Time that merging them would save at most, in s, if it changed nothing else; `None` without a price.
    pub at_most_s: Option<f64>,
}

/// Identity of a finding: runs with the same key are one finding. It has no process number, and no path
/// if a program does the same with many files, so that a thousand processes and files make one finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FindingKey {
    /// The possible change.
    pub kind: FindingKind,
    /// Certainty that merging changes nothing else.
    pub grade: Grade,
    /// The last part of the program's path, as `execve` or strace showed it; empty if unknown.
    pub program: String,
    /// The kind of file behind the descriptor.
    pub target: DescriptorKind,
    /// The file's path; `stdin`, `stdout` or `stderr` if it is a stream. `None` for other streams, and
    /// if the program does the same with more than eight files: then see [`Tally::files`]. The first of files whose names
    /// differ only by numbers.
    pub file: Option<String>,
    /// The call site, with `-k`; several that take turns are joined by ` + `.
    pub site: Option<String>,
    /// The period of the run: calls in order, with sizes by powers of two, rotated so that the list is the least.
    /// Without a period each distinct call once, of any size.
    pub steps: Vec<Step>,
}

/// A call of a pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Step {
    /// Name of the call, `write`.
    pub call: String,
    /// Number of binary digits of its bytes: 0 for none, 4 for 8 to 15; [`Step::ANY_SIZE`] if calls of
    /// many sizes take turns.
    pub size_class: u8,
}

impl Step {
    /// The class of a step that stands for calls of any size.
    pub const ANY_SIZE: u8 = 255;
}

/// The possible change.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FindingKind {
    /// Writes to one descriptor that one call would replace.
    #[default]
    AdjacentWrites,
    /// Small sequential reads that a larger buffer would merge.
    SmallReads,
    /// Positional writes at touching offsets.
    PositionalWrites,
    /// Positional reads at touching offsets.
    PositionalReads,
    /// `lseek` before each transfer, which a positional call replaces.
    SeekThenTransfer,
    /// Lists of tiny segments, which are cheaper to copy into one buffer.
    TinySegments,
    /// `fsync` after each record.
    SyncEach,
    /// Datagrams: one `sendmmsg` could send several.
    Datagrams,
    /// Writes to a TCP socket before an answer: the last waits for a delayed acknowledgement of the writes before it.
    /// [`Finding::saving_s`] is time of waiting. The calls may be in another finding as well.
    Stall,
    /// Reads of an answer that a TCP peer wrote in parts: the last part waited until this end acknowledged the first.
    /// [`Finding::saving_s`] is time of waiting, and only the peer can save it.
    PeerStall,
}

impl FindingKind {
    /// Whether the saving is time of waiting for delayed acknowledgements.
    pub fn is_stall(self) -> bool {
        matches!(self, FindingKind::Stall | FindingKind::PeerStall)
    }
}

/// Certainty that merging changes nothing else.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// No call between them.
    #[default]
    Adjacent,
    /// Only calls between them that cannot observe the data.
    HarmlessBetween,
    /// Small reads of a pipe or socket that each returned all that they asked for: a larger buffer would
    /// read ahead. No other reader of the stream showed.
    ReadsAhead,
    /// A barrier between them: a wait, a sync, a read of the answer, a long gap. Never counted.
    Crossing,
    /// The log was filtered, so that a barrier might not show, or it has no times. Never counted.
    Unknown,
}

/// Counts of a pattern. They are sums over runs, processes and logs, or minima or maxima.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Runs of calls.
    pub runs: u64,
    /// Calls in them.
    pub calls: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Calls that would remain.
    pub merged_calls: u64,
    /// If the calls read a pipe or socket: the calls that would remain if each call returned the bytes of one write at the
    /// other end. 0 if the log shows no such write.
    #[serde(default)]
    pub merged_calls_most: u64,
    /// The longest time that a written byte would wait in a buffer for later ones, in ns; 0 if `--max-delay` is not exceeded.
    #[serde(default)]
    pub late_ns: u64,
    /// Segments of the remaining calls that replace several; for [`FindingKind::TinySegments`] the
    /// segments of the lists.
    pub segments: u64,
    /// `[size_class, segments, bytes]`, ascending, of the segments counted in `segments`.
    pub sizes: Vec<(u8, u64, u64)>,
    /// Remaining calls that replace several.
    pub gathered_calls: u64,
    /// Calls that use a list already, of the calls whose segments are counted in `segments`: the cost of a list is
    /// paid today.
    pub list_calls: u64,
    /// The calls in `list_calls` with more than 8 segments.
    pub long_list_calls: u64,
    /// `[size_class, segments, bytes]`, ascending, of the segments in the lists of `list_calls`.
    pub list_sizes: Vec<(u8, u64, u64)>,
    /// Least and greatest bytes of each step of the pattern.
    pub step_bytes: Vec<(u64, u64)>,
    /// Number of processes.
    pub processes: u64,
    /// The least of their process IDs.
    pub process: u32,
    /// Number of openings of descriptors.
    pub openings: u64,
    /// The least number of a descriptor.
    pub descriptor: i32,
    /// Path or address behind the descriptor. If there are several: the first in byte order.
    pub path: Option<String>,
    /// Paths of other files that the program writes in turn with this one, the first three in byte order. Merging changes
    /// the order in which their bytes reach the kernel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order_between: Vec<String>,
    /// Calls between transfers of the same open file, with the number of such calls: a buffer must be empty before each.
    pub ends: Vec<(String, u64)>,
    /// Whether processes that the log does not show may write to the file: each call writes whole records.
    #[serde(default)]
    pub others_write: bool,
    /// Whether a signal killed one of the processes: it would lose what is in a buffer.
    pub killed: bool,
    /// Whether one of the processes was forked, and ran the program of its parent: its end may not flush.
    #[serde(default)]
    pub forked: bool,
    /// Calls by file, the most first, up to 16 files. `descriptor` and `path` are the first's.
    pub files: Vec<FileCalls>,
    /// Number of further files.
    pub more_files: u64,
    /// Calls by call site, with `-k`, the most first, up to 16 sites.
    pub sites: Vec<SiteCalls>,
    /// For each step of the pattern, the number of runs that began with it: a period has no first step
    /// of its own.
    pub starts: Vec<u64>,
    /// Runtime of the program, if the log shows it.
    pub runtime: Option<Runtime>,
    /// What the exchanges waited, in findings of [`FindingKind::Stall`] and [`FindingKind::PeerStall`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall: Option<StallTally>,
    /// The begins of the calls of each run.
    #[cfg(test)]
    #[serde(skip)]
    pub(crate) members: Vec<Vec<u64>>,
}

/// The waits of exchanges that stall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StallTally {
    /// Exchanges that waited for a delayed acknowledgement, of [`Tally::runs`] in all.
    pub stalls: u64,
    /// The time that they waited, in ns, without round trips. Of a wait that a busy machine made longer, only what the timer
    /// of the peer explains is counted.
    pub waited_ns: u64,
    /// The part of `waited_ns` beyond the peer's usual time for an answer, in ns.
    pub lost_ns: u64,
    /// Whether this end accepted the connections: what it writes are answers, and what it waits for are requests.
    #[serde(default)]
    pub serves: bool,
}

/// The calls of a finding that went to one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCalls {
    /// Path, or the text that strace shows of a pipe or socket.
    pub path: Option<String>,
    /// Descriptor.
    pub descriptor: i32,
    /// Calls.
    pub calls: u64,
    /// Bytes that they moved.
    pub bytes: u64,
}

/// The calls of a finding that came from one call site.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteCalls {
    /// The innermost frame outside the C library.
    pub site: String,
    /// Calls.
    pub calls: u64,
    /// Bytes that they moved.
    pub bytes: u64,
}
