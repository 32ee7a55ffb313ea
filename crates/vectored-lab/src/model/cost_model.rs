//! What a call, a segment and a byte cost, as a run found it.

use serde::{Deserialize, Serialize};
use vectored::{ChunkPolicy, CopyThresholds, CostModel};

use crate::model::conditions::Conditions;

/// A cost model of one kind of target, and how good its advice is.
///
/// The numbers mean what those of [`vectored::CostModel`] mean, which a program
/// can be given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedModel {
    /// What it holds for.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// What it was found from.
    pub source: ModelSource,
    /// A system call that moves nothing.
    pub call_ns: f64,
    /// What a call with a list costs more than one without.
    pub gather_call_ns: f64,
    /// A segment of less than 256 bytes, referenced.
    pub segment_ns: f64,
    /// A segment of 256 bytes or more, referenced.
    pub large_segment_ns: f64,
    /// More than 8 segments in a list.
    pub iovec_step_ns: f64,
    /// What a segment costs less that ends where a page of the target does.
    #[serde(default)]
    pub page_end_ns: f64,
    /// A byte moved.
    pub byte_ns: f64,
    /// A segment, copied.
    pub copy_segment_ns: f64,
    /// A byte copied within the caches.
    pub copy_byte_ns: f64,
    /// A byte copied beyond them.
    pub copy_byte_uncached_ns: f64,
    /// The staging size past which copying is beyond the caches.
    pub staging_bytes: usize,
    /// By the model: `[segment count, bytes]`, the longest segment that is worth
    /// copying in a list of so many.
    pub copy_below_bytes: Vec<(usize, usize)>,
    /// Those borders that a calibration measured, in the same form. Without
    /// any, all follow from the numbers above.
    #[serde(default, rename = "borders", skip_serializing_if = "is_default")]
    pub copy_thresholds: CopyThresholds,
    /// When a list goes in several calls although one would take it: neither fitted nor measured.
    #[serde(default, rename = "pieces", skip_serializing_if = "Option::is_none")]
    pub chunk_policy: Option<ChunkPolicy>,
    /// Cells that its choice was judged in.
    pub judged_cells: usize,
    /// What choosing by the model costs against the best technique of a cell:
    /// its time ÷ the best − 1, median over cells. For a model that was fitted
    /// to cells each is judged by a fit to the others.
    pub regret_median: Option<f64>,
    /// The same, 95th percentile.
    pub regret_p95: Option<f64>,
}

/// What a cost model was found from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelSource {
    /// The cells of the run.
    Cells,
    /// A calibration of some 40 ms before the run, on a file 60: what `adaptive` worked with.
    Calibration,
}

impl FittedModel {
    /// `model` under these conditions, not judged yet.
    pub fn new(conditions: Conditions, source: ModelSource, model: &CostModel) -> Self {
        const COUNTS: [usize; 6] = [2, 4, 8, 16, 64, 1000];
        let thousandths = |ns: f64| (ns * 1000.0).round() / 1000.0;
        // Bytes cost fractions of a nanosecond.
        let fine = |ns: f64| (ns * 1e6).round() / 1e6;
        FittedModel {
            conditions,
            source,
            call_ns: thousandths(model.call_ns),
            gather_call_ns: thousandths(model.gather_call_ns),
            segment_ns: thousandths(model.segment_ns),
            large_segment_ns: thousandths(model.large_segment_ns),
            iovec_step_ns: thousandths(model.iovec_step_ns),
            page_end_ns: thousandths(model.page_end_ns),
            byte_ns: fine(model.byte_ns),
            copy_segment_ns: thousandths(model.copy_segment_ns),
            copy_byte_ns: fine(model.copy_byte_ns),
            copy_byte_uncached_ns: fine(model.copy_byte_uncached_ns),
            staging_bytes: model.staging_bytes,
            copy_below_bytes: COUNTS
                .iter()
                .map(|&count| (count, model.copy_below_bytes(count)))
                .collect(),
            copy_thresholds: model.copy_thresholds,
            chunk_policy: model.chunk_policy,
            judged_cells: 0,
            regret_median: None,
            regret_p95: None,
        }
    }

    /// The model for a program to work with.
    pub fn model(&self) -> CostModel {
        CostModel {
            call_ns: self.call_ns,
            gather_call_ns: self.gather_call_ns,
            segment_ns: self.segment_ns,
            large_segment_ns: self.large_segment_ns,
            iovec_step_ns: self.iovec_step_ns,
            page_end_ns: self.page_end_ns,
            byte_ns: self.byte_ns,
            copy_segment_ns: self.copy_segment_ns,
            copy_byte_ns: self.copy_byte_ns,
            copy_byte_uncached_ns: self.copy_byte_uncached_ns,
            staging_bytes: self.staging_bytes,
            copy_thresholds: self.copy_thresholds,
            chunk_policy: self.chunk_policy,
        }
    }
}

fn is_default(borders: &CopyThresholds) -> bool {
    *borders == CopyThresholds::default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::drain::Drain;
    use crate::model::target::Target;
    use crate::model::workload::Operation;

    fn conditions() -> Conditions {
        Conditions {
            target: Target::Pipe,
            path: None,
            operation: Operation::Write,
            layout: Default::default(),
            cache: Default::default(),
            page_cache: None,
            iovec_setup: Default::default(),
            sync: crate::model::sync::SyncMode::None,
            drain: Some(Drain::BetweenSamples),
        }
    }

    fn calibrated() -> CostModel {
        let mut borders = CopyThresholds::default();
        borders.set(2, Some(1234)).unwrap();
        borders.set(64, Some(0)).unwrap();
        CostModel {
            copy_thresholds: borders,
            ..CostModel::default()
        }
    }

    #[test]
    fn the_borders_of_a_calibration_come_back_from_its_results() {
        let model = calibrated();
        let fitted = FittedModel::new(conditions(), ModelSource::Calibration, &model);
        let text = serde_json::to_string(&fitted).unwrap();
        assert!(text.contains(r#""borders":[[2,1234],[64,0]]"#), "{text}");
        assert!(text.contains(r#""copy_below_bytes":[[2,1234],"#), "{text}");
        let read: FittedModel = serde_json::from_str(&text).unwrap();
        assert_eq!(read, fitted);
        assert_eq!(read.model(), model);
        // As `docs/results.md` tells a program to load it.
        assert!(text.contains(r#""source":"calibration""#), "{text}");
        assert_eq!(serde_json::from_str::<CostModel>(&text).unwrap(), model);
    }

    #[test]
    fn results_without_borders_are_read_and_written_as_before() {
        let model = CostModel::default();
        let fitted = FittedModel::new(conditions(), ModelSource::Cells, &model);
        let text = serde_json::to_string(&fitted).unwrap();
        assert!(!text.contains("borders"), "{text}");
        let read: FittedModel = serde_json::from_str(&text).unwrap();
        assert_eq!(read.model(), model);
    }
}
