//! Findings that wait for what else happens to their file or stream.

use crate::advisor::findings::counts::Counts;
use crate::advisor::findings::judge::rests_on_order;
use crate::advisor::findings::row::Row;
use crate::advisor::hash::FastMap;

/// Findings that are counted only if nobody else turns out to use the same file or stream.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) counts: FastMap<u32, Counts>,
    /// How many of the calls that a use counts they are, and how many of these rest on the order of all.
    uses: FastMap<u32, (u64, u64)>,
}

impl Held {
    /// Takes over those of another.
    pub(crate) fn append(&mut self, other: Held) {
        for (place, counts) in other.counts {
            self.counts.entry(place).or_default().join(counts);
        }
        for (place, (calls, ordered)) in other.uses {
            let known = self.uses.entry(place).or_default();
            *known = (known.0 + calls, known.1 + ordered);
        }
    }

    /// A row of this use is held back.
    pub(crate) fn note_use(&mut self, place: u32, row: &Row) {
        let known = self.uses.entry(place).or_default();
        known.0 += row.transfers();
        if rests_on_order(row.kind) {
            known.1 += row.transfers();
        }
    }

    /// The uses that are held back: which, how many calls, and how many of these rest on the order of all.
    pub(crate) fn uses(&self) -> impl Iterator<Item = (u32, u64, u64)> + '_ {
        let of = |(&place, &(calls, ordered)): (&u32, &(u64, u64))| (place, calls, ordered);
        self.uses.iter().map(of)
    }
}
