//! The lengths that decide which slices a [`GatherWriter`](crate::GatherWriter) stages.

use crate::cost::CostModel;

/// The lengths up to which slices are staged; longer ones are sent from the caller's memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct SliceThresholds {
    /// A slice of up to this length that does not fit the free part of the buffer is staged after the staged
    /// bytes are written: referencing it in a list would cost more than copying it.
    pub(super) small_bytes: usize,
    /// A slice of this length or more is sent even if it would fit: copying it would cost more than a call.
    pub(super) large_bytes: usize,
}

impl SliceThresholds {
    /// For an inner writer that does not gather: every slice that fits the buffer is staged.
    pub(super) const COPYING: SliceThresholds = SliceThresholds {
        small_bytes: usize::MAX,
        large_bytes: usize::MAX,
    };

    /// For an inner writer that gathers, without a model from the caller: every slice that fits the free part
    /// is staged, since the capacity says how much the caller wants in one call.
    ///
    /// A constant, because a program may make a writer for a single line.
    pub(super) const GATHERING: SliceThresholds = SliceThresholds {
        // `copy_below_bytes(2)` of the default model, as a test checks.
        small_bytes: 2700,
        large_bytes: usize::MAX,
    };

    /// Stages nothing.
    pub(super) const STAGE_NOTHING: SliceThresholds = SliceThresholds {
        small_bytes: 0,
        large_bytes: 0,
    };

    /// For an inner writer that gathers, by the costs of `model`.
    pub(super) fn from_model(model: &CostModel) -> SliceThresholds {
        let small_bytes = model.copy_below_bytes(2);
        let own_call_ns = model.call_ns + model.gather_call_ns + 2.0 * model.large_segment_ns;
        // `as` rounds down, and turns a negative number or NaN into 0.
        let large_bytes = (own_call_ns / model.copy_byte_ns) as usize;
        SliceThresholds {
            small_bytes,
            large_bytes: large_bytes.max(small_bytes.saturating_add(1)),
        }
    }
}
