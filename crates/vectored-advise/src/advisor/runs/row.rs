//! The row of a run: the kind of finding, whether the row is counted, and its counts. Rows of one pattern are joined.

use crate::advisor::fd_kind::FdKind;
use crate::advisor::runs::barriers::Barrier;
use crate::advisor::runs::pattern::{FSYNC, LSEEK, Pattern, PatternStep};
use crate::advisor::runs::remedy_kind::{kinds_of, verdict};
use crate::advisor::runs::run::{Link, Mode, Run, add_counts};
use crate::advisor::runs::tally::{add_ends, add_in_turn, join};
use crate::model::{FindingKind, Grade, Tally};

#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) kind: FindingKind,
    pub(crate) grade: Grade,
    pub(crate) reason: Option<Barrier>,
    pub(crate) is_positional: bool,
    pub(crate) pattern: Pattern,
    /// Call sites, ascending: the number of the site, the calls, the bytes.
    pub(crate) sites: Vec<(u32, u64, u64)>,
    pub(crate) tally: Tally,
}

impl Row {
    /// Whether merging the calls is sound only if no other thread or process uses the same file or stream. Copying the
    /// tiny segments of a list changes no call.
    pub(crate) fn depends_on_others(&self) -> bool {
        self.reason.is_none() && self.kind != FindingKind::TinySegments
    }

    /// Notes the barriers between transfers of the same open file description and direction: a buffer would hold bytes
    /// across each barrier. If one barrier allows no remedy, the row is listed, not counted.
    pub(crate) fn end(&mut self, ends: &[(Barrier, u64)]) {
        if self.reason.is_some() || self.grade == Grade::ReadsAhead {
            return;
        }
        self.reason = outlived(self.kind, ends, &mut self.tally.ends);
        if self.reason.is_some() {
            self.grade = Grade::Crossing;
        }
    }

    pub(crate) fn is_like(&self, other: &Row) -> bool {
        (self.kind, self.grade, self.reason) == (other.kind, other.grade, other.reason)
    }

    /// The alignment of `part`'s pattern in the pattern of this row; `None` unless both rows come from one loop.
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
                let moving = ranges.iter().filter(|range| range.1 > 0);
                let low = moving.map(|range| range.0).min();
                let high = ranges.iter().map(|range| range.1).max();
                let mut least = own.iter_mut().filter(moves).min_by_key(|range| range.0);
                if let (Some(low), Some(least)) = (low, &mut least) {
                    least.0 = least.0.min(low);
                }
                let mut most = own.iter_mut().filter(moves).max_by_key(|range| range.1);
                if let (Some(high), Some(most)) = (high, &mut most) {
                    most.1 = most.1.max(high);
                }
            }
        }
        join(&mut self.tally, &part.tally);
    }
}

/// The row of one run; `None` if merging would save no call.
pub(crate) fn classify(mut run: Run, link: Link, mode: Mode) -> Option<Row> {
    let merged_calls = run.finish();
    let is_datagram = mode.kind == FdKind::Datagram;
    let is_merged = merged_calls < run.calls;
    let own_grade = if run.has_between { Grade::HarmlessBetween } else { Grade::Adjacent };
    let grade = if mode.is_read && mode.kind.has_peer() { Grade::ReadsAhead } else { own_grade };
    let usual = match (mode.is_read, mode.is_positional) {
        (false, false) => FindingKind::AdjacentWrites,
        (false, true) => FindingKind::PositionalWrites,
        (true, false) => FindingKind::SmallReads,
        (true, true) => FindingKind::PositionalReads,
    };
    let (kind, grade, reason) = match link {
        _ if is_datagram && !is_merged => return None,
        _ if is_datagram => {
            let reason = match link {
                Link::Barrier(reason) => reason,
                _ => Barrier::Datagrams,
            };
            (FindingKind::Datagrams, Grade::Crossing, Some(reason))
        }
        Link::Sought => (FindingKind::SeekThenTransfer, grade, None),
        Link::Barrier(reason) if is_merged => {
            let is_synced = reason == Barrier::SyncOwn && !mode.is_read;
            let kind = if is_synced { FindingKind::SyncEach } else { usual };
            (kind, Grade::Crossing, Some(reason))
        }
        Link::Joined if is_merged => (usual, grade, None),
        Link::Joined if run.is_all_tiny_lists() => (FindingKind::TinySegments, own_grade, None),
        _ => return None,
    };
    let (own, start) = run.pattern().canonical();
    let step = |call| PatternStep {
        call,
        size_class: 0,
    };
    let pattern = match kind {
        FindingKind::SeekThenTransfer => own.with(step(LSEEK), true),
        FindingKind::SyncEach => own.with(step(FSYNC), false),
        _ => own,
    };
    let steps = pattern.steps().len();
    let start = start * steps / own.steps().len().max(1);
    let (calls, merged_calls, moved) = match kind {
        FindingKind::SeekThenTransfer => (run.calls + run.seeks, run.calls, Tally::default()),
        FindingKind::TinySegments => (run.calls, merged_calls, std::mem::take(&mut run.alone)),
        _ => (run.calls, merged_calls, std::mem::take(&mut run.gathered)),
    };
    let mut tally = Tally {
        runs: 1,
        calls,
        bytes: run.bytes,
        merged_calls,
        late_ns: run.late_ns,
        descriptor: run.descriptor,
        step_bytes: run.ranges(&pattern, start),
        starts: if steps > 1 { vec![0; steps] } else { Vec::new() },
        #[cfg(test)]
        members: vec![run.members],
        ..moved
    };
    if let Some(runs) = tally.starts.get_mut(start) {
        *runs = 1;
    }
    for path in &run.order_between {
        add_in_turn(&mut tally.order_between, &String::from_utf8_lossy(path));
    }
    Some(Row {
        kind,
        grade,
        reason,
        is_positional: mode.is_positional,
        pattern,
        sites: run.sites,
        tally,
    })
}

pub(crate) fn rests_on_order(kind: FindingKind) -> bool {
    !matches!(
        kind,
        FindingKind::SeekThenTransfer | FindingKind::TinySegments
    )
}

/// Adds to `calls` the calls before which a buffer for a finding must be empty. Returns the first barrier that allows
/// no remedy.
pub(crate) fn outlived(
    kind: FindingKind,
    ends: &[(Barrier, u64)],
    calls: &mut Vec<(String, u64)>,
) -> Option<Barrier> {
    // For writes, only the first kind of remedy counts: a buffer. Only some writes are records.
    let kinds = kinds_of(kind, false);
    let kinds = if kind == FindingKind::AdjacentWrites { &kinds[..1] } else { kinds };
    for &(end, times) in ends {
        match kinds.iter().find_map(|&kind| verdict(end, kind)) {
            Some(Some(call)) => add_ends(calls, call, times),
            Some(None) => {}
            None => return Some(end),
        }
    }
    None
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Alignment {
    /// The first step of one row is this step of the other row. The next steps follow cyclically.
    From(usize),
    Anywhere,
}

fn overall(tally: &Tally) -> (u64, u64) {
    let moving = tally.step_bytes.iter().filter(|range| range.1 > 0);
    moving.fold((u64::MAX, 0), |(least, most), range| {
        (least.min(range.0), most.max(range.1))
    })
}
