//! The runs of one opening by one process, until it is known what all of its calls are.

use crate::advisor::findings::tally::{Found, Way, judge};
use crate::advisor::runs::barriers::Reason;
use crate::advisor::runs::pattern::Pattern;
use crate::advisor::runs::run::Run;
use crate::advisor::runs::run_builder::Outcome;
use crate::model::{FindingKind, Grade, Tally};
use vectored_strace::event::{Form, Transfer};

/// Patterns of an opening that are told apart; those that come later are one.
const PATTERNS_MAX: usize = 64;

/// What was found in the calls of an opening, and how many there were.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    rows: Vec<Row>,
    calls: Use,
}

/// All calls of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Use {
    /// How many.
    pub(crate) calls: u64,
    /// Bytes that they moved.
    pub(crate) bytes: u64,
    /// Calls that failed or moved nothing.
    pub(crate) empty: u64,
    /// Calls that moved less than they were asked to.
    pub(crate) short: u64,
    /// Calls as large as the buffer.
    pub(crate) large: u64,
    /// Calls that cannot be merged: with flags or an address, or without a buffer of the program.
    pub(crate) special: u64,
}

impl Use {
    /// Counts a call.
    #[inline(always)]
    pub(crate) fn note(&mut self, transfer: &Transfer<'_>, buffer_bytes: u64) {
        self.calls += 1;
        let bytes = transfer.result.unwrap_or(0);
        self.bytes = self.bytes.saturating_add(bytes);
        let asked = transfer.asked_bytes.unwrap_or(bytes);
        let is_special = transfer.special || transfer.addressed || transfer.form == Form::Opaque;
        if bytes == 0 {
            self.empty += 1;
        } else if is_special {
            self.special += 1;
        } else if asked >= buffer_bytes {
            self.large += 1;
        } else if asked > bytes {
            self.short += 1;
        }
    }
}

/// Runs of one pattern.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) kind: FindingKind,
    pub(crate) grade: Grade,
    pub(crate) reason: Option<Reason>,
    pub(crate) is_read: bool,
    pub(crate) is_positional: bool,
    pub(crate) descriptor: i32,
    pub(crate) pattern: Pattern,
    /// Call sites by number, ascending: calls and bytes.
    pub(crate) sites: Vec<(u32, u64, u64)>,
    pub(crate) tally: Tally,
}

impl Pending {
    /// Counts a run that is over.
    pub(crate) fn add(&mut self, run: &mut Run, outcome: Outcome, way: Way, mixes: bool) {
        let merged_calls = run.finish();
        let run = &*run;
        let Some(found) = judge(run, merged_calls, outcome, way, mixes) else {
            return;
        };
        let row = self.row(&found, run, way);
        let tally = &mut row.tally;
        tally.runs += 1;
        tally.calls += found.calls;
        tally.bytes += run.bytes;
        tally.merged_calls += found.merged_calls;
        if let Some(moved) = found.moved {
            tally.gathered_calls += run.gathered_calls;
            tally.segments += moved.segments;
            tally.list_calls += moved.list_calls;
            tally.long_list_calls += moved.long_list_calls;
            add_sizes(&mut tally.sizes, &moved.sizes.0);
            add_sizes(&mut tally.list_sizes, &moved.list_sizes.0);
        }
        let steps = row.pattern.steps();
        let ranges = run.ranges(&row.pattern, found.start);
        join_ranges(&mut tally.step_bytes, ranges.into_iter());
        if !run.order_between.is_empty() {
            let other = String::from_utf8_lossy(&run.order_between);
            let known = tally.order_between.as_deref();
            if known.is_none_or(|known| *other < *known) {
                tally.order_between = Some(other.into_owned());
            }
        }
        if steps.len() > 1 {
            tally.starts.resize(steps.len(), 0);
            if let Some(start) = tally.starts.get_mut(found.start) {
                *start += 1;
            }
        }
        add_sites(&mut row.sites, &run.sites);
    }

    fn row(&mut self, found: &Found<'_>, run: &Run, way: Way) -> &mut Row {
        let same_sites = |row: &Row| {
            row.sites.len() == run.sites.len()
                && run.sites.iter().all(|site| has_site(&row.sites, site.0))
        };
        let is_it = |row: &Row, pattern: &Pattern| {
            row.kind == found.kind
                && row.grade == found.grade
                && row.reason == found.reason
                && row.is_read == way.is_read
                && row.is_positional == way.is_positional
                && (row.descriptor == run.descriptor || *pattern == Pattern::ANY)
                && row.pattern == *pattern
        };
        let known = self
            .rows
            .iter()
            .position(|row| is_it(row, &found.pattern) && same_sites(row));
        let is_full = self.rows.len() >= PATTERNS_MAX;
        let pattern = if is_full { Pattern::ANY } else { found.pattern };
        let known = match known {
            None if is_full => self.rows.iter().position(|row| is_it(row, &pattern)),
            known => known,
        };
        let place = known.unwrap_or_else(|| {
            self.rows.push(Row {
                kind: found.kind,
                grade: found.grade,
                reason: found.reason,
                is_read: way.is_read,
                is_positional: way.is_positional,
                descriptor: run.descriptor,
                pattern,
                sites: Vec::new(),
                tally: Tally::default(),
            });
            self.rows.len() - 1
        });
        &mut self.rows[place]
    }

    /// Counts a call.
    #[inline(always)]
    pub(crate) fn note(&mut self, transfer: &Transfer<'_>, buffer_bytes: u64) {
        self.calls.note(transfer, buffer_bytes);
    }

