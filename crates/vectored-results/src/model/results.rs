//! Results of `vectored measure`: the contract with other programs.
//!
//! Times are per call of the whole list, in nanoseconds (`_ns`) or seconds (`_s`); sizes are in bytes;
//! ratios are plain numbers. Fields may be added; existing ones keep their meaning.

use serde::{Deserialize, Serialize};
use vectored_machine::model::{Host, Timer};
use vectored_report::each_once;

use crate::model::conditions::Conditions;
use crate::model::cost_model::FittedModel;
use crate::model::direct_io::DirectIo;
use crate::model::ranks::{Rank, RankFigures};
use crate::model::swept_mix::SweptMix;
use crate::model::target::Drain;
use crate::model::technique::TechniqueName;
use crate::model::words::words;

pub const SCHEMA: &str = "vectored-results/1";

/// A whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Always [`SCHEMA`]; a reader rejects any other value.
    pub schema: String,
    /// False if the run was interrupted, or its budget ended, before every cell had the minimum of
    /// rounds.
    pub complete: bool,
    /// The version of `vectored` that measured.
    pub vectored_version: String,
    /// When the run began, RFC 3339, UTC.
    pub started_at: String,
    /// Wall time of the run.
    pub elapsed_s: f64,
    /// Wall time budget of the run.
    pub budget_s: f64,
    /// Seed of the order of samples and of the layout of buffers.
    pub seed: u64,
    /// Lists a second of the program for which the run was made, if the user gave this rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// The techniques that compete.
    pub rivals: Vec<TechniqueName>,
    /// The machine, and possible disturbances of the run.
    pub host: Host,
    /// The cost of the clock.
    pub timer: Timer,
    /// The requested cells, in their order.
    pub cells: Vec<Cell>,
    /// Cells that were measured between the requested cells.
    pub refined_cells: Vec<Cell>,
    /// The crossovers: none if the fastest technique does not change within the measured range, several
    /// if it changes more than once.
    pub crossovers: Vec<Crossover>,
    /// Cost models, one for each set of conditions.
    pub cost_models: Vec<FittedModel>,
    /// The ranks that measured, in their order. Empty if one process measured.
    pub ranks: Vec<Rank>,
    /// Requested cells that were not measured, with the reason.
    pub left_out: Vec<LeftOut>,
}

/// The verdict on a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The winner is significantly faster than every rival.
    Faster,
    /// The fastest techniques differ by no more than the tie zone.
    Tie,
    /// Not decided, but the difference is small: see [`Cell::choice`].
    Close,
    /// Not decided.
    #[default]
    Open,
}

words! {
    /// Why the verdict of a cell is [`Verdict::Open`] or [`Verdict::Close`].
    pub enum OpenBecause {
        /// Too few rounds: the leader and a rival share fewer rounds than a verdict needs, or the leader is
        /// ahead by the unadjusted intervals, but not after adjustment for the looks and for all cells of the
        /// run.
        Rounds = "rounds",
        /// More rounds cannot decide: the A/A pair of the cell differs by as much as the techniques do, or
        /// the last look was reached, or the intervals have reached their target width.
        Noise = "noise",
        /// The budget was spent, or the run was stopped, before the intervals were narrow.
        Budget = "budget",
    }
}

/// One target × one workload × one operation, measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The conditions that were asked for.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// Segments in the list; of a copy 1.
    pub segment_count: usize,
    /// Size of each segment, if all are equal; the bytes of a copy.
    pub segment_bytes: Option<usize>,
    /// Sizes as runs of `[count, bytes]`, if the sizes are mixed.
    pub segment_sizes: Option<Vec<(usize, usize)>>,
    /// The mix with its variable size, if the list belongs to a sweep over this size.
    pub swept_mix: Option<SweptMix>,
    /// The alignment of a file that was written or read with `O_DIRECT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alignment: Option<DirectIo>,
    /// File system of the target, if the target is a file.
    pub file_system: Option<String>,
    /// The range of the file that was written before it was truncated or written again from its start, or
    /// the length of the file that was read.
    pub span_bytes: Option<u64>,
    /// How the target was emptied, or filled.
    pub drain: Option<Drain>,
    /// Rounds that were sampled.
    pub rounds: u32,
    /// Sum of the times of the samples of these rounds, in s, including the samples of the floor.
    pub timed_s: f64,
    /// Wall time of the visits to the cell that took these rounds, in s: opening the target, untimed calls, emptying or filling
    /// the target, and the samples.
    pub spent_s: f64,
    /// Median time of the floor: one `write` of the same bytes, already contiguous, or one `read` into
    /// one piece. For a copy: copying by `read` and `write`.
    pub floor_ns: f64,
    /// Floor samples by round.
    pub floor_samples_ns: Vec<f64>,
    /// Samples of the floor under a second name, by round: the A/A control. Null in rounds without an A/A sample.
    pub aa_samples_ns: Vec<Option<f64>>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why the verdict is `open` or `close`. `None` if there is no rival.
    pub open_because: Option<OpenBecause>,
    /// If the verdict is `close` or `tie`: the simplest technique that may be the fastest and whose bound is small enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<TechniqueName>,
    /// The bound of `choice`: this technique takes at most this share longer than the fastest, by the 95 % intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// The fastest technique, if the verdict is `faster`.
    pub winner: Option<TechniqueName>,
    /// The rival that ratios refer to: it takes less time than every other rival in the median round, whatever the verdict.
    /// `None` without rounds.
    pub leader: Option<TechniqueName>,
    /// The noise floor: the largest difference within the 95 % interval of the A/A pair. No smaller
    /// difference is reported. `None` with too few rounds for an interval.
    pub noise_floor: Option<f64>,
    /// Whether the A/A pair's interval excludes 1.
    pub aa_separated: bool,
    /// Number of calls whose bytes were read back and compared.
    pub proof_calls: u64,
    /// The measured techniques.
    pub techniques: Vec<TechniqueResult>,
    /// Techniques that were to be measured, and whose calls the kernel refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refused>,
}

