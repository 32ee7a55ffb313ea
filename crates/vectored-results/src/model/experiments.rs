//! Results of `vectored reproduce`: the contract with other programs.
//!
//! Times are in seconds (`_s`): of a whole copy or file, or of one call, as [`Reproduction::rows`] says.
//! Fields may be added; existing ones keep their meaning.

use serde::{Deserialize, Serialize};
use vectored_machine::model::{Host, Timer};

use crate::model::conditions::{Operation, SyncMode};
use crate::model::words::words;
use crate::model::workload::{IovecSetup, PageCache};

pub const EXPERIMENTS_SCHEMA: &str = "vectored-experiments/1";

pub const PUBLISHED_FILE_BYTES: u64 = 103_316_352;

/// A whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Experiments {
    /// Always [`EXPERIMENTS_SCHEMA`]; a reader rejects any other value.
    pub schema: String,
    /// False if the run was stopped or failed before its end.
    pub complete: bool,
    /// The version of `vectored` that measured.
    pub vectored_version: String,
    /// When the run began, RFC 3339, UTC.
    pub started_at: String,
    /// Wall time of the run.
    pub elapsed_s: f64,
    /// Seed of the order of rows, and of the bytes.
    pub seed: u64,
    /// The machine, and possible disturbances of the run.
    pub host: Host,
    /// The cost of the clock.
    pub timer: Timer,
    /// The experiments, in the order in which they were run.
    pub experiments: Vec<Reproduction>,
}

words! {
    /// The name of a published experiment.
    #[derive(Default)]
    pub enum ExperimentName {
        /// Copying a file with buffers of many sizes.
        #[default]
        Apue35 = "apue-3.5",
        /// A header and its data, a million times.
        Apue1428 = "apue-14.28",
        /// A thousand elements of ten sizes.
        Kalinin = "kalinin",
        /// Buffers written and read one by one, or vectored.
        Mincer = "mincer",
    }
}

/// One experiment: measured rows, published rows, and conclusions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reproduction {
    /// The experiment.
    pub name: ExperimentName,
    /// Whether the experiment was smaller than published (`--quick`, or sizes chosen by the user).
    pub reduced: bool,
    /// False if the experiment was stopped before every row had all its repeats.
    pub complete: bool,
    /// State of the page cache for the file that was read; hot if the experiment writes the file first.
    pub cache: PageCache,
    /// Properties that all rows share.
    pub setting: Setting,
    /// The measured rows. Times are of a whole copy in `apue-3.5`, of a whole file in `apue-14.28`, of
    /// one call of 1000 elements in `kalinin`, and of one pass over all buffers in `mincer`.
    pub rows: Vec<ExperimentRow>,
    /// The published rows.
    pub published: Vec<ExperimentRow>,
    /// Pairs of rows, compared repeat by repeat.
    pub ratios: Vec<Ratio>,
    /// The sizes at which the better of two techniques changes.
    pub crossovers: Vec<ExperimentCrossover>,
    /// Further notes on this run.
    pub notes: Vec<String>,
    /// The finding in words, computed from the figures.
    pub finding: String,
}

impl Reproduction {
    /// Which time is compared for a program of the user: CPU time for a copy from memory to `/dev/null`, since other
    /// programs disturb it least; otherwise wall time.
    pub fn compared(&self) -> Measure {
        let is_synced = !matches!(self.setting.sync, None | Some(SyncMode::None));
        let is_null = self.setting.to.as_deref().is_none_or(|to| to == "null");
        if is_null && self.cache == PageCache::Hot && !is_synced {
            Measure::Cpu
        } else {
            Measure::Clock
        }
    }

    /// The row of copies of an empty file: the start and the end of a process.
    pub fn start_of(&self, technique: &str) -> Option<&ExperimentRow> {
        let mut rows = self.rows.iter();
        rows.find(|row| row.key.technique == technique && row.is_start())
    }

    /// The median time of a copy without the start and the end of its process. `None` if this time is less than twice the
    /// spread of the starts, and so is noise.
    pub fn copying_s(&self, row: &ExperimentRow, measure: Measure) -> Option<f64> {
        let start = self.start_of(&row.key.technique)?;
        let start_s = start.times.of(measure)?;
        let copying_s = row.times.of(measure)? - start_s;
        let spread_s = start.spread_s(measure).unwrap_or(start_s);
        (copying_s > 0.0 && copying_s >= 2.0 * spread_s).then_some(copying_s)
    }

    /// Whether the seconds can be compared with the published seconds: a copy was of the whole file of the book, to
    /// `/dev/null`.
    pub fn is_as_published(&self) -> bool {
        let Setting {
            file_bytes,
            to,
            sync,
            ..
        } = &self.setting;
        *file_bytes == Some(PUBLISHED_FILE_BYTES)
            && to.as_deref().is_none_or(|to| to == "null")
            && matches!(sync, None | Some(SyncMode::None))
    }
}

/// Properties that all rows of an experiment share; `None` if a property does not apply.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The largest number of repeats that was planned for a row.
    pub repeats: usize,
    /// Bytes of the file that is copied.
    pub file_bytes: Option<u64>,
    /// The destination of copies: `null`, `file` or `pipe`.
    pub to: Option<String>,
    /// The command of the program that was timed beside `vectored copy`, with its placeholders; its rows have the
    /// technique `program`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// How durable a call, or a whole copy, must be before it counts as done.
    pub sync: Option<SyncMode>,
    /// `st_blksize` of the file that is copied.
    pub st_blksize: Option<u64>,
    /// Read-ahead of the device of the file, in KiB.
    pub read_ahead_kb: Option<u64>,
}

pub const HERE: &str = "here";

