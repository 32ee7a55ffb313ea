//! What a run of `vectored reproduce` found: the contract with other programs.
//!
//! Times are in seconds (`_s`): of a whole copy or file in the experiments that
//! published those, of one call in the others, as [`Reproduction::rows`] says.
//! Fields may be added; those that are here keep their meaning.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::model::results::{Host, Ruler};
use crate::model::sync::SyncMode;
use crate::model::workload::{IovecSetup, Operation, PageCache};

/// The value of [`Experiments::schema`].
pub const EXPERIMENTS_SCHEMA: &str = "vectored-experiments/1";

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiments {
    /// Always [`EXPERIMENTS_SCHEMA`]; a reader refuses what it does not know.
    pub schema: String,
    /// False when the run was stopped, or failed, before its end.
    pub complete: bool,
    /// The version of `vectored` that measured.
    pub vectored_version: String,
    /// When the run began, RFC 3339, UTC.
    pub started_at: String,
    /// Wall time of the run.
    pub elapsed_s: f64,
    /// Seed of the order of rows, and of the bytes.
    pub seed: u64,
    /// The machine and what may have disturbed the run.
    pub host: Host,
    /// The clock, measured.
    pub ruler: Ruler,
    /// One entry an experiment, in the order in which they were run.
    pub experiments: Vec<Reproduction>,
}

/// The name of a published experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ExperimentName {
    /// Copying a file with buffers of many sizes.
    #[serde(rename = "apue-3.5")]
    Apue35,
    /// A header and its data, a million times.
    #[serde(rename = "apue-14.28")]
    Apue1428,
    /// A thousand elements of ten sizes.
    #[serde(rename = "kalinin")]
    Kalinin,
    /// Buffers one by one, or vectored; written and read.
    #[serde(rename = "mincer")]
    Mincer,
}

impl ExperimentName {
    /// Every experiment, in the order in which `all` runs them.
    pub const ALL: [ExperimentName; 4] = [
        ExperimentName::Apue35,
        ExperimentName::Apue1428,
        ExperimentName::Kalinin,
        ExperimentName::Mincer,
    ];

    /// The name, the same on the command line, in JSON and in tables.
    pub fn name(self) -> &'static str {
        match self {
            ExperimentName::Apue35 => "apue-3.5",
            ExperimentName::Apue1428 => "apue-14.28",
            ExperimentName::Kalinin => "kalinin",
            ExperimentName::Mincer => "mincer",
        }
    }
}

impl fmt::Display for ExperimentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ExperimentName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let mut all = ExperimentName::ALL.into_iter();
        all.find(|experiment| experiment.name() == name)
            .ok_or_else(|| {
                let names = ExperimentName::ALL.map(ExperimentName::name).join(", ");
                format!("unknown experiment '{name}': choose from {names}")
            })
    }
}

/// One experiment: our rows, the published ones, and what follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reproduction {
    /// Which one.
    pub name: ExperimentName,
    /// Whether it was smaller than what was published (`--quick`, and sizes that
    /// somebody chose).
    pub reduced: bool,
    /// False when it was stopped before every row had its repeats.
    pub complete: bool,
    /// The page cache of what was read: hot where a file is written, then read.
    pub cache: PageCache,
    /// What holds for all rows.
    pub setting: Setting,
    /// What was measured. Times are of a whole copy in `apue-3.5`, of a whole
    /// file in `apue-14.28`, of one call of 1000 elements in `kalinin`, and of
    /// one pass over all buffers in `mincer`.
    pub rows: Vec<ExperimentRow>,
    /// What was published, in the form of our rows.
    pub published: Vec<PublishedRow>,
    /// Pairs of rows, compared repeat by repeat.
    pub ratios: Vec<Ratio>,
    /// Where the better of two techniques changes.
    pub borders: Vec<Border>,
    /// What the publication has, or would have today, and this version cannot
    /// measure yet.
    pub missing: Vec<String>,
    /// What else a reader should know of this run, in words.
    pub notes: Vec<String>,
    /// What the figures say, computed from them, in words.
    pub finding: String,
}

/// What holds for all rows of an experiment; what does not apply is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// How often every row was to be measured, in turn with the others.
    pub repeats: usize,
    /// Bytes of the file that is copied.
    pub file_bytes: Option<u64>,
    /// Where copies go: `null`, `file` or `pipe`.
    pub to: Option<String>,
    /// What is on the device when a call, or a copy, is over.
    pub sync: Option<SyncMode>,
    /// `st_blksize` of the file that is copied.
    pub st_blksize: Option<u64>,
    /// Read-ahead of its device, in KiB.
    pub read_ahead_kb: Option<u64>,
    /// What it takes to start a copy of nothing, which every row of copies
    /// contains.
    pub start_s: Option<f64>,
    /// That by repeat.
    pub start_s_samples: Vec<Option<f64>>,
}

