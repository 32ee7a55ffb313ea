//! A comparison of two sets of runs.

use serde::Serialize;
use vectored_report::{Change, Ruling};

use crate::model::conditions::Conditions;
use crate::model::technique::TechniqueName;

pub const COMPARISON_SCHEMA: &str = "vectored-comparison/1";

/// Base runs against new runs of the same cells.
///
/// The compared figure is a technique's time ÷ the floor's
/// ([`floor_ratio`](crate::model::results::TechniqueResult::floor_ratio)), so that a change in the speed
/// of the whole machine cancels out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Always [`COMPARISON_SCHEMA`].
    pub schema: String,
    /// When each run of the base began.
    pub base: Vec<String>,
    /// When each new run began.
    pub new: Vec<String>,
    /// Differences of the environment.
    pub environment: Vec<EnvironmentDifference>,
    /// The smallest change that is reported: 0.02 is 2 %.
    pub called_from: f64,
    /// Prior standard deviation, from run to run, of the logarithm of a technique's mean over cells. The fewer the runs, the
    /// more this prior weighs.
    pub between_runs_sd: f64,
    /// The limit on the growth of times, as a share; `None` without a limit.
    pub limit: Option<f64>,
    /// The mean over the cells of a target, by technique.
    pub targets: Vec<Compared>,
    /// Each cell, by technique.
    pub cells: Vec<Compared>,
    /// The floor itself, whose changes are never reported.
    pub floors: Vec<FloorChange>,
    /// Cells that only some of the runs have.
    pub unmatched_cells: usize,
    /// Results that were not compared although all runs have the cell: some run did not measure the
    /// technique, or has no interval for it.
    pub unmatched_techniques: usize,
}

/// A property of the machine, the system or the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EnvironmentDifference {
    /// The name of the property.
    pub what: String,
    /// The values of the property in the base, each once.
    pub base: Vec<String>,
    /// The values of the property in the new runs, each once.
    pub new: Vec<String>,
}

/// One technique in one cell, or in all cells of a target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The conditions of the cells.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// The list, as runs of `[count, bytes]`; null for all cells together.
    pub segment_sizes: Option<Vec<(usize, usize)>>,
    /// The number of cells.
    pub cell_count: usize,
    /// The technique.
    pub technique: TechniqueName,
    /// Time ÷ floor of the base: the mean of the runs' logarithms.
    pub base_floor_ratio: f64,
    /// Time ÷ floor of the new runs: the mean of the runs' logarithms.
    pub new_floor_ratio: f64,
    /// New ÷ base.
    pub ratio: f64,
    /// Lower end of the 95 % interval of `ratio`, not adjusted for the number of comparisons.
    pub ratio_low: f64,
    /// Upper end of the 95 % interval of `ratio`, not adjusted.
    pub ratio_high: f64,
    /// Two-sided p-value of "nothing changed", not adjusted.
    pub p: f64,
    /// The reported change, after adjustment.
    pub change: Change,
    /// As [`Comparison::limit`].
    pub limit: Option<f64>,
    /// Whether the limit is kept. A reported change beyond the limit breaks the limit.
    pub ruling: Option<Ruling>,
}

impl Comparison {
    pub fn rows(&self) -> impl Iterator<Item = &Compared> {
        self.targets.iter().chain(&self.cells)
    }

    pub fn rule(&mut self, limit: f64) {
        self.limit = Some(limit);
        for row in self.targets.iter_mut().chain(&mut self.cells) {
            let is_beyond = row.change == Change::More && row.ratio >= 1.0 + limit;
            row.limit = Some(limit);
            row.ruling = Some(if is_beyond { Ruling::Beyond } else { Ruling::Within });
        }
    }
}

/// The floor of a target: new time ÷ base time, mean over its cells.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FloorChange {
    /// The conditions of the cells.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// New ÷ base.
    pub ratio: f64,
}
