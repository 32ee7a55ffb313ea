//! A call that moves bytes.

use crate::advisor::descriptors::fd_kind::Kind;
use crate::advisor::descriptors::processes::{Tables, process_at};
use crate::advisor::descriptors::same_file::Writer;
use crate::advisor::descriptors::thread::Thread;
use crate::advisor::findings::held::Held;
use crate::advisor::runs::barriers::Reason;
use crate::advisor::runs::pattern::{Move, call_number, size_class};
use crate::advisor::runs::run::Piece;
use crate::advisor::runs::run_builder::{Link, User};
use crate::advisor::tracker::links::Surroundings;
use crate::advisor::tracker::{By, Log, READS, WRITES};
use vectored_strace::event::{Descriptor, Direction, Event, Form, Transfer};

/// Linux moves no more in one call: `MAX_RW_COUNT`. A log that says so is wrong.
const TRANSFER_BYTES_MAX: u64 = 0x7fff_f000;

/// The reader of an opening that a program read from before its process ran another one: no thread's
/// serial number.
const EARLIER_PROGRAM: u64 = u64::MAX;

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
        let written_before = thread.filed_out;
        opening.was_used = true;
        if transfer.descriptor.number >= 0 {
            // Not that of the opening itself: a program may use a duplicate and close it.
            opening.number = transfer.descriptor.number;
        }
        let lane_number = usize::from(is_read);
        let is_others = opening.lanes[lane_number].user.thread != serial;
        let group = opening.group;
        let is_stream_socket = opening.kind.is_socket();
        let uses_offset = transfer.offset.is_none() && (is_read || !opening.flags.append);
        if uses_offset && opening.offset_user != serial {
            opening.has_shared_offset |= opening.offset_user != 0;
            opening.offset_user = serial;
        }
        if is_read {
            if transfer.offset.is_none() && opening.reader != serial {
                self.note_reader(place, serial);
            }
        } else if !self.groups.is_last_writer(group, number, serial) {
            self.note_writer(place, by);
        }
        if transfer.addressed && is_stream_socket {
            self.pass_descriptors(place, is_read, by);
        }
        let user = match is_others {
            true => self.user(by, serial),
            false => User::default(),
        };
        let submitted = match self.submitted.is_empty() {
            true => 0,
            false => self.submitted.get(&by.process).copied().unwrap_or(0),
        };
        let site = match event.site {
            Some(_) => self.book.site(event.site),
            None => 0,
        };
        let Some((thread, opening)) = self.tables.both(by.thread, place) else {
            return;
        };
        effect_of_transfer(number, place, opening.kind, transfer, thread);
        if opening.kind.target().is_none() || is_read && opening.kind == Kind::Datagram {
            if is_others {
                self.own(place, lane_number, user);
            }
            return self.note_use(place, lane_number, transfer);
        }
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
        let other = &mut opening.lanes[1 - lane_number];
        if opening.kind == Kind::File {
            other.crossed.get_or_insert(Reason::BothWays);
        } else if is_read && other.user.thread != serial {
            // What another thread heard may be why the writer goes on.
            other.crossed.get_or_insert(Reason::PeerRead);
        }
        let shape = describe(event, transfer, opening.kind, &mut self.piece);
        self.piece.deflate(thread.delayed_ns);
        if shape == Shape::Unusable {
            self.end_lane(place, lane_number);
            if is_others {
                self.own(place, lane_number, user);
            }
        } else {
            let surroundings = Surroundings {
                thread,
                program: match is_others {
                    true => user.program,
                    false => opening.lanes[lane_number].user.program,
                },
                submitted,
                groups: &self.groups,
                piece: &self.piece,
                bounds: self.bounds,
                max_delay_ns: self.max_delay_ns,
            };
            let link = surroundings.link(place, opening, transfer, sought);
            let (between, other) = written_before.of_others(place);
            let in_turn = !is_read && between > opening.lanes[lane_number].last;
            let bounds = self.bounds.of(is_read && opening.kind == Kind::File);
            let lane = &mut opening.lanes[lane_number];
            if !lane.goes_on_with(link, &self.piece, site, bounds) {
                self.push(place, lane_number, link, site);
            }
            if is_others {
                self.own(place, lane_number, user);
            }
            let Some(opening) = self.tables.openings.get_mut(place) else {
                return;
            };
            let lane = &mut opening.lanes[lane_number];
            lane.last = number;
            lane.ended_ns = self.piece.ended_ns;
            lane.is_positional = is_positional;
            lane.has_more = transfer.more;
            lane.is_large =
                is_read && transfer.asked_bytes.unwrap_or(0) >= self.bounds.buffer_bytes;
            lane.next_offset = transfer
                .offset
                .unwrap_or(0)
                .saturating_add(self.piece.bytes);
            lane.crossed = None;
            if in_turn && matches!(link, Link::Joined { .. }) {
                self.note_order(place, other);
            }
            if shape == Shape::Short {
                self.end_lane(place, lane_number);
            }
        }
        self.note_use(place, lane_number, transfer);
        self.groups.note(group, number, place, is_read);
    }

    #[inline(always)]
    fn note_use(&mut self, place: u32, lane: usize, transfer: &Transfer<'_>) {
        if let Some(opening) = self.tables.openings.get_mut(place) {
            opening.pending[lane].note(transfer, self.bounds.buffer_bytes);
        }
    }

    /// Another thread goes on with an opening. What another process or program did is counted for that.
    fn own(&mut self, place: u32, lane: usize, user: User) {
        let known = self.tables.openings.get(place);
        let before = known.map(|opening| opening.lanes[lane].user);
        let same = |before: User| (before.owner, before.program) == (user.owner, user.program);
        if !before.is_some_and(same) {
            self.flush(place, lane);
        }
        if let Some(opening) = self.tables.openings.get_mut(place) {
            opening.lanes[lane].user = user;
        }
    }

    /// What a call copied from was read, and maybe its offset moved.
    fn copy_from(&mut self, from: Descriptor<'_>, by: By) {
        let place = self.resolve(from, by);
        let number = self.event;
        let serial = self.tables.at(by.thread).map_or(0, |thread| thread.serial);
        let reader = self
            .tables
            .openings
            .get(place)
            .map(|opening| opening.reader);
        if reader != Some(serial) {
            self.note_reader(place, serial);
        }
        self.end_lane(place, READS);
        self.share_reads(place, Reason::Copied);
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

    /// A thread as a lane knows it.
    fn user(&self, by: By, serial: u64) -> User {
        let process = self.tables.process(by.process);
        User {
            thread: serial,
            owner: by.process,
            process: process.map_or(0, |process| process.number),
            program: process.map_or(0, |process| process.program),
        }
    }

    /// Another file was written between two writes of a run.
    fn note_order(&mut self, place: u32, other: u32) {
        let Some(other) = self.tables.openings.get(other) else {
            return;
        };
        let name = other.name().to_vec();
        if let Some(opening) = self.tables.openings.get_mut(place) {
            opening.lanes[WRITES].note_order(&name);
        }
    }

    /// A thread uses the offset of a file that another one may read on from.
    pub(super) fn note_reader(&mut self, place: u32, serial: u64) {
        let Some(opening) = self.tables.openings.get_mut(place) else {
            return;
        };
        let reason = match opening.kind {
            Kind::File => Reason::SharedOffset,
            kind if kind.has_peer() => Reason::OtherReaders,
            _ => return,
        };
        if opening.reader != 0 {
            return self.share_reads(place, reason);
        }
        opening.reader = serial;
        let group = opening.group;
        if reason == Reason::OtherReaders
            && let Some(first) = self.groups.note_reader(group, place)
        {
            // `/dev/fd/3`, or a descriptor that another process passed on.
            let first_opening = self.tables.openings.get(first);
            if first_opening.is_some_and(|opening| opening.group == group) {
                self.share_reads(first, reason);
            }
            self.share_reads(place, reason);
        }
    }

    /// Others are to read from an offset or a stream, too: its reads are listed.
    pub(super) fn share_reads(&mut self, place: u32, reason: Reason) {
        let Some(opening) = self.tables.openings.get_mut(place) else {
            return;
        };
        if opening.shared_reads.is_some() {
            return;
        }
        opening.shared_reads = Some(reason);
        let held = std::mem::take(&mut opening.held);
        self.list(place, READS, held, reason);
    }

    /// Another program goes on with what a process has open.
    pub(super) fn hand_reads_on(&mut self, by: By) {
        let serial = self.tables.at(by.thread).map_or(0, |thread| thread.serial);
        for place in self.tables.openings_of(by.process) {
            let Some(opening) = self.tables.openings.get_mut(place) else {
                continue;
            };
            if opening.offset_user == serial {
                opening.offset_user = EARLIER_PROGRAM;
            }
            if opening.kind.has_peer() && opening.reader != 0 {
                self.share_reads(place, Reason::OtherReaders);
            } else if opening.reader == serial {
                opening.reader = EARLIER_PROGRAM;
            }
        }
    }

    /// Descriptors may come or go with the bytes of a call (`SCM_RIGHTS`): which ones is not followed.
    #[cold]
    fn pass_descriptors(&mut self, place: u32, is_read: bool, by: By) {
        if is_read {
            return self.share_reads(place, Reason::ControlData);
        }
        for other in self.tables.openings_of(by.process) {
            let opening = self.tables.openings.get(other);
            let Some(opening) = opening.filter(|opening| opening.reader != 0) else {
                continue;
            };
            match opening.kind {
                _ if other == place => {}
                Kind::File => self.share_reads(other, Reason::SharedOffset),
                kind if kind.has_peer() => self.share_reads(other, Reason::OtherReaders),
                _ => {}
            }
        }
    }

    /// A thread writes to what another one wrote to last, or nobody yet.
    fn note_writer(&mut self, place: u32, by: By) {
        let serial = self.tables.at(by.thread).map(|thread| thread.serial);
        let (Some(serial), Some(process)) = (serial, self.tables.process(by.process)) else {
            return;
        };
        let new = Writer {
            thread: serial,
            process: by.process,
            number: process.number,
            last: self.event,
        };
        let Some(group) = self.tables.openings.get(place).map(|opening| opening.group) else {
            return;
        };
        let (tables, waited) = (&self.tables, &self.waited);
        // Its process ended, and who waited for that comes before the new one.
        let is_over = |writer: &Writer| {
            tables.process(writer.process).is_none()
                && waited
                    .get(&writer.number)
                    .is_some_and(|&(event, process)| tables.comes_after(by.process, event, process))
        };
        let is_younger = |writer: &Writer| {
            let is_other = writer.process != by.process;
            is_other && tables.comes_after(by.process, writer.last, writer.process)
        };
        let held = self.groups.add_writer(group, new, is_over, is_younger);
        if let Some(held) = held {
            self.list(place, WRITES, held, Reason::SeveralWriters);
        }
    }

    /// What was held back is listed.
    pub(super) fn list(&mut self, place: u32, lane: usize, held: Held, reason: Reason) {
        self.uses.list(&held, reason);
        let Tables {
            openings,
            processes,
            ..
        } = &mut self.tables;
        let Some(opening) = openings.get_mut(place) else {
            return;
        };
        let owner = opening.lanes[lane].user.owner;
        let counted = &mut opening.counted;
        self.book.list(held, reason, |found| {
            let process = process_at(processes, owner);
            let is_opening = counted.insert(found);
            let is_process = process.map_or(is_opening, |process| process.counted.insert(found));
            (is_process, is_opening)
        });
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
    if kind.has_peer() || kind == Kind::Datagram && !is_read {
        let streamed = match is_read {
            true => &mut thread.streamed_in,
            false => &mut thread.streamed_out,
        };
        streamed.note(number, place);
    }
    if kind == Kind::File && !is_read {
        thread.filed_out.note(number, place);
    }
    if kind == Kind::Other && !is_read {
        thread.released = (number, Reason::OtherTransfer);
    }
    let has_messages = matches!(kind, Kind::Other | Kind::Datagram);
    if has_messages && is_read || transfer.form == Form::Opaque {
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

/// Fills in what a run needs to know.
#[inline(always)]
fn describe(event: &Event<'_>, transfer: &Transfer<'_>, kind: Kind, piece: &mut Piece) -> Shape {
    let (Ok(bytes), Some(segments)) = (transfer.result, transfer.segment_bytes) else {
        return Shape::Unusable;
    };
    // Each of several datagrams has its own address.
    let is_addressed = transfer.addressed && kind != Kind::Datagram;
    let is_odd = transfer.special || is_addressed || transfer.form == Form::Opaque;
    if is_odd || bytes == 0 || bytes > TRANSFER_BYTES_MAX {
        return Shape::Unusable;
    }
    piece.step = Move {
        call: call_number(event.name),
        size_class: size_class(bytes),
    };
    piece.descriptor = transfer.descriptor.number;
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
    match transfer.asked_bytes.unwrap_or(0).cmp(&bytes) {
        std::cmp::Ordering::Greater => Shape::Short,
        std::cmp::Ordering::Equal if left == 0 => Shape::Whole,
        _ => Shape::Unusable,
    }
}