    /// Takes what there is: rows of one loop as one row, the most calls first.
    ///
    /// A loop is seen as several patterns where its runs begin at different steps and are cut short, or
    /// where the length of a record passes a power of two.
    pub(crate) fn take(&mut self) -> Option<(Vec<Row>, Use)> {
        if self.calls.calls == 0 && self.rows.is_empty() {
            return None;
        }
        let mut rows = std::mem::take(&mut self.rows);
        rows.sort_by_key(|row| std::cmp::Reverse(row.tally.calls));
        let mut taken: Vec<Row> = Vec::with_capacity(rows.len());
        for row in rows {
            let whole = taken
                .iter_mut()
                .find_map(|whole| whole.place_of(&row).map(|place| (whole, place)));
            match whole {
                Some((whole, place)) => whole.take_in(row, place),
                None => taken.push(row),
            }
        }
        Some((taken, std::mem::take(&mut self.calls)))
    }
}

/// Where the steps of a row are in those of another.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// From a step on, around.
    From(usize),
    /// Any of them.
    Anywhere,
}

impl Row {
    /// Whether it is sound only if nobody else uses the same file or stream. To copy the tiny segments of
    /// a list changes no call.
    pub(crate) fn depends_on_others(&self) -> bool {
        self.reason.is_none() && self.kind != FindingKind::TinySegments
    }

    /// The calls that move bytes.
    pub(crate) fn transfers(&self) -> u64 {
        match self.kind {
            FindingKind::SeekThenTransfer => self.tally.merged_calls,
            _ => self.tally.calls,
        }
    }

    /// Where in this row's pattern another row's is, if both are of one loop.
    fn place_of(&self, part: &Row) -> Option<Place> {
        let is_alike = self.kind == part.kind
            && self.grade == part.grade
            && self.reason == part.reason
            && self.is_read == part.is_read
            && self.descriptor == part.descriptor
            && part.sites.iter().all(|site| has_site(&self.sites, site.0));
        if !is_alike || !part.pattern.calls_are_of(&self.pattern) {
            return None;
        }
        let (own, other) = (self.pattern.steps().len(), part.pattern.steps().len());
        if own == 0 || other == 0 {
            return None;
        }
        if self.pattern.is_of_any_size() {
            return Some(Place::Anywhere);
        }
        if part.pattern.is_of_any_size() {
            let (least, most) = overall(&self.tally);
            let (low, high) = overall(&part.tally);
            let fits = low.saturating_mul(2) >= least && high <= most.saturating_mul(2);
            return fits.then_some(Place::Anywhere);
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
        match is_period || is_cut_short {
            true => part.pattern.place_in(&self.pattern, gap).map(Place::From),
            false => None,
        }
    }

    fn take_in(&mut self, mut part: Row, place: Place) {
        add_sites(&mut self.sites, &part.sites);
        let ranges = std::mem::take(&mut part.tally.step_bytes);
        let starts = std::mem::take(&mut part.tally.starts);
        let own = &mut self.tally.step_bytes;
        match place {
            Place::From(from) => {
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
            Place::Anywhere => {
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
        crate::advisor::findings::tally::join(&mut self.tally, &part.tally);
    }
}

/// The least and the greatest bytes of all steps that move some.
fn overall(tally: &Tally) -> (u64, u64) {
    let moving = tally.step_bytes.iter().filter(|range| range.1 > 0);
    moving.fold((u64::MAX, 0), |(least, most), range| {
        (least.min(range.0), most.max(range.1))
    })
}

fn has_site(sites: &[(u32, u64, u64)], site: u32) -> bool {
    sites.binary_search_by_key(&site, |known| known.0).is_ok()
}

fn add_sites(known: &mut Vec<(u32, u64, u64)>, new: &[(u32, u64, u64)]) {
    for &(site, calls, bytes) in new {
        match known.binary_search_by_key(&site, |known| known.0) {
            Ok(place) => {
                known[place].1 += calls;
                known[place].2 += bytes;
            }
            Err(place) => known.insert(place, (site, calls, bytes)),
        }
    }
}

/// Adds sizes to those of the same class.
pub(crate) fn add_sizes(known: &mut Vec<(u8, u64, u64)>, new: &[(u8, u64, u64)]) {
    for &(class, segments, bytes) in new {
        match known.binary_search_by_key(&class, |size| size.0) {
            Ok(place) => {
                known[place].1 = known[place].1.saturating_add(segments);
                known[place].2 = known[place].2.saturating_add(bytes);
            }
            Err(place) => known.insert(place, (class, segments, bytes)),
        }
    }
}

/// Widens ranges, step by step.
pub(crate) fn join_ranges(known: &mut Vec<(u64, u64)>, new: impl Iterator<Item = (u64, u64)>) {
    for (place, (least, most)) in new.enumerate() {
        match known.get_mut(place) {
            Some(range) => *range = (range.0.min(least), range.1.max(most)),
            None => known.push((least, most)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advisor::runs::run::{Bounds, Piece};

    #[test]
    fn an_opening_with_many_descriptors_has_few_rows() {
        let bounds = Bounds {
            buffer_bytes: 100,
            max_delay_ns: None,
        };
        let way = Way {
            is_read: false,
            is_positional: false,
            is_stream: true,
            is_datagram: false,
        };
        let mut pending = Pending::default();
        for descriptor in 3..1003 {
            let mut run = Run::new();
            let piece = Piece {
                descriptor,
                bytes: 8,
                segments: 1,
                ..Piece::default()
            };
            run.push(&piece, 0, bounds);
            run.push(&piece, 0, bounds);
            pending.add(&mut run, Outcome::Joined, way, false);
        }
        assert_eq!(pending.rows.len(), PATTERNS_MAX + 1);
        let calls: u64 = pending.rows.iter().map(|row| row.tally.calls).sum();
        assert_eq!(calls, 2000);
    }
}