/// A row: medians over the repeats, and every repeat. Samples are aligned by
/// repeat, `null` where a row was not sampled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExperimentRow {
    /// `read-write`, `stdio`, or one of the techniques.
    pub technique: String,
    /// Whether segments are written or read, where an experiment has both.
    pub operation: Option<Operation>,
    /// When the array of `writev` or `readv` was filled, where that was varied.
    pub iovec_setup: Option<IovecSetup>,
    /// Segments of a call.
    pub segment_count: Option<usize>,
    /// Bytes of each, where all have the same.
    pub segment_bytes: Option<usize>,
    /// Runs of `(count, bytes)` where they differ.
    pub segment_sizes: Option<Vec<(usize, usize)>>,
    /// Bytes of the buffer of a copy.
    pub buffer_bytes: Option<u64>,
    /// How many calls, or passes, of the list a repeat has.
    pub calls: Option<u64>,
    /// Successful reads of a copy, all but the last, which found the end.
    pub loops: Option<u64>,
    /// Repeats that were measured.
    pub repeats: usize,
    /// CPU time in user mode. The kernel splits by ticks: coarse under a second.
    pub user_s: Option<f64>,
    /// CPU time in the kernel; see [`ExperimentRow::user_s`].
    pub system_s: Option<f64>,
    /// CPU time, both together, which is exact.
    pub cpu_s: Option<f64>,
    /// Wall time.
    pub clock_s: Option<f64>,
    /// The median of all passes of all repeats, where `clock_s` is the median of
    /// their means.
    pub pass_median_s: Option<f64>,
    /// Bytes moved ÷ `clock_s`.
    pub bytes_per_s: Option<f64>,
    /// By repeat.
    pub user_s_samples: Vec<Option<f64>>,
    /// By repeat.
    pub system_s_samples: Vec<Option<f64>>,
    /// By repeat.
    pub cpu_s_samples: Vec<Option<f64>>,
    /// By repeat.
    pub clock_s_samples: Vec<Option<f64>>,
    /// The passes of every repeat.
    pub pass_s_samples: Vec<Vec<f64>>,
    /// By repeat: how much of the file was in the page cache when the copy
    /// began, which is after the eviction where it was to be cold.
    pub resident_bytes_samples: Vec<Option<u64>>,
    /// By repeat: what the copy fetched from storage devices, as the kernel
    /// counts (`ru_inblock`).
    pub fetched_bytes_samples: Vec<Option<u64>>,
}

/// A published row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PublishedRow {
    /// The publication, and its machine where there are several.
    pub source: String,
    /// As in [`ExperimentRow::technique`].
    pub technique: String,
    /// As in [`ExperimentRow::operation`].
    pub operation: Option<Operation>,
    /// As in [`ExperimentRow::iovec_setup`].
    pub iovec_setup: Option<IovecSetup>,
    /// As in [`ExperimentRow::segment_count`].
    pub segment_count: Option<usize>,
    /// As in [`ExperimentRow::segment_bytes`].
    pub segment_bytes: Option<usize>,
    /// As in [`ExperimentRow::buffer_bytes`].
    pub buffer_bytes: Option<u64>,
    /// As printed.
    pub loops: Option<u64>,
    /// CPU time in user mode.
    pub user_s: Option<f64>,
    /// CPU time in the kernel.
    pub system_s: Option<f64>,
    /// CPU time, both together.
    pub cpu_s: Option<f64>,
    /// Wall time.
    pub clock_s: Option<f64>,
}

/// What a ratio is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// User and system time together.
    Cpu,
    /// Wall time.
    Clock,
}

impl Measure {
    /// `CPU time`, `wall time`.
    pub fn in_words(self) -> &'static str {
        match self {
            Measure::Cpu => "CPU time",
            Measure::Clock => "wall time",
        }
    }
}

/// One row ÷ another, repeat by repeat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Index of the row above the line.
    pub of: usize,
    /// Index of the row below it.
    pub over: usize,
    /// What is divided.
    pub measure: Measure,
    /// Repeats that have both.
    pub repeats: usize,
    /// Median of the ratios of the repeats.
    pub ratio: f64,
    /// Its interval, between order statistics, of at least 95 %; of seven
    /// independent repeats, the smallest and the largest: 98.4 %. `null` with
    /// fewer than six.
    pub ratio_low: Option<f64>,
    /// See [`Ratio::ratio_low`].
    pub ratio_high: Option<f64>,
    /// The same ratio of the published figures.
    pub published: Vec<PublishedRatio>,
}

/// A ratio of published figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedRatio {
    /// As in [`PublishedRow::source`].
    pub source: String,
    /// The ratio.
    pub ratio: f64,
}

/// The size at which the better of two techniques changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Border {
    /// What is compared.
    pub measure: Measure,
    /// The technique that takes less time for smaller sizes.
    pub below: String,
    /// The technique that takes less time for larger sizes.
    pub above: String,
    /// Where the medians change, between two sizes that were measured.
    pub at_bytes: f64,
    /// The nearest size at which the one is surely faster.
    pub low_bytes: f64,
    /// The nearest size at which the other is.
    pub high_bytes: f64,
}
