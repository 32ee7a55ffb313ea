//! Findings that are held back until the rest of the log decides whether they are counted.

use crate::advisor::findings::classify::rests_on_order;
use crate::advisor::findings::counts::Counts;
use crate::advisor::findings::row::Row;
use rustc_hash::FxHashMap;

/// Findings that are counted only if no other thread or process uses the same file or stream.
#[derive(Debug, Default)]
pub(crate) struct HeldFindings {
    /// By the place of the pattern in `PatternCounts`.
    pub(crate) counts: FxHashMap<u32, Counts>,
    /// By use: calls in these findings, and how many of the calls rest on the order of all calls.
    uses: FxHashMap<u32, (u64, u64)>,
}

impl HeldFindings {
    pub(crate) fn append(&mut self, other: HeldFindings) {
        for (place, counts) in other.counts {
            self.counts.entry(place).or_default().join(counts);
        }
        for (place, (calls, ordered)) in other.uses {
            let known = self.uses.entry(place).or_default();
            *known = (known.0 + calls, known.1 + ordered);
        }
    }

    /// Notes that a row of a use is held back.
    pub(crate) fn note_use(&mut self, place: u32, row: &Row) {
        let known = self.uses.entry(place).or_default();
        known.0 += row.transfers();
        if rests_on_order(row.kind) {
            known.1 += row.transfers();
        }
    }

    /// The uses with held rows: key, calls, and calls that rest on the order of all calls.
    pub(crate) fn uses(&self) -> impl Iterator<Item = (u32, u64, u64)> + '_ {
        let of = |(&place, &(calls, ordered)): (&u32, &(u64, u64))| (place, calls, ordered);
        self.uses.iter().map(of)
    }
}
