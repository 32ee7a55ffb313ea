//! The shape that lists have in common if they differ in one size only.

use crate::model::crossover::Crossover;
use crate::model::results::Cell;
use crate::model::swept_mix::SweptMix;

/// Lists of equally many segments that differ in one size only: the size of all segments, or, in a swept mix,
/// the size of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListShape<'a> {
    /// Segments in each list.
    pub segment_count: usize,
    /// The mix, if sizes are mixed.
    pub swept_mix: Option<&'a SweptMix>,
}

impl Cell {
    /// The shape of its list. The list of a fixed mix has the shape of equally many equal segments, but no
    /// [size](Cell::swept_bytes).
    pub fn shape(&self) -> ListShape<'_> {
        ListShape {
            segment_count: self.segment_count,
            swept_mix: self.swept_mix.as_ref(),
        }
    }

    /// The size in which it differs from lists of the same shape: the size of all segments, or of the swept run
    /// of a mix. `None` for a fixed mix.
    pub fn swept_bytes(&self) -> Option<usize> {
        match &self.swept_mix {
            Some(mix) => mix.bytes_of(self.segment_sizes.as_deref()?),
            None => self.segment_bytes,
        }
    }
}

impl Crossover {
    /// The shape of the lists.
    pub fn shape(&self) -> ListShape<'_> {
        ListShape {
            segment_count: self.segment_count,
            swept_mix: self.swept_mix.as_ref(),
        }
    }
}
