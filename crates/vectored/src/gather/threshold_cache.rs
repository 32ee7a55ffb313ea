//! A cache of the thresholds that a cost model computes, by the number of segments of a list.

use crate::sys::copy::MAX_FEW_SEGMENTS;

/// The thresholds for lists of up to [`MAX_FEW_SEGMENTS`] segments, and for the last longer list. Computing a
/// threshold takes as long as copying ten segments.
pub(crate) struct ThresholdCache {
    /// [`UNKNOWN`] until the model has computed the threshold. The first two thresholds are 0, because lists of
    /// fewer than two segments are not copied.
    few: [usize; MAX_FEW_SEGMENTS + 1],
    last: (usize, usize),
}

const UNKNOWN: usize = usize::MAX;

impl ThresholdCache {
    pub(crate) const fn new() -> ThresholdCache {
        let mut few = [UNKNOWN; MAX_FEW_SEGMENTS + 1];
        few[0] = 0;
        few[1] = 0;
        ThresholdCache {
            few,
            last: (0, UNKNOWN),
        }
    }

    #[inline(always)]
    pub(crate) fn get(&self, segment_count: usize) -> Option<usize> {
        let cached = match self.few.get(segment_count) {
            Some(&threshold) => threshold,
            None if segment_count == self.last.0 => self.last.1,
            None => UNKNOWN,
        };
        (cached != UNKNOWN).then_some(cached)
    }

    pub(crate) fn ask(&mut self, segment_count: usize, model: impl Fn(usize) -> usize) -> usize {
        // A threshold of `usize::MAX` would count as unknown, and would be computed for each list.
        let model = |segment_count| model(segment_count).min(UNKNOWN - 1);
        if segment_count > MAX_FEW_SEGMENTS {
            self.last = (segment_count, model(segment_count));
            return self.last.1;
        }
        for count in 2..=MAX_FEW_SEGMENTS {
            self.few[count] = model(count);
        }
        self.few[segment_count]
    }
}
