//! Runs of one pattern through one open file description.

use crate::advisor::findings::tally::{add_ends, join};
use crate::advisor::runs::barriers::Barrier;
use crate::advisor::runs::pattern::Pattern;
use crate::advisor::runs::run::add_counts;
use crate::advisor::wording::remedy_kind::{Verdict, kinds_of, verdict};
use crate::model::{FindingKind, Grade, Tally};

#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) kind: FindingKind,
    pub(crate) grade: Grade,
    pub(crate) reason: Option<Barrier>,
    pub(crate) is_read: bool,
    pub(crate) is_positional: bool,
    pub(crate) pattern: Pattern,
    /// Call sites, ascending: number, calls, bytes.
    pub(crate) sites: Vec<(u32, u64, u64)>,
    pub(crate) tally: Tally,
}

impl Row {
    /// Whether merging the calls is sound only if no other thread or process uses the same file or stream.
    /// Copying the tiny segments of a list changes no call.
    pub(crate) fn depends_on_others(&self) -> bool {
        self.reason.is_none() && self.kind != FindingKind::TinySegments
    }

    /// Notes the barriers between any two transfers of the same open file description and direction: a buffer would hold bytes
    /// across each of these barriers. If one of them allows no remedy, the row is listed, not counted.
    pub(crate) fn end(&mut self, ends: &[(Barrier, u64)]) {
        if self.reason.is_some() || self.grade == Grade::ReadsAhead {
            return;
        }
        self.reason = outlived(self.kind, ends, &mut self.tally.ends);
        if self.reason.is_some() {
            self.grade = Grade::Crossing;
        }
    }

    pub(crate) fn transfers(&self) -> u64 {
        match self.kind {
            FindingKind::SeekThenTransfer => self.tally.merged_calls,
            _ => self.tally.calls,
        }
    }

    pub(crate) fn is_like(&self, other: &Row) -> bool {
        (self.kind, self.grade, self.reason, self.is_read)
            == (other.kind, other.grade, other.reason, other.is_read)
    }

    /// The alignment of `part`'s pattern in the pattern of this row, if both rows come from one loop.
    pub(crate) fn place_of(&self, part: &Row) -> Option<Alignment> {
        let has = |site: &(u32, u64, u64)| self.sites.iter().any(|known| known.0 == site.0);
        let is_alike = self.is_like(part)
            && self.tally.descriptor == part.tally.descriptor
            && part.sites.iter().all(has);
        if !is_alike || !part.pattern.calls_are_of(&self.pattern) {
            return None;
        }
        let (own, other) = (self.pattern.steps().len(), part.pattern.steps().len());
        if own == 0 || other == 0 {
            return None;
        }
        if self.pattern.is_of_any_size() {
            return Some(Alignment::Anywhere);
        }
        if part.pattern.is_of_any_size() {
            let (least, most) = overall(&self.tally);
            let (low, high) = overall(&part.tally);
            let fits = low.saturating_mul(2) >= least && high <= most.saturating_mul(2);
            return fits.then_some(Alignment::Anywhere);
        }
        let gap = |of_part: usize, of_own: usize| {
            let ranges = (
                part.tally.step_bytes.get(of_part),
                self.tally.step_bytes.get(of_own),
            );
            let (Some(one), Some(two)) = ranges else {
                return 0;
            };
            one.0.saturating_sub(two.1).max(two.0.saturating_sub(one.1))
        };
        let is_period = other >= own && other.is_multiple_of(own);
        let is_cut_short = other < own && part.tally.calls <= part.tally.runs * own as u64;
        if is_period || is_cut_short {
            part.pattern
                .place_in(&self.pattern, gap)
                .map(Alignment::From)
        } else {
            None
        }
    }

    pub(crate) fn take_in(&mut self, mut part: Row, place: Alignment) {
        add_counts(&mut self.sites, &part.sites);
        let ranges = std::mem::take(&mut part.tally.step_bytes);
        let starts = std::mem::take(&mut part.tally.starts);
        let own = &mut self.tally.step_bytes;
        match place {
            Alignment::From(from) => {
                let count = own.len().max(1);
                for (step, (least, most)) in ranges.into_iter().enumerate() {
                    if let Some(range) = own.get_mut((from + step) % count) {
                        *range = (range.0.min(least), range.1.max(most));
                    }
                }
                for (step, runs) in starts.into_iter().enumerate() {
                    if let Some(start) = self.tally.starts.get_mut((from + step) % count) {
                        *start += runs;
                    }
                }
            }
            Alignment::Anywhere => {
                let moves = |range: &&mut (u64, u64)| range.1 > 0;
                let low = ranges
                    .iter()
                    .filter(|range| range.1 > 0)
                    .map(|range| range.0);
                let high = ranges.iter().map(|range| range.1).max();
                if let (Some(low), Some(least)) = (
                    low.min(),
                    own.iter_mut().filter(moves).min_by_key(|range| range.0),
                ) {
                    least.0 = least.0.min(low);
                }
                if let (Some(high), Some(most)) = (
                    high,
                    own.iter_mut().filter(moves).max_by_key(|range| range.1),
                ) {
                    most.1 = most.1.max(high);
                }
            }
        }
        join(&mut self.tally, &part.tally);
    }
}

/// Adds to `calls` the calls before which a buffer for a finding must be empty. Returns the first barrier that allows no remedy.
pub(crate) fn outlived(
    kind: FindingKind,
    ends: &[(Barrier, u64)],
    calls: &mut Vec<(String, u64)>,
) -> Option<Barrier> {
    // The remedy of writes is taken to be a buffer, the first kind: only some writes are records.
    let kinds = kinds_of(kind, false);
    let kinds = if kind == FindingKind::AdjacentWrites { &kinds[..1] } else { kinds };
    for &(end, times) in ends {
        let mut verdicts = kinds.iter().map(|&kind| verdict(end, kind));
        match verdicts.find(|&verdict| verdict != Verdict::Not) {
            Some(Verdict::Before(call)) => add_ends(calls, call, times),
            Some(_) => {}
            None => return Some(end),
        }
    }
    None
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Alignment {
    /// The first step of one row is this step of the other, and the next steps follow cyclically.
    From(usize),
    Anywhere,
}

fn overall(tally: &Tally) -> (u64, u64) {
    let moving = tally.step_bytes.iter().filter(|range| range.1 > 0);
    moving.fold((u64::MAX, 0), |(least, most), range| {
        (least.min(range.0), most.max(range.1))
    })
}
