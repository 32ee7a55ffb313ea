//! The measured thresholds of a queue.

/// The measured thresholds of a [`SegmentQueue`](crate::SegmentQueue), in bytes. A missing threshold is computed
/// from the costs by [`QueuePolicy::from_model`](crate::queue::QueuePolicy::from_model), which documents both
/// formulas.
///
/// A queue has other thresholds than a list. The segments and the buffer of a queue are seldom in the near
/// caches. The queue also decides before the number of segments of a call is known.
/// [`CostModel::calibrate`](crate::CostModel::calibrate) measures both thresholds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct QueueThresholds {
    /// The longest segment that is copied into the queue.
    pub copy_below_bytes: Option<u32>,
    /// The length of two messages together at which copying both into one call takes as long as two calls.
    pub join_below_bytes: Option<u32>,
}

impl QueueThresholds {
    pub(crate) const NONE: QueueThresholds = QueueThresholds {
        copy_below_bytes: None,
        join_below_bytes: None,
    };
}
