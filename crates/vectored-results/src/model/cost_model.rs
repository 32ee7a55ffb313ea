//! The costs of a call, a segment and a byte, as measured in a run.

use serde::{Deserialize, Serialize};
use vectored::CostModel;
use vectored::queue::QueuePolicy;

use crate::model::conditions::Conditions;
use crate::model::target::Drain;

/// A cost model for one set of conditions, with its regret.
///
/// The JSON has the fields of the [`CostModel`] beside the other fields, so that a program can load the JSON as a
/// [`CostModel`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedModel {
    /// The conditions that the model holds for.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// How the target was emptied or filled. With a thread at the other end, times depend on two threads.
    pub drain: Option<Drain>,
    /// The source of the numbers.
    pub source: ModelSource,
    /// The numbers. The chunk policy is neither fitted nor measured.
    #[serde(flatten)]
    pub model: CostModel,
    /// Copy thresholds by the model, as `[segment count, bytes]`: the longest segment that is worth copying in a list of so
    /// many segments.
    pub copy_below_bytes: Vec<(usize, usize)>,
    /// The longest segment that a queue copies when the segment is put in, by the model.
    pub queue_copy_below_bytes: usize,
    /// The bytes of messages that are worth copying together instead of making one more call, by the model.
    pub queue_join_below_bytes: usize,
    /// Number of cells in which the regret was computed.
    pub judged_cells: usize,
    /// Regret of choosing by the model: time of the chosen technique ÷ time of the best technique − 1, median over cells. A
    /// model that was fitted to cells is judged by cross-validation: in each cell by a fit to the other cells.
    pub regret_median: Option<f64>,
    /// Regret of choosing by the model: 95th percentile over cells.
    pub regret_p95: Option<f64>,
}

/// The source of a cost model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelSource {
    /// The cells of the run.
    Cells,
    /// A calibration of about 50 ms (75 ms on a file) before the run, which `adaptive` used.
    Calibration,
}

impl FittedModel {
    pub fn new(
        conditions: Conditions,
        drain: Option<Drain>,
        source: ModelSource,
        model: &CostModel,
    ) -> Self {
        const COUNTS: [usize; 6] = [2, 4, 8, 16, 64, 1000];
        let thousandths = |ns: f64| (ns * 1000.0).round() / 1000.0;
        // Bytes cost fractions of a nanosecond.
        let fine = |ns: f64| (ns * 1e6).round() / 1e6;
        let queue = QueuePolicy::from_model(model);
        FittedModel {
            conditions,
            drain,
            source,
            model: model.with(|costs| {
                costs.call_ns = thousandths(model.call_ns);
                costs.gather_call_ns = thousandths(model.gather_call_ns);
                costs.segment_ns = thousandths(model.segment_ns);
                costs.large_segment_ns = thousandths(model.large_segment_ns);
                costs.iovec_step_ns = thousandths(model.iovec_step_ns);
                costs.page_end_ns = thousandths(model.page_end_ns);
                costs.byte_ns = fine(model.byte_ns);
                costs.copy_segment_ns = thousandths(model.copy_segment_ns);
                costs.copy_byte_ns = fine(model.copy_byte_ns);
                costs.copy_byte_uncached_ns = fine(model.copy_byte_uncached_ns);
            }),
            copy_below_bytes: COUNTS
                .iter()
                .map(|&count| (count, model.copy_below_bytes(count)))
                .collect(),
            queue_copy_below_bytes: queue.copy_below_bytes,
            queue_join_below_bytes: queue.join_below_bytes,
            judged_cells: 0,
            regret_median: None,
            regret_p95: None,
        }
    }
}
