//! From lanes to the book: runs that are over are counted.

use super::{Log, READS, WRITES};
use crate::advisor::lane::{Lane, Link, Outcome, Take};
use crate::advisor::leads::Kind;
use crate::advisor::opening::Opening;
use crate::advisor::reason::Reason;
use crate::advisor::run::{Bounds, Piece, Run};
use crate::advisor::tables::{ProcessId, Tables, process_at};
use crate::advisor::tally::{Way, Whose};

impl Log {
    pub(super) fn push(&mut self, place: u32, lane: usize, link: Link, site: u32) {
        self.with_lane(place, lane, |lane, piece, bounds, take| {
            lane.push(link, piece, site, bounds, take);
        });
    }

    pub(super) fn end_lane(&mut self, place: u32, lane: usize) {
        self.with_lane(place, lane, |lane, _, bounds, take| lane.end(bounds, take));
    }

    pub(super) fn end_lanes(&mut self, place: u32) {
        self.end_lane(place, WRITES);
        self.end_lane(place, READS);
    }

    pub(super) fn end_lanes_of(&mut self, place: u32, process: ProcessId) {
        for lane in [WRITES, READS] {
            let opening = self.tables.openings.get(place);
            if opening.is_some_and(|opening| opening.lanes[lane].user.owner == process) {
                self.end_lane(place, lane);
            }
        }
    }

    /// Hands a lane on, and counts what that ends.
    pub(super) fn with_lane(
        &mut self,
        place: u32,
        lane: usize,
        act: impl FnOnce(&mut Lane, &Piece, Bounds, Take<'_>),
    ) {
        let Tables {
            openings,
            processes,
            ..
        } = &mut self.tables;
        let Some(opening) = openings.get_mut(place) else {
            return;
        };
        let Some(target) = opening.kind.target() else {
            return;
        };
        let way = Way {
            is_read: lane == READS,
            is_positional: opening.lanes[lane].is_positional,
        };
        // Who ends a run by a call of its own is not the one whose run it is.
        let user = opening.lanes[lane].user;
        let groups = &mut self.groups;
        let has_offset = !way.is_positional && opening.kind == Kind::File;
        let shared = match way.is_read {
            false if groups.has_many_writers(opening.group) => Some(Reason::SeveralWriters),
            true if opening.has_many_readers && has_offset => Some(Reason::SharedOffset),
            _ => None,
        };
        let Opening {
            lanes,
            counted,
            held,
            ..
        } = opening;
        let mut held = match way.is_read {
            false => groups.held(opening.group),
            true => (has_offset && shared.is_none()).then_some(held),
        };
        let path = match opening.text.is_empty() {
            true => &opening.path,
            false => &opening.text,
        };
        let whose = Whose {
            program: user.program,
            process: user.process,
            target,
            descriptor: opening.number,
            path,
            has_other_writers: opening.has_other_writers,
            shared,
        };
        let book = &mut self.book;
        let mut take = |run: &mut Run, outcome: Outcome| {
            if let Some(found) = book.add(run, outcome, way, &whose, held.as_deref_mut()) {
                let process = process_at(processes, user.owner);
                let is_opening = counted.insert(found);
                // A process that is gone has had a finding before if its opening has.
                let is_process = match process {
                    Some(process) => process.counted.insert(found),
                    None => is_opening,
                };
                book.count_new(found, is_process, is_opening, held.as_deref_mut());
            }
        };
        act(&mut lanes[lane], &self.piece, self.bounds, &mut take);
    }

    /// Counts what went through openings that were left.
    pub(super) fn settle(&mut self) {
        while let Some(left) = self.tables.left.pop() {
            if left.is_closed {
                self.close_opening(left.opening);
            } else {
                self.end_lanes_of(left.opening, left.process);
            }
        }
    }

    /// Nobody has a descriptor of it any more.
    fn close_opening(&mut self, place: u32) {
        let opening = self.tables.openings.get(place);
        let may_reopen = opening.is_some_and(|opening| {
            opening.kind == Kind::File && opening.flags.append && opening.lanes[WRITES].is_single()
        });
        if !may_reopen {
            return self.forget(place);
        }
        self.end_lane(place, READS);
        if self.closed.len() >= CLOSED_MAX
            && let Some(oldest) = self.closed.pop_front()
        {
            self.forget(oldest);
        }
        self.closed.push_back(place);
    }

    /// Counts what went through an opening that is gone.
    pub(super) fn forget(&mut self, place: u32) {
        self.end_lanes(place);
        if let Some(opening) = self.tables.openings.remove(place) {
            let held = self.groups.leave(opening.group);
            self.book.settle(held.unwrap_or_default());
            self.book.settle(opening.held);
        }
    }
}

/// So many closed files are kept in mind, which may be opened again.
const CLOSED_MAX: usize = 8;
