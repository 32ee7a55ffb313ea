//! The runs through one open file description, until all of its calls are known.

use vectored_report::sort;
use vectored_strace::event::Transfer;

use crate::advisor::findings::call_counts::CallCounts;
use crate::advisor::findings::classify::{Found, TransferMode, classify};
use crate::advisor::findings::row::{Row, has_site};
use crate::advisor::findings::tally::{add_in_turn, join_ranges};
use crate::advisor::runs::barriers::{Barrier, add_barrier};
use crate::advisor::runs::pattern::Pattern;
use crate::advisor::runs::run::{Run, add_counts};
use crate::advisor::runs::run_builder::RunKind;
use crate::model::Tally;

/// Most patterns of an open file description that are counted separately. Later ones are counted together.
const PATTERNS_MAX: usize = 64;

/// Rows and call counts of one direction.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    rows: Vec<Row>,
    calls: CallCounts,
    /// The barriers between its transfers, with their number.
    ends: Vec<(Barrier, u64)>,
    /// The barriers since the last call of [`Pending::take_ends`].
    new_ends: Vec<(Barrier, u64)>,
}

impl Pending {
    pub(crate) fn add(&mut self, run: &mut Run, run_kind: RunKind, mode: TransferMode) {
        let merged_calls = run.finish();
        let run = &*run;
        let Some(found) = classify(run, merged_calls, run_kind, mode) else {
            return;
        };
        let row = self.row(&found, run, mode);
        let tally = &mut row.tally;
        tally.runs += 1;
        #[cfg(test)]
        tally.members.0.push(run.members.clone());
        tally.calls += found.calls;
        tally.bytes += run.bytes;
        tally.merged_calls += found.merged_calls;
        tally.late_ns = tally.late_ns.max(run.late_ns);
        if let Some(moved) = found.moved {
            tally.gathered_calls += run.gathered_calls;
            tally.segments += moved.segments;
            tally.list_calls += moved.list_calls;
            tally.long_list_calls += moved.long_list_calls;
            add_counts(&mut tally.sizes, &moved.sizes);
            add_counts(&mut tally.list_sizes, &moved.list_sizes);
        }
        let steps = row.pattern.steps();
        let ranges = run.ranges(&row.pattern, found.start);
        join_ranges(&mut tally.step_bytes, ranges.into_iter());
        for path in &run.order_between {
            add_in_turn(&mut tally.order_between, &String::from_utf8_lossy(path));
        }
        if steps.len() > 1 {
            tally.starts.resize(steps.len(), 0);
            if let Some(start) = tally.starts.get_mut(found.start) {
                *start += 1;
            }
        }
        add_counts(&mut row.sites, &run.sites);
    }

    fn row(&mut self, found: &Found<'_>, run: &Run, mode: TransferMode) -> &mut Row {
        let same_sites = |row: &Row| {
            row.sites.len() == run.sites.len()
                && run.sites.iter().all(|site| has_site(&row.sites, site.0))
        };
        let is_it = |row: &Row, pattern: &Pattern| {
            row.kind == found.kind
                && row.grade == found.grade
                && row.reason == found.reason
                && row.is_read == mode.is_read
                && row.is_positional == mode.is_positional
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
                is_read: mode.is_read,
                is_positional: mode.is_positional,
                descriptor: run.descriptor,
                pattern,
                sites: Vec::new(),
                tally: Tally::default(),
            });
            self.rows.len() - 1
        });
        &mut self.rows[place]
    }

    /// Notes the barriers between two transfers.
    pub(crate) fn note_ends(&mut self, between: &[Barrier]) {
        for &reason in between {
            for ends in [&mut self.ends, &mut self.new_ends] {
                add_barrier(ends, reason, 1);
            }
        }
    }

    #[inline(always)]
    pub(crate) fn note(&mut self, transfer: &Transfer<'_>, buffer_bytes: u64) {
        self.calls.note(transfer, buffer_bytes);
    }

    /// Takes the barriers since the last call.
    pub(crate) fn take_ends(&mut self) -> Vec<(Barrier, u64)> {
        std::mem::take(&mut self.new_ends)
    }

    /// Takes the call counts and the rows, with the rows of one loop joined.
    ///
    /// The runs of one loop have several patterns if they begin at different steps and are cut short, or
    /// if the length of a record passes a power of two.
    pub(crate) fn take(&mut self) -> Option<(Vec<Row>, CallCounts)> {
        if self.calls.calls == 0 && self.rows.is_empty() {
            return None;
        }
        let mut rows = std::mem::take(&mut self.rows);
        sort::sort_by_key(&mut rows, |row| std::cmp::Reverse(row.tally.calls));
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
        for row in &mut taken {
            row.end(&self.ends);
        }
        if !taken.is_empty() {
            self.ends.clear();
        }
        Some((taken, std::mem::take(&mut self.calls)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advisor::runs::run::{MergeLimits, RunCall};

    #[test]
    fn an_open_file_with_many_descriptors_has_few_rows() {
        let limits = MergeLimits {
            buffer_bytes: 100,
            most_bytes: u64::MAX,
            max_delay_ns: None,
            is_cut_by_time: false,
        };
        let mode = TransferMode {
            is_read: false,
            is_positional: false,
            is_stream: true,
            is_datagram: false,
        };
        let mut pending = Pending::default();
        for descriptor in 3..1003 {
            let mut run = Run::default();
            let call = RunCall {
                descriptor,
                bytes: 8,
                segments: 1,
                ..RunCall::default()
            };
            run.push(&call, 0, limits);
            run.push(&call, 0, limits);
            pending.add(&mut run, RunKind::Joined, mode);
        }
        assert_eq!(pending.rows.len(), PATTERNS_MAX + 1);
        let calls: u64 = pending.rows.iter().map(|row| row.tally.calls).sum();
        assert_eq!(calls, 2000);
    }
}