/// A technique whose calls the kernel refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refused {
    /// The technique.
    pub technique: TechniqueName,
    /// The kernel's error, in words.
    pub error: String,
}

/// One technique in one cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TechniqueResult {
    /// The technique.
    pub name: TechniqueName,
    /// Whether the technique kept up to `queue_depth` lists in flight.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_flight: bool,
    /// Whether the technique was sampled in every round. A technique that is far or surely behind is sampled in at most every
    /// tenth round.
    pub contender: bool,
    /// Calls in each sample.
    pub calls_per_sample: u32,
    /// Median over the rounds.
    pub median_ns: f64,
    /// Minimum over the rounds.
    pub min_ns: f64,
    /// Median CPU time of the calling thread, including the untimed call before each sample; with a
    /// `queue_depth` d above 1 the 2d − 1 untimed calls. The workers of io_uring in the
    /// kernel are left out.
    pub cpu_median_ns: f64,
    /// `median_ns ÷ floor_ns − 1`.
    pub gather_tax: f64,
    /// Median over the rounds of the technique's time ÷ the leader's time.
    pub ratio_to_leader: f64,
    /// Lower end of the unadjusted 95 % interval of `ratio_to_leader`. `None` while there are too few rounds for an interval.
    pub ratio_low: Option<f64>,
    /// Upper end of the interval of `ratio_to_leader`.
    pub ratio_high: Option<f64>,
    /// Median over the rounds of the technique's time ÷ the floor's time in the same round.
    /// [`gather_tax`](TechniqueResult::gather_tax) divides the medians of both instead. The results differ if the speed of the
    /// machine changes during the run. `None` without rounds.
    pub floor_ratio: Option<f64>,
    /// Lower end of the unadjusted 95 % interval of `floor_ratio`.
    pub floor_ratio_low: Option<f64>,
    /// Upper end of the interval of `floor_ratio`.
    pub floor_ratio_high: Option<f64>,
    /// Samples by round; null if this technique was not sampled in a round.
    pub samples_ns: Vec<Option<f64>>,
    /// The figures of each rank. `None` if one process measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<RankFigures>,
}

/// The techniques that were measured in some of these cells, in the order in which they appear.
pub fn measured_in<'c>(cells: impl IntoIterator<Item = &'c Cell>) -> Vec<TechniqueName> {
    let techniques = cells.into_iter().flat_map(|cell| &cell.techniques);
    each_once(techniques.map(|technique| technique.name))
}

/// A requested cell that was not measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The conditions that were asked for.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// The list of segments, as runs of `[count, bytes]`.
    pub segment_sizes: Vec<(usize, usize)>,
    /// The reason.
    pub reason: String,
}

impl Cell {
    pub fn technique(&self, name: TechniqueName) -> Option<&TechniqueResult> {
        self.techniques.iter().find(|t| t.name == name)
    }
}

/// The segment size at which the faster of two techniques changes, among
/// lists that differ in this size only: the size of all segments, or of one run
/// of a mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Crossover {
    /// The conditions that the lists were written or read under.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// Segments in the lists.
    pub segment_count: usize,
    /// The mix, if `at_bytes` is the size of one run of the mix.
    pub swept_mix: Option<SweptMix>,
    /// The technique that is faster for smaller segments.
    pub below: TechniqueName,
    /// The technique that is faster for larger segments.
    pub above: TechniqueName,
    /// The size at which both techniques take the same time.
    pub at_bytes: f64,
    /// Lower end of the interval of `at_bytes`.
    pub low_bytes: f64,
    /// Upper end of the interval of `at_bytes`.
    pub high_bytes: f64,
    /// From this size to `tie_high_bytes`, both techniques differ by no more than the tie zone.
    pub tie_low_bytes: f64,
    /// See `tie_low_bytes`.
    pub tie_high_bytes: f64,
}

/// Lists of equally many segments that differ in one size only: the size of all segments, or, in a swept mix,
/// the size of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListShape<'a> {
    pub segment_count: usize,
    pub swept_mix: Option<&'a SweptMix>,
}

impl Cell {
    /// The shape of the cell's list. The list of a fixed mix has the shape of equally many equal segments, but no
    /// [size](Cell::swept_bytes).
    pub fn shape(&self) -> ListShape<'_> {
        ListShape {
            segment_count: self.segment_count,
            swept_mix: self.swept_mix.as_ref(),
        }
    }

    /// The size in which the list differs from lists of the same shape: the size of all segments, or of the swept run of a mix.
    /// `None` for a fixed mix.
    pub fn swept_bytes(&self) -> Option<usize> {
        match &self.swept_mix {
            Some(mix) => mix.bytes_of(self.segment_sizes.as_deref()?),
            None => self.segment_bytes,
        }
    }
}

impl Results {
    /// The crossovers of the lists of one shape under these conditions, ascending.
    pub fn crossovers_of(&self, conditions: &Conditions, shape: ListShape<'_>) -> Vec<&Crossover> {
        let is_here = |crossover: &&Crossover| {
            let of_lists = ListShape {
                segment_count: crossover.segment_count,
                swept_mix: crossover.swept_mix.as_ref(),
            };
            of_lists == shape && crossover.conditions == *conditions
        };
        self.crossovers.iter().filter(is_here).collect()
    }
}
