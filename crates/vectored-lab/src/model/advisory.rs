//! What gathering would save in a program, as its system calls tell.

use serde::{Deserialize, Serialize};

use crate::model::results::Host;
use crate::model::workload::Operation;

/// The schema of [`Advisory`].
pub const ADVISORY_SCHEMA: &str = "vectored-advice/1";

/// What `vectored advise` found: the contract with other programs.
///
/// All that it says follows from the counts of its findings and from its prices, so that several
/// can be merged: counts are added, and priced again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advisory {
    /// [`ADVISORY_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub version: String,
    /// When it was made, RFC 3339, UTC.
    pub started_at: String,
    /// The machine whose prices were taken; not the one that the log is from, which may be another.
    pub host: Host,
    /// The command that was run, or the logs that were read, as they were named.
    pub sources: Vec<String>,
    /// Whether the log was read to its end.
    pub complete: bool,
    /// System calls in the log.
    pub calls: u64,
    /// Those of them that move bytes.
    pub transfers: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Processes in the log.
    pub processes: u64,
    /// Lines that could not be used, by reason.
    pub skipped: Vec<Skipped>,
    /// The program's wall time, in s.
    pub wall_s: Option<f64>,
    /// Where it comes from.
    pub wall_source: Option<WallSource>,
    /// The program's CPU time, in s, measured or estimated as the wall time; `None` of a log.
    #[serde(default)]
    pub cpu_s: Option<f64>,
    /// The wall time under strace, in s: the log's own times.
    #[serde(default)]
    pub traced_wall_s: Option<f64>,
    /// What calls cost.
    pub prices: Vec<Price>,
    /// What could be merged, the largest saving first.
    pub findings: Vec<Finding>,
    /// What could be merged but is not counted, the most calls first.
    pub uncounted: Vec<Uncounted>,
    /// The files and descriptors with the most calls, whether any of their calls is counted or not.
    #[serde(default)]
    pub descriptors: Vec<DescriptorUse>,
    /// How many more there are, each with fewer calls than those in `descriptors`.
    #[serde(default)]
    pub more_descriptors: u64,
    /// Savings of all findings that save anything, in s. Each call is in one finding at most.
    pub saving_s: f64,
    /// Its interval: lower end.
    pub saving_low_s: f64,
    /// Its interval: upper end.
    pub saving_high_s: f64,
}

/// Lines that could not be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Why, and what to do: `lists of segments were cut: trace again with -s1 -v`.
    pub reason: String,
    /// How many lines.
    pub lines: u64,
    /// Number of the first such line in its file, from 1; the smallest one over all logs.
    pub first_line: u64,
    /// The file with that line, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_file: Option<String>,
}

impl From<vectored_strace::Skipped> for Skipped {
    fn from(lines: vectored_strace::Skipped) -> Skipped {
        Skipped {
            reason: lines.reason,
            lines: lines.lines,
            first_line: lines.first_line,
            first_file: lines.first_file.map(|file| file.display().to_string()),
        }
    }
}

/// Where a wall time comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WallSource {
    /// The command ran once more without strace.
    Untraced,
    /// The command ran under strace only: estimated from its CPU time, its waits and its calls.
    Estimated,
    /// The log's own times: strace makes a program slower.
    Traced,
}

/// What a descriptor leads to, as far as prices and soundness differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Leads {
    /// A regular file.
    File,
    /// A pipe or FIFO.
    Pipe,
    /// A local stream socket.
    Unix,
    /// A TCP socket.
    Tcp,
    /// A datagram socket: its calls are listed, never counted, and have no price.
    Datagram,
    /// Not known: it is never counted, and has no price.
    Unknown,
}

