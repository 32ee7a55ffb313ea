//! Findings that are held back until the rest of the log decides whether they are counted.

use crate::advisor::findings::counts::Counts;
use rustc_hash::FxHashMap;

/// Findings that are counted only if no other thread or process uses the same file or stream, by the place of the pattern in
/// `PatternCounts`.
#[derive(Debug, Default)]
pub(crate) struct HeldFindings(pub(crate) FxHashMap<u32, Counts>);

impl HeldFindings {
    pub(crate) fn append(&mut self, other: HeldFindings) {
        for (place, counts) in other.0 {
            self.0.entry(place).or_default().join(counts);
        }
    }
}
