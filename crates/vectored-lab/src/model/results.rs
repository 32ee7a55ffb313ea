//! What a run of `vectored measure` found: the contract with other programs.
//!
//! Times are per call of the whole list, in nanoseconds (`_ns`) or seconds
//! (`_s`); sizes are in bytes; ratios are plain numbers. Fields may be added;
//! those that are here keep their meaning.

use serde::{Deserialize, Serialize};

use crate::model::advice::Advice;
use crate::model::conditions::Conditions;
use crate::model::cost_model::FittedModel;
use crate::model::crossover::Crossover;
use crate::model::drain::Drain;
use crate::model::sync::SyncMode;
use crate::model::target::Target;
use crate::model::technique::Technique;
use crate::model::workload::{Cache, IovecSetup, Layout, Operation, PageCache};

/// The value of [`Results::schema`].
pub const SCHEMA: &str = "vectored-results/1";

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Always [`SCHEMA`]; a reader refuses what it does not know.
    pub schema: String,
    /// False when the run was interrupted, or its budget ended, before every
    /// cell had its fewest rounds.
    pub complete: bool,
    /// The version of `vectored` that measured.
    pub vectored_version: String,
    /// When the run began, RFC 3339, UTC.
    pub started_at: String,
    /// Wall time of the run.
    pub elapsed_s: f64,
    /// Wall time that the run was allowed.
    pub budget_s: f64,
    /// Seed of the order of samples and of the layout of buffers.
    pub seed: u64,
    /// The techniques among which verdicts were found.
    pub rivals: Vec<Technique>,
    /// The machine and what may have disturbed the run.
    pub host: Host,
    /// The clock, measured.
    pub ruler: Ruler,
    /// One entry a cell, in the order asked for.
    pub cells: Vec<Cell>,
    /// Cells that were measured between the cells asked for.
    pub refined_cells: Vec<Cell>,
    /// Where the better of two techniques changes: no entry where that is
    /// nowhere in the range that was measured, several where it is so.
    #[serde(default)]
    pub crossovers: Vec<Crossover>,
    /// What calls, segments and bytes cost, by kind of target.
    #[serde(default)]
    pub cost_models: Vec<FittedModel>,
    /// What to do, in words.
    #[serde(default)]
    pub advice: Vec<Advice>,
    /// Cells of the grid that were not measured, with the reason.
    pub left_out: Vec<LeftOut>,
}

/// The machine that a run was made on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// The node name.
    pub name: String,
    /// Operating system and machine, as `Linux x86_64`.
    pub system: String,
    /// Kernel release and version.
    pub kernel: String,
    /// The processor.
    pub cpu: CpuInfo,
    /// Physical memory.
    pub memory_bytes: u64,
    /// The hypervisor or container that was noticed, if any.
    pub virtualization: Option<String>,
    /// `IOV_MAX`.
    pub iov_max: usize,
    /// Capacity of a new pipe.
    pub pipe_bytes: Option<u64>,
    /// Send and receive buffer of a new Unix stream socket, as `getsockopt`
    /// tells them.
    pub unix_send_buffer_bytes: Option<u64>,
    /// See [`Host::unix_send_buffer_bytes`].
    pub unix_receive_buffer_bytes: Option<u64>,
    /// Send and receive buffer of the TCP connection that is measured, as
    /// `getsockopt` tells them.
    pub tcp_send_buffer_bytes: Option<u64>,
    /// See [`Host::tcp_send_buffer_bytes`].
    pub tcp_receive_buffer_bytes: Option<u64>,
    /// The directory that held the file, where one was measured.
    pub directory: Option<DirectoryInfo>,
    /// The kernel's clock source.
    pub clock_source: Option<String>,
    /// The CPU that the measuring thread was pinned to.
    pub pinned_cpu: Option<usize>,
    /// The CPU that reader and writer threads were pinned to.
    pub reader_cpu: Option<usize>,
    /// One-minute load average when the run began.
    pub load_average: Option<f64>,
    /// Share of CPU time that the hypervisor took away during the run.
    pub steal_share: Option<f64>,
    /// Involuntary context switches of the measuring thread.
    pub involuntary_switches: Option<u64>,
    /// What may have disturbed the figures, in plain words.
    pub warnings: Vec<String>,
}

