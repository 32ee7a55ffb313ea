//! A call that moves bytes.

use super::links::Surroundings;
use super::{By, Log, READS, WRITES};
use crate::advisor::event::{Descriptor, Direction, Event, Form, Transfer};
use crate::advisor::leads::{Kind, pipe_inode};
use crate::advisor::reason::Reason;
use crate::advisor::run::Piece;
use crate::advisor::steps::{Move, call_number, size_class};
use crate::advisor::tables::Thread;

/// Linux moves no more in one call: `MAX_RW_COUNT`. A log that says so is wrong.
const TRANSFER_BYTES_MAX: u64 = 0x7fff_f000;

impl Log {
    #[inline(always)]
    pub(super) fn transfer(&mut self, event: &Event<'_>, transfer: &Transfer<'_>, by: By) {
        self.transfers += 1;
        if let Ok(bytes) = transfer.result {
            self.bytes = self.bytes.saturating_add(bytes);
        }
        if let Some(from) = transfer.from {
            self.copy_from(from, by);
        }
        let place = self.resolve(transfer.descriptor, by);
        let is_read = transfer.direction == Direction::Read;
        let number = self.event;
        let Some((thread, opening)) = self.tables.both(by.thread, place) else {
            return;
        };
        let serial = thread.serial;
        opening.was_used = true;
        if transfer.descriptor.number >= 0 {
            // Not that of the opening itself: a program may use a duplicate and close it.
            opening.number = transfer.descriptor.number;
        }
        let is_others = opening.thread != serial;
        let is_written_pipe = !is_read && opening.kind == Kind::Pipe;
        if is_others {
            self.change_hands(place, by, serial);
        }
        if is_written_pipe {
            self.note_writer(place, by);
        }
        let site = match event.site {
            Some(_) => self.book.site(event.site),
            None => 0,
        };
        let Some((thread, opening)) = self.tables.both(by.thread, place) else {
            return;
        };
        effect_of_transfer(number, place, opening.kind, transfer, thread);
        if opening.kind.target().is_none() {
            return;
        }
        let lane_number = usize::from(is_read);
        let is_positional = transfer.offset.is_some();
        let sought = opening.sought;
        if !is_positional {
            opening.sought = 0;
            opening.position = match (opening.position, transfer.result) {
                // It may have been given an offset of its own.
                _ if transfer.form == Form::Opaque => None,
                (Some(position), Ok(bytes)) if is_read || !opening.flags.append => {
                    Some(position.saturating_add(bytes))
                }
                (Some(position), Err(_)) => Some(position),
                _ => None,
            };
        }
        // The other direction sees it, or was moved by it.
        if opening.kind == Kind::File {
            let other = &mut opening.lanes[1 - lane_number];
            other.crossed.get_or_insert(Reason::BothWays);
        }
        let group = opening.group;
        let shape = describe(event, transfer, &mut self.piece);
        if shape == Shape::Unusable {
            self.end_lane(place, lane_number);
        } else {
            let surroundings = Surroundings {
                thread,
                groups: &self.groups,
                piece: &self.piece,
                bounds: self.bounds,
                max_delay_ns: self.max_delay_ns,
            };
            let link = surroundings.link(place, opening, transfer, sought);
            let lane = &mut opening.lanes[lane_number];
            if !lane.goes_on_with(link, &self.piece, site, self.bounds) {
                self.push(place, lane_number, link, site);
            }
            let Some(opening) = self.tables.openings.get_mut(place) else {
                return;
            };
            let lane = &mut opening.lanes[lane_number];
            lane.last = number;
            lane.ended_ns = self.piece.ended_ns;
            lane.is_positional = is_positional;
            lane.has_more = transfer.more;
            lane.is_large = is_read && asked(transfer) >= self.bounds.buffer_bytes;
            lane.next_offset = transfer
                .offset
                .unwrap_or(0)
                .saturating_add(self.piece.bytes);
            lane.crossed = None;
            if shape == Shape::Short {
                self.end_lane(place, lane_number);
            }
        }
        self.groups.note(group, number, place, is_read);
    }

    /// What a call copied from was read, and maybe its offset moved.
    fn copy_from(&mut self, from: Descriptor<'_>, by: By) {
        let place = self.resolve(from, by);
        let number = self.event;
        self.end_lane(place, READS);
        let Some(opening) = self.tables.openings.get_mut(place) else {
            return;
        };
        opening.was_used = true;
        opening.position = None;
        if opening.kind == Kind::File {
            opening.lanes[WRITES]
                .crossed
                .get_or_insert(Reason::BothWays);
        }
        self.groups.note(opening.group, number, place, true);
        if opening.kind.has_peer()
            && let Some(thread) = self.tables.at(by.thread)
        {
            thread.streamed_in.note(number, place);
        }
    }

