//! From lanes to the book: runs that are over are counted.

use crate::advisor::descriptors::fd_kind::Kind;
use crate::advisor::descriptors::open_file::Opening;
use crate::advisor::descriptors::process_id::ProcessId;
use crate::advisor::descriptors::processes::{Tables, process_at};
use crate::advisor::findings::judge::Way;
use crate::advisor::findings::pattern_counts::Whose;
use crate::advisor::findings::uses::Used;
use crate::advisor::runs::barriers::Reason;
use crate::advisor::runs::run::{Bounds, Piece, Run};
use crate::advisor::runs::run_builder::{Lane, Link, Outcome, Take};
use crate::advisor::tracker::{Log, READS, WRITES};
use crate::model::{FindingKind, Grade};

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

    /// Counts what a process did. If others keep the opening, they may go on from its offset.
    pub(super) fn end_lanes_of(&mut self, place: u32, process: ProcessId, is_kept: bool) {
        for lane in [WRITES, READS] {
            let opening = self.tables.openings.get_mut(place);
            let of_process = opening.filter(|known| known.lanes[lane].user.owner == process);
            if let Some(opening) = of_process {
                opening.has_shared_offset |= is_kept;
                self.end_lane(place, lane);
                self.flush(place, lane);
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
        let Some(opening) = self.tables.openings.get_mut(place) else {
            return;
        };
        if opening.kind.target().is_none() {
            return;
        }
        let way = Way {
            is_read: lane == READS,
            is_positional: opening.lanes[lane].is_positional,
            is_stream: opening.kind.has_peer(),
            is_datagram: opening.kind == Kind::Datagram,
        };
        let mixes = opening.has_other_writers;
        let pending = &mut opening.pending[lane];
        let mut take = |run: &mut Run, outcome: Outcome| pending.add(run, outcome, way, mixes);
        act(
            &mut opening.lanes[lane],
            &self.piece,
            self.bounds.of(way.is_read && opening.kind == Kind::File),
            &mut take,
        );
    }

    /// Counts what one process did with an opening in one direction.
    pub(super) fn flush(&mut self, place: u32, lane: usize) {
        let Tables {
            openings,
            processes,
            ended,
            ..
        } = &mut self.tables;
        let Some(opening) = openings.get_mut(place) else {
            return;
        };
        let Some((mut rows, calls)) = opening.pending[lane].take() else {
            return;
        };
        let user = opening.lanes[lane].user;
        let groups = &mut self.groups;
        for row in rows.iter_mut().filter(|row| row.depends_on_others()) {
            let shared = match lane == READS {
                _ if row.kind == FindingKind::SeekThenTransfer && opening.has_shared_offset => {
                    Some(Reason::SharedOffset)
                }
                false if groups.has_many_writers(opening.group) => Some(Reason::SeveralWriters),
                true if row.grade == Grade::ReadsAhead => opening.shared_reads,
                true if opening.kind == Kind::File && !row.is_positional => opening.shared_reads,
                _ => None,
            };
            if shared.is_some() {
                row.grade = Grade::Crossing;
                row.reason = shared;
            }
        }
        let Opening {
            text,
            path,
            was_counted,
            use_number,
            reopened,
            counted,
            held,
            ..
        } = opening;
        let name = if text.is_empty() { path } else { text };
        let mut openings = u64::from(!std::mem::replace(&mut was_counted[lane], true));
        if lane == WRITES {
            openings += std::mem::take(reopened);
        }
        let used = Used {
            program: user.program,
            kind: opening.kind,
            is_folder: opening.flags.directory || opening.flags.path_only,
            name,
            descriptor: opening.number,
            first_descriptor: *use_number.get_or_insert(opening.number),
            is_read: lane == READS,
            openings,
            calls,
        };
        let used = self.uses.add(&used, &rows);
        let Some(target) = opening.kind.target() else {
            return;
        };
        let mut process = match process_at(processes, user.owner) {
            Some(process) => Some(process),
            None => match ended {
                Some((id, process)) if *id == user.owner => Some(process),
                _ => None,
            },
        };
        let whose = Whose {
            program: user.program,
            runtime: process.as_ref().and_then(|process| process.runtime),
            process: user.process,
            target,
            path: name,
        };
        for row in &rows {
            let mut held = match row.depends_on_others() {
                false => None,
                true if lane == WRITES => groups.held(opening.group),
                true if row.grade == Grade::ReadsAhead => Some(&mut *held),
                true if opening.kind == Kind::File && !row.is_positional => Some(&mut *held),
                true => None,
            };
            if let Some(held) = &mut held {
                held.note_use(used, row);
            }
            let in_book = self.book.add(row, &whose, held.as_deref_mut());
            let both = [in_book.own, in_book.any_file];
            let places = match in_book.own == in_book.any_file {
                true => &both[..1],
                false => &both[..],
            };
            for &place in places {
                let is_opening = counted.insert(place);
                let is_process = match &mut process {
                    Some(process) => process.counted.insert(place),
                    None => is_opening,
                };
                self.book
                    .count_new(place, is_process, is_opening, held.as_deref_mut());
            }
        }
    }

    /// Counts what was done in both directions.
    pub(super) fn flush_both(&mut self, place: u32) {
        self.flush(place, WRITES);
        self.flush(place, READS);
    }

    /// What a process does next with an opening is another program's doing.
    pub(super) fn leave_to_another(&mut self, place: u32, process: ProcessId) {
        if let Some(opening) = self.tables.openings.get_mut(place) {
            for lane in &mut opening.lanes {
                if lane.user.owner == process {
                    lane.user.thread = 0;
                }
            }
        }
    }

    /// Counts the reads of an opening that were held back, or lists them.
    pub(super) fn settle_reads(&mut self, place: u32) {
        self.flush_both(place);
        let Some(opening) = self.tables.openings.get_mut(place) else {
            return;
        };
        let held = std::mem::take(&mut opening.held);
        match opening.shared_reads {
            Some(reason) => self.list(place, READS, held, reason),
            None => self.book.settle(held),
        }
    }

    /// Counts what went through openings that were left.
    pub(super) fn settle(&mut self) {
        while let Some(left) = self.tables.left.pop() {
            if left.is_closed {
                self.close_opening(left.opening);
            } else {
                self.end_lanes_of(left.opening, left.process, true);
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
        self.settle_reads(place);
        if let Some(opening) = self.tables.openings.remove(place) {
            let held = self.groups.leave(opening.group);
            self.book.settle(held.unwrap_or_default());
        }
    }
}

/// So many closed files are kept in mind, which may be opened again.
const CLOSED_MAX: usize = 8;
