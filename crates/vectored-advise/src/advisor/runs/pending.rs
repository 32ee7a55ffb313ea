//! The runs through one open file description that are not yet counted.

use vectored_report::sort;

use crate::advisor::runs::barriers::{Barrier, add_barrier};
use crate::advisor::runs::pattern::Pattern;
use crate::advisor::runs::row::{Alignment, Row, classify};
use crate::advisor::runs::run::{Link, Mode, Run};

/// The most patterns of an open file description that are counted separately. Later patterns are counted together.
const PATTERNS_MAX: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Pending {
    rows: Vec<Row>,
    /// The number of all calls, and of the bytes that they moved.
    moved: (u64, u64),
    /// The barriers between the transfers, each with the number of times that it occurred.
    ends: Vec<(Barrier, u64)>,
    /// The barriers since the last call of [`Pending::take_ends`].
    new_ends: Vec<(Barrier, u64)>,
}

impl Pending {
    pub(crate) fn add(&mut self, run: Run, link: Link, mode: Mode) {
        let Some(mut row) = classify(run, link, mode) else {
            return;
        };
        fn sites(row: &Row) -> impl Iterator<Item = u32> + '_ {
            row.sites.iter().map(|site| site.0)
        }
        let is_it = |known: &Row, row: &Row| {
            known.is_like(row)
                && known.is_positional == row.is_positional
                && known.pattern == row.pattern
                && (row.pattern.steps().is_empty()
                    || known.tally.descriptor == row.tally.descriptor
                        && sites(known).eq(sites(row)))
        };
        let mut place = self.rows.iter().position(|known| is_it(known, &row));
        if place.is_none() && self.rows.len() >= PATTERNS_MAX {
            row.pattern = Pattern::default();
            row.tally.step_bytes.clear();
            row.tally.starts.clear();
            place = self.rows.iter().position(|known| is_it(known, &row));
        }
        match place {
            Some(place) => self.rows[place].take_in(row, Alignment::From(0)),
            None => self.rows.push(row),
        }
    }

    pub(crate) fn note_ends(&mut self, between: &[Barrier]) {
        for &reason in between {
            for ends in [&mut self.ends, &mut self.new_ends] {
                add_barrier(ends, reason, 1);
            }
        }
    }

    #[inline(always)]
    pub(crate) fn note(&mut self, bytes: u64) {
        self.moved = (self.moved.0 + 1, self.moved.1.saturating_add(bytes));
    }

    pub(crate) fn take_ends(&mut self) -> Vec<(Barrier, u64)> {
        std::mem::take(&mut self.new_ends)
    }

    /// Takes the rows, the number of calls, and the number of moved bytes. The rows of one loop are joined.
    ///
    /// The runs of one loop may have different patterns: if they begin at different steps and are cut short, or if the
    /// lengths of a record lie on both sides of a power of two.
    pub(crate) fn take(&mut self) -> Option<(Vec<Row>, (u64, u64))> {
        if self.moved.0 == 0 && self.rows.is_empty() {
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
        Some((taken, std::mem::take(&mut self.moved)))
    }
}