/// What a call costs on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// On what.
    pub target: Leads,
    /// Which way.
    pub operation: Operation,
    /// A call of its own, beyond its bytes, in ns.
    pub call_ns: f64,
    /// Its interval: lower end.
    pub call_low_ns: f64,
    /// Its interval: upper end.
    pub call_high_ns: f64,
    /// The same of a call that moves 256 bytes or more, in ns: a file's page is looked up, locked and
    /// accounted for again and again while it is filled. 0: not known, as `call_ns`.
    #[serde(default)]
    pub medium_call_ns: f64,
    /// The same of a further piece of an answer, a few together and then a wait, in ns: the first
    /// has woken the peer. 0: not known, as `call_ns`.
    #[serde(default)]
    pub answer_call_ns: f64,
    /// What a byte costs more in calls of a page (4 KiB) than in one of 64 KiB, in ns, beyond
    /// `call_ns`: a file finds memory for a large call in larger pieces. May be below 0.
    #[serde(default)]
    pub batch_byte_ns: f64,
    /// The cheapest system call there is, in ns: no call that is saved saves less. 0: not known.
    #[serde(default)]
    pub entry_ns: f64,
    /// `lseek(2)` before a call, in ns; 0 on what has no position.
    #[serde(default)]
    pub seek_ns: f64,
    /// What a call with a list costs more than one without, in ns.
    pub gather_call_ns: f64,
    /// A segment that is referenced, in ns.
    pub segment_ns: f64,
    /// A segment of 256 bytes or more that is referenced, in ns.
    pub large_segment_ns: f64,
    /// More than 8 segments in a list, in ns a call.
    pub iovec_step_ns: f64,
    /// A segment that is copied, in ns.
    pub copy_segment_ns: f64,
    /// A byte that is copied, in ns.
    pub copy_byte_ns: f64,
}

/// A pattern of calls that fewer calls would replace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What is found, and counted. Findings with the same key are one.
    #[serde(flatten)]
    pub key: FindingKey,
    /// Counts.
    #[serde(flatten)]
    pub tally: Tally,
    /// The pattern in one line: `10,233 × write 8 B + write 4096 B`.
    pub pattern: String,
    /// What it would save, in s. Never from strace's times, which are inflated.
    pub saving_s: f64,
    /// Its interval: lower end; below 0 where it may cost.
    pub saving_low_s: f64,
    /// Its interval: upper end.
    pub saving_high_s: f64,
    /// `saving_s` ÷ the program's wall time.
    pub share_of_wall: Option<f64>,
    /// What to do, in a sentence.
    pub action: String,
}

/// What would be a finding, if it did not change the program's behaviour or were known to be sound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Uncounted {
    /// What is found, and counted.
    #[serde(flatten)]
    pub key: FindingKey,
    /// Why it is not counted: `poll between them`, `a gap of more than 10 ms`, `no times in the log`.
    pub reason: String,
    /// Counts.
    #[serde(flatten)]
    pub tally: Tally,
    /// The pattern in one line.
    pub pattern: String,
}

/// The reads or the writes of a program through one file, standard stream or kind of descriptor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescriptorUse {
    /// The program, as [`FindingKey::program`].
    pub program: String,
    /// `file`, `pipe`, `TCP socket`, `terminal`, `/proc file`, `datagram socket` …
    pub kind: String,
    /// Which way the bytes went.
    pub operation: Operation,
    /// The file's path. `None` for everything else: addresses and numbers of pipes differ in each run.
    pub path: Option<String>,
    /// The descriptor's number, the least.
    pub descriptor: i32,
    /// How many times it was opened; a descriptor that was inherited counts as one.
    pub openings: u64,
    /// Calls, those that failed or moved nothing among them.
    pub calls: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Calls that are in [`Advisory::findings`].
    pub counted: u64,
    /// Calls that are in [`Advisory::uncounted`].
    pub listed: u64,
    /// Why the largest part of the other calls is not counted; `None` if all are counted.
    pub reason: Option<String>,
}

/// What makes two runs of calls the same finding. No process number is in it, and no path if a
/// program does the same with many files, so that a thousand processes and files make one finding.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FindingKey {
    /// What could be done.
    pub kind: FindingKind,
    /// How sure it is that merging changes nothing else.
    pub grade: Grade,
    /// The program: the last part of its path, as `execve` or strace named it; empty if unknown.
    pub program: String,
    /// What the descriptor leads to.
    pub target: Leads,
    /// The file's path; `stdin`, `stdout` or `stderr` if it is a stream. `None` for other streams, and
    /// if the program does the same with more than eight files: then see [`Tally::files`].
    #[serde(default)]
    pub file: Option<String>,
    /// The call site, with `-k`; several, joined by ` + `, if they take turns.
    pub site: Option<String>,
    /// The period of the run: what is called, in order, with sizes by powers of two, and of its
    /// rotations the least. Without a period each call once, of any size.
    pub steps: Vec<Step>,
}

/// A call of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Step {
    /// Its name, `write`.
    pub call: String,
    /// The number of binary digits of its bytes: 0 for none, 4 for 8 to 15; [`Step::ANY_SIZE`] where
    /// calls of many sizes take turns.
    pub size_class: u8,
}

impl Step {
    /// The class of a step that stands for calls of any size.
    pub const ANY_SIZE: u8 = 255;
}