/// What a row measures. Measured and published rows of one key are compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RowKey {
    /// `read-write`, `stdio`, `program`, or one of the techniques.
    pub technique: String,
    /// Whether segments are written or read, if an experiment has both.
    pub operation: Option<Operation>,
    /// When the array of `writev` or `readv` was filled, if an experiment varies that.
    pub iovec_setup: Option<IovecSetup>,
    /// Segments in a call.
    pub segment_count: Option<usize>,
    /// Size of each segment, if all are equal.
    pub segment_bytes: Option<usize>,
    /// Size of the buffer of a copy, in bytes.
    pub buffer_bytes: Option<u64>,
}

/// Times of a row or of one repeat of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// CPU time in user mode. The kernel splits user and system time by clock ticks, which is coarse below one second.
    pub user_s: Option<f64>,
    /// CPU time in the kernel; see [`Times::user_s`].
    pub system_s: Option<f64>,
    /// User and system time together, which is exact.
    pub cpu_s: Option<f64>,
    /// Wall time.
    pub clock_s: Option<f64>,
}

impl Times {
    /// The result of `of` for each of the four times. `of` gets a function that reads one of the times.
    pub fn each(of: impl Fn(fn(&Times) -> Option<f64>) -> Option<f64>) -> Times {
        Times {
            user_s: of(|times| times.user_s),
            system_s: of(|times| times.system_s),
            cpu_s: of(|times| times.cpu_s),
            clock_s: of(|times| times.clock_s),
        }
    }

    pub fn of(&self, measure: Measure) -> Option<f64> {
        match measure {
            Measure::Cpu => self.cpu_s,
            Measure::Clock => self.clock_s,
        }
    }
}

/// A row, measured here or published: medians over the repeats, and all repeats.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExperimentRow {
    /// `here`, or the publication with its machine.
    pub source: String,
    /// What the row measures.
    #[serde(flatten)]
    pub key: RowKey,
    /// The number of copied bytes, if not the whole file; 0 for an empty file. The time of an empty file is subtracted from the
    /// medians, and the rest is scaled up to the whole file. Samples and `loops` are as measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copied_bytes: Option<u64>,
    /// Number of calls, or passes, in a repeat.
    pub calls: Option<u64>,
    /// Successful reads of a copy. The last read, which found the end of the file, is not counted.
    pub loops: Option<u64>,
    /// Number of repeats that were measured.
    pub repeats: usize,
    /// Medians of the repeats, or the published times.
    #[serde(flatten)]
    pub times: Times,
    /// Median over all passes of all repeats (`clock_s` is the median of the repeats' means).
    pub pass_median_s: Option<f64>,
    /// Bytes moved ÷ `clock_s`.
    pub bytes_per_s: Option<f64>,
    /// The repeats, in their order; `null` if the row was not sampled in a repeat.
    pub samples: Vec<Option<Sample>>,
}

impl ExperimentRow {
    pub fn here(key: RowKey) -> Self {
        ExperimentRow {
            source: HERE.to_owned(),
            key,
            ..ExperimentRow::default()
        }
    }

    pub fn is_here(&self) -> bool {
        self.source == HERE
    }

    pub fn is_start(&self) -> bool {
        self.copied_bytes == Some(0)
    }

    /// The largest sample less the smallest; `None` if there are fewer than two.
    pub fn spread_s(&self, measure: Measure) -> Option<f64> {
        let samples = self.samples.iter().flatten();
        let sampled: Vec<f64> = samples.filter_map(|one| one.times.of(measure)).collect();
        let largest = sampled.iter().copied().reduce(f64::max)?;
        let smallest = sampled.iter().copied().reduce(f64::min)?;
        (sampled.len() > 1).then_some(largest - smallest)
    }
}

/// One repeat of a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The times of this repeat.
    #[serde(flatten)]
    pub times: Times,
    /// See [`ExperimentRow::loops`].
    pub loops: Option<u64>,
    /// The passes of this repeat.
    pub pass_s: Vec<f64>,
    /// Bytes of the file that were in the page cache when the copy began. If the cache was to be cold, the copy began after the
    /// eviction.
    pub resident_bytes: Option<u64>,
    /// Bytes that the copy read from storage devices (`ru_inblock`).
    pub fetched_bytes: Option<u64>,
}

/// The measured quantity that a ratio compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// User and system time together.
    Cpu,
    /// Wall time.
    Clock,
}

impl Measure {
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
    /// Index of the row in the numerator.
    pub of: usize,
    /// Index of the row in the denominator.
    pub over: usize,
    /// The compared quantity.
    pub measure: Measure,
    /// Number of repeats that both rows have.
    pub repeats: usize,
    /// Median of the ratios of the repeats.
    pub ratio: f64,
    /// Lower end of an interval of at least 95 %, whose ends are order statistics: with seven independent repeats
    /// the smallest and the largest ratio (98.4 %). `null` with fewer than six.
    pub ratio_low: Option<f64>,
    /// Upper end: see [`Ratio::ratio_low`].
    pub ratio_high: Option<f64>,
    /// The ratio of the corresponding published figures.
    pub published: Vec<PublishedRatio>,
}

/// A ratio of published figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedRatio {
    /// See [`ExperimentRow::source`].
    pub source: String,
    /// The ratio.
    pub ratio: f64,
}

/// The size at which the faster of two techniques changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentCrossover {
    /// The compared quantity.
    pub measure: Measure,
    /// The technique that takes less time for smaller sizes.
    pub below: String,
    /// The technique that takes less time for larger sizes.
    pub above: String,
    /// The size at which the interpolated medians are equal.
    pub at_bytes: f64,
    /// The nearest smaller size at which `below` is significantly faster.
    pub low_bytes: f64,
    /// The nearest larger size at which `above` is significantly faster.
    pub high_bytes: f64,
}