/// The processor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuInfo {
    /// Model name.
    pub model: String,
    /// CPUs that this process may use.
    pub allowed_cpus: Vec<usize>,
    /// Level-1 data cache of one core.
    pub l1d_bytes: Option<u64>,
    /// Level-2 cache.
    pub l2_bytes: Option<u64>,
    /// Level-3 cache.
    pub l3_bytes: Option<u64>,
    /// Frequency governor.
    pub governor: Option<String>,
    /// Mitigations that the kernel reports as active: `[vulnerability, mitigation]`.
    pub mitigations: Vec<(String, String)>,
}

/// The directory that temporary files were made in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DirectoryInfo {
    /// Its path.
    pub path: String,
    /// File system type.
    pub file_system: String,
    /// Mount options.
    pub mount_options: Option<String>,
    /// Free space when the run began.
    pub free_bytes: u64,
    /// `st_blksize`: the block size preferred for I/O.
    pub st_blksize: u64,
    /// Read-ahead of the block device, in KiB.
    pub read_ahead_kb: Option<u64>,
}

/// The clock and the empty loop, measured before anything else.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ruler {
    /// The clock that samples are timed with.
    pub clock: String,
    /// The smallest step that was seen between two readings.
    pub step_ns: u64,
    /// What one reading costs.
    pub reading_ns: f64,
    /// What one turn of the sampling loop costs when the technique does nothing.
    pub empty_loop_ns: f64,
}

/// What is known of a cell's best technique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The winner beats every rival.
    Faster,
    /// No technique is better than another by more than the tie zone.
    Tie,
    /// Not decided within the budget.
    Open,
}

/// Why the verdict of a cell is [`Verdict::Open`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpenBecause {
    /// Too few rounds: the leader and a rival were sampled together in fewer
    /// than a verdict takes, or the leader is ahead of every rival by the
    /// unadjusted intervals, but not after adjustment for the looks and for all
    /// cells of the run.
    Rounds,
    /// More rounds would not have decided: the A/A pair of the cell differs by
    /// as much as the techniques do, or the last look came, or the intervals
    /// are as narrow as they are sampled for.
    Noise,
    /// The budget was spent, or the run was stopped, before the intervals were
    /// narrow.
    Budget,
}

impl OpenBecause {
    /// As in the JSON and the table.
    pub fn name(self) -> &'static str {
        match self {
            OpenBecause::Rounds => "rounds",
            OpenBecause::Noise => "noise",
            OpenBecause::Budget => "budget",
        }
    }
}

