//! Numbers, models and sizes, read from the input of a fuzzer.

use vectored::CostModel;
use vectored::cost::ChunkPolicy;

use crate::queue::Choose;

/// The input, followed by zeros without end.
pub(super) struct Input<'a>(pub(super) std::slice::Iter<'a, u8>);

impl Choose for Input<'_> {
    fn below(&mut self, count: usize) -> usize {
        let number = match count {
            0..=256 => self.byte(),
            _ => self.byte() << 8 | self.byte(),
        };
        number % count
    }
}

impl Input<'_> {
    pub(super) fn byte(&mut self) -> usize {
        usize::from(*self.0.next().unwrap_or(&0))
    }

    pub(super) fn cost_model(&mut self) -> CostModel {
        CostModel::default().with(|costs| {
            costs.segment_ns = self.byte() as f64;
            costs.copy_segment_ns = self.byte() as f64 / 8.0;
            costs.copy_byte_ns = self.byte() as f64 / 64.0;
            costs.staging_bytes = self.byte() * 64;
            costs.chunk_policy = match self.byte() {
                0..=127 => None,
                some => Some(ChunkPolicy {
                    threshold_bytes: (some - 128) * 64,
                    chunk_bytes: self.byte() * 16,
                }),
            };
        })
    }

    /// Sizes of segments, some of them zero.
    pub(super) fn sizes(&mut self) -> Vec<usize> {
        // If the high bit of the count is set, the list is longer than IOV_MAX.
        let count = self.byte();
        let mut sizes: Vec<usize> = (0..count & 0x7f)
            .map(|_| match self.byte() {
                small @ 0..=199 => small,
                large => (large - 199) * 100,
            })
            .collect();
        if count & 0x80 != 0 {
            let period = sizes.clone();
            let long = period.iter().map(|&size| size % 8).cycle();
            sizes.extend(long.take(2100));
        }
        sizes
    }
}