/// What could be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FindingKind {
    /// Writes to one descriptor that one call would replace.
    AdjacentWrites,
    /// Small sequential reads that a larger buffer would merge.
    SmallReads,
    /// Positional writes at touching offsets.
    PositionalWrites,
    /// Positional reads at touching offsets.
    PositionalReads,
    /// `lseek` before each transfer, which a positional call makes needless.
    SeekThenTransfer,
    /// Lists of tiny segments that copying into one buffer would beat.
    TinySegments,
    /// Transfers of more than 1,024 segments, split in several calls of less than that.
    ManySegments,
    /// `fsync` after each record.
    SyncEach,
    /// Datagrams, several of which one `sendmmsg` would send.
    Datagrams,
}

/// How sure it is that merging changes nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// Nothing lies between the calls.
    Adjacent,
    /// What lies between cannot observe the data.
    HarmlessBetween,
    /// Small reads of a pipe or socket that each returned all that was asked for: a larger buffer would
    /// read ahead. Nobody else was seen to have the stream.
    ReadsAhead,
    /// Something between waits, syncs or reads the answer, or a gap is long: merging would change
    /// behaviour. Never counted.
    Crossing,
    /// The log was filtered, so that such a call would not show, or has no times. Never counted.
    Unknown,
}

/// Counts of a pattern: all of them add up over runs, processes and logs, or are the least or the
/// greatest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Runs of calls.
    pub runs: u64,
    /// Calls in them.
    pub calls: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Calls that would be left.
    pub merged_calls: u64,
    /// Segments that those of them would move that are made of several calls; in
    /// [`FindingKind::TinySegments`] and [`FindingKind::ManySegments`] those that are in lists.
    pub segments: u64,
    /// `[size_class, segments, bytes]`, ascending, of these segments.
    pub sizes: Vec<(u8, u64, u64)>,
    /// Calls that would be left and are made of several calls.
    #[serde(default)]
    pub gathered_calls: u64,
    /// Calls that had a list already, of those that `segments` is of: what their lists cost is paid
    /// today.
    #[serde(default)]
    pub list_calls: u64,
    /// Those of them with more than 8 segments.
    #[serde(default)]
    pub long_list_calls: u64,
    /// As `sizes`, of the segments in these lists.
    #[serde(default)]
    pub list_sizes: Vec<(u8, u64, u64)>,
    /// The least and the greatest bytes of each step of the pattern.
    pub step_bytes: Vec<(u64, u64)>,
    /// How many processes.
    pub processes: u64,
    /// The least of their numbers.
    pub process: u32,
    /// How many openings of descriptors.
    pub openings: u64,
    /// The number of the descriptor, the least.
    pub descriptor: i32,
    /// What it leads to, the first in the order of their bytes: a path, an address.
    pub path: Option<String>,
    /// Another file that the program writes in turn with this one, the first in the order of their
    /// bytes: merging changes the order in which the bytes of the two reach the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_between: Option<String>,
    /// The calls by file, the most calls first, sixteen at most. `descriptor` and `path` are those of
    /// the first.
    #[serde(default)]
    pub files: Vec<FileCalls>,
    /// How many more files there are.
    #[serde(default)]
    pub more_files: u64,
    /// The calls by call site, with `-k`, the most calls first, sixteen at most.
    #[serde(default)]
    pub sites: Vec<SiteCalls>,
    /// How many runs began with each step of the pattern, which has no first one by itself.
    #[serde(default)]
    pub starts: Vec<u64>,
    /// What runs the program, if the log shows it.
    #[serde(default)]
    pub runtime: Option<Runtime>,
}

/// The calls of a finding that went to one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCalls {
    /// Its path, or what strace shows of a pipe or socket.
    pub path: Option<String>,
    /// The descriptor's number.
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
    #[serde(default)]
    pub bytes: u64,
}

/// What runs a program, which decides how its calls are changed. The more certain come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Runtime {
    /// CPython, PyPy.
    Python,
    /// A Java virtual machine.
    Java,
    /// Node.js, Deno, Bun.
    Node,
    /// Ruby.
    Ruby,
    /// PHP.
    Php,
    /// Lua, LuaJIT.
    Lua,
    /// Perl.
    Perl,
    /// A shell script.
    Shell,
    /// Go, by the file that its runtime reads first.
    Go,
    /// C++, by `libstdc++` or `libc++`.
    #[serde(rename = "c++")]
    Cpp,
    /// Rust, by `libgcc_s` without a library of C++.
    Rust,
    /// C, by a C library and nothing else of these.
    C,
}
