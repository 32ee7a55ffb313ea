//! From lanes to the book: runs that are over are counted.

use super::{Log, READS, WRITES};
use crate::advisor::lane::{Lane, Link, Outcome, Take};
use crate::advisor::leads::pipe_inode;
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
        let opening = self.tables.openings.get(place);
        if opening.is_some_and(|opening| opening.owner == process) {
            self.end_lanes(place);
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
        let path = match opening.text.is_empty() {
            true => &opening.path,
            false => &opening.text,
        };
        let whose = Whose {
            program: opening.program,
            process: opening.process,
            target,
            descriptor: opening.number,
            path,
            has_other_writers: opening.has_other_writers,
        };
        let counted = &mut opening.counted;
        let owner = opening.owner;
        let book = &mut self.book;
        let mut take = |run: &mut Run, outcome: Outcome| {
            if let Some(found) = book.add(run, outcome, way, &whose) {
                let process = process_at(processes, owner);
                let is_opening = counted.insert(found);
                // A process that is gone has had a finding before if its opening has.
                let is_process = match process {
                    Some(process) => process.counted.insert(found),
                    None => is_opening,
                };
                book.count_new(found, is_process, is_opening);
            }
        };
        act(
            &mut opening.lanes[lane],
            &self.piece,
            self.bounds,
            &mut take,
        );
    }

    /// Counts what went through openings that were left.
    pub(super) fn settle(&mut self) {
        while let Some(left) = self.tables.left.pop() {
            if left.is_closed {
                self.end_lanes(left.opening);
                if let Some(opening) = self.tables.openings.remove(left.opening) {
                    self.groups.leave(opening.group);
                    if let Some(inode) = pipe_inode(&opening.text) {
                        self.pipes.remove(&inode);
                    }
                }
            } else {
                self.end_lanes_of(left.opening, left.process);
            }
        }
    }
}