/// One target × one workload × one operation, measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Where the bytes went, or came from.
    pub target: Target,
    /// Which one, where it was named by its path: the directory of the file,
    /// the FIFO, the socket or the device.
    pub path: Option<String>,
    /// Which way they went.
    pub operation: Operation,
    /// Segments in the list.
    pub segment_count: usize,
    /// Size of each segment, where all have the same.
    pub segment_bytes: Option<usize>,
    /// Sizes as runs of `[count, bytes]`, where they are mixed.
    pub segment_sizes: Option<Vec<(usize, usize)>>,
    /// How the segments lay in memory.
    pub layout: Layout,
    /// State of the CPU's caches.
    pub cache: Cache,
    /// State of the page cache of a file that was read.
    pub page_cache: Option<PageCache>,
    /// When the iovec array was filled.
    pub iovec_setup: IovecSetup,
    /// What was synced, and when.
    pub sync: SyncMode,
    /// File system of the target, where it is a file.
    pub file_system: Option<String>,
    /// The span of the file that was written before it was truncated or before
    /// its begin came again, or the length of the file that was read.
    pub span_bytes: Option<u64>,
    /// Operations in flight, for asynchronous techniques.
    pub queue_depth: Option<u32>,
    /// How the target was emptied, or filled.
    pub drain: Option<Drain>,
    /// Rounds that were sampled.
    pub rounds: u32,
    /// Median time of one `write` of the same bytes, already contiguous, or of
    /// one `read` into one piece.
    pub floor_ns: f64,
    /// The floor, by round.
    pub floor_samples_ns: Vec<f64>,
    /// The floor a second time under another name, by round.
    pub aa_samples_ns: Vec<f64>,
    /// What is known of the best technique.
    pub verdict: Verdict,
    /// Why, where the verdict is `open`. `None` where there is no rival, and in
    /// files of earlier versions.
    #[serde(default)]
    pub open_because: Option<OpenBecause>,
    /// The best technique, where the verdict is `faster`.
    pub winner: Option<Technique>,
    /// The rival that ratios refer to, whatever the verdict: the one that takes
    /// less time than every other in the median round. `None` in a cell without
    /// rounds.
    pub leader: Option<Technique>,
    /// The largest difference that the A/A pair's 95 % interval admits between
    /// two names for the same thing. Nothing smaller is called. `None` while
    /// there are too few rounds for an interval.
    pub noise_floor: Option<f64>,
    /// Whether the A/A pair's interval excludes 1.
    pub aa_separated: bool,
    /// Proof calls whose bytes were read back and compared.
    pub proof_calls: u64,
    /// One entry a technique.
    pub techniques: Vec<TechniqueResult>,
}

/// One technique in one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TechniqueResult {
    /// Which technique.
    pub name: Technique,
    /// Sampled in every round (true), or, being far behind, in every tenth.
    pub contender: bool,
    /// Calls in each sample.
    pub calls_per_sample: u32,
    /// Median over the rounds.
    pub median_ns: f64,
    /// Minimum over the rounds.
    pub min_ns: f64,
    /// Median CPU time of the calling thread, the untimed call before each
    /// sample included.
    pub cpu_median_ns: f64,
    /// `median_ns ÷ floor_ns − 1`.
    pub gather_tax: f64,
    /// Median over the rounds of its time ÷ the leader's.
    pub ratio_to_leader: f64,
    /// Lower end of the unadjusted 95 % interval of `ratio_to_leader`.
    /// `None` while there are too few rounds for one.
    pub ratio_low: Option<f64>,
    /// Upper end.
    pub ratio_high: Option<f64>,
    /// Median over the rounds of its time ÷ the floor's of the same round.
    /// [`gather_tax`](TechniqueResult::gather_tax) is of the medians instead:
    /// where the machine changes its speed, the two differ, and this one does
    /// not mind. `None` without rounds, and in files of earlier versions.
    #[serde(default)]
    pub floor_ratio: Option<f64>,
    /// Lower end of the unadjusted 95 % interval of `floor_ratio`.
    #[serde(default)]
    pub floor_ratio_low: Option<f64>,
    /// Upper end.
    #[serde(default)]
    pub floor_ratio_high: Option<f64>,
    /// Every sample, by round; null where this technique was not sampled.
    pub samples_ns: Vec<Option<f64>>,
}

/// A cell that was asked for but not measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its target.
    pub target: Target,
    /// Which one, as in [`Cell::path`].
    pub path: Option<String>,
    /// Its list of segments as runs of `[count, bytes]`.
    pub segment_sizes: Vec<(usize, usize)>,
    /// Why.
    pub reason: String,
}

impl Cell {
    /// The conditions that it shares with the cells that it can be compared with.
    pub fn conditions(&self) -> Conditions {
        Conditions {
            target: self.target,
            path: self.path.clone(),
            operation: self.operation,
            layout: self.layout,
            cache: self.cache,
            page_cache: self.page_cache,
            iovec_setup: self.iovec_setup,
            sync: self.sync,
            drain: self.drain,
        }
    }

    /// The result of one technique, if it was measured.
    pub fn technique(&self, name: Technique) -> Option<&TechniqueResult> {
        self.techniques.iter().find(|t| t.name == name)
    }
}