    /// Another thread uses an opening: the order of the two is not the program's own.
    pub(super) fn change_hands(&mut self, place: u32, by: By, serial: u64) {
        self.end_lanes(place);
        let process = self.tables.process(by.process);
        let Some((number, program)) = process.map(|process| (process.number, process.program))
        else {
            return;
        };
        if let Some(opening) = self.tables.openings.get_mut(place) {
            opening.thread = serial;
            opening.owner = by.process;
            opening.process = number;
            opening.program = program;
        }
    }

    /// Who writes to a pipe.
    pub(super) fn note_writer(&mut self, place: u32, by: By) {
        let Some(opening) = self.tables.openings.get_mut(place) else {
            return;
        };
        if opening.kind != Kind::Pipe || opening.writer == Some(by.process) {
            return;
        }
        if opening.writer.is_some() {
            opening.has_other_writers = true;
        }
        opening.writer = Some(by.process);
        let Some(inode) = pipe_inode(&opening.text) else {
            return;
        };
        let &mut (writer, other) = self.pipes.entry(inode).or_insert((by.process, place));
        if writer != by.process {
            for place in [place, other] {
                if let Some(opening) = self.tables.openings.get_mut(place) {
                    opening.has_other_writers |= pipe_inode(&opening.text) == Some(inode);
                }
            }
        }
    }
}

/// What a transfer does to runs through other openings.
#[inline(always)]
fn effect_of_transfer(
    number: u64,
    place: u32,
    kind: Kind,
    transfer: &Transfer<'_>,
    thread: &mut Thread,
) {
    let is_read = transfer.direction == Direction::Read;
    if kind.has_peer() {
        let streamed = match is_read {
            true => &mut thread.streamed_in,
            false => &mut thread.streamed_out,
        };
        streamed.note(number, place);
    }
    if kind == Kind::Other && !is_read {
        thread.released = (number, Reason::OtherTransfer);
    }
    if kind == Kind::Other && is_read || transfer.form == Form::Opaque {
        thread.waited = (number, Reason::OtherTransfer);
    }
}

/// Whether a transfer can be part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// It moved all that it was asked to.
    Whole,
    /// It moved less.
    Short,
    /// It moved nothing, failed, or has a meaning of its own.
    Unusable,
}

#[inline(always)]
pub(super) fn asked(transfer: &Transfer<'_>) -> u64 {
    transfer.asked_bytes.unwrap_or(0)
}

/// Fills in what a run needs to know.
#[inline(always)]
fn describe(event: &Event<'_>, transfer: &Transfer<'_>, piece: &mut Piece) -> Shape {
    let (Ok(bytes), Some(segments)) = (transfer.result, transfer.segment_bytes) else {
        return Shape::Unusable;
    };
    let is_odd = transfer.special || transfer.addressed || transfer.form == Form::Opaque;
    if is_odd || bytes == 0 || bytes > TRANSFER_BYTES_MAX {
        return Shape::Unusable;
    }
    piece.step = Move {
        call: call_number(event.name),
        size_class: size_class(bytes),
    };
    piece.bytes = bytes;
    piece.is_list = transfer.form == Form::List;
    piece.began_ns = event.began_ns.unwrap_or(0);
    piece.ended_ns = piece.began_ns.saturating_add(event.took_ns.unwrap_or(0));
    piece.segments = 0;
    piece.sizes.0.clear();
    if let [only] = segments {
        piece.segments = 1;
        return match only.cmp(&bytes) {
            std::cmp::Ordering::Greater => Shape::Short,
            std::cmp::Ordering::Equal => Shape::Whole,
            // More than was asked for: the log is wrong.
            std::cmp::Ordering::Less => Shape::Unusable,
        };
    }
    let mut left = bytes;
    for &segment in segments {
        let moved = segment.min(left);
        left -= moved;
        if moved > 0 {
            piece.segments += 1;
            piece.sizes.add_segment(moved);
        }
    }
    match asked(transfer).cmp(&bytes) {
        std::cmp::Ordering::Greater => Shape::Short,
        std::cmp::Ordering::Equal if left == 0 => Shape::Whole,
        _ => Shape::Unusable,
    }
}
