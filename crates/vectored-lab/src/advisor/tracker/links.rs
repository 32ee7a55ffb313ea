//! What lies between a transfer and the one before it.

use crate::advisor::descriptors::fd_kind::Kind;
use crate::advisor::descriptors::open_file::Opening;
use crate::advisor::descriptors::same_file::Groups;
use crate::advisor::descriptors::thread::Thread;
use crate::advisor::runs::barriers::Reason;
use crate::advisor::runs::run::{Bounds, Piece};
use crate::advisor::runs::run_builder::{Lane, Link};
use vectored_strace::event::{Direction, Transfer};

/// What lies around a transfer, besides what it goes through.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surroundings<'a> {
    /// The thread that makes it.
    pub(super) thread: &'a Thread,
    /// The program of that thread.
    pub(super) program: u32,
    /// The event since which transfers of this process may not have shown.
    pub(super) submitted: u64,
    pub(super) groups: &'a Groups,
    /// What a run would see of it.
    pub(super) piece: &'a Piece,
    pub(super) bounds: Bounds,
    pub(super) max_delay_ns: u64,
}

impl Surroundings<'_> {
    /// What lies between a transfer and the one before it in its lane.
    #[inline(always)]
    pub(super) fn link(
        &self,
        place: u32,
        opening: &Opening,
        transfer: &Transfer<'_>,
        sought: u64,
    ) -> Link {
        let is_read = transfer.direction == Direction::Read;
        let thread = self.thread;
        let lane = &opening.lanes[usize::from(is_read)];
        let is_positional = transfer.offset.is_some();
        if lane.last == 0 || lane.is_positional != is_positional {
            return Link::Broken;
        }
        if let Some(offset) = transfer.offset
            && offset != lane.next_offset
        {
            return Link::Broken;
        }
        if lane.user.thread != thread.serial {
            return match lane.user.program == self.program {
                true => self.after_another_thread(opening, is_read, is_positional),
                false => Link::Broken,
            };
        }
        if lane.crossed == Some(Reason::Reopened) {
            // Whatever the program then asks of its new descriptor.
            return Link::Crossed(Reason::Reopened);
        }
        let is_shared = opening.tables > 1;
        if is_read || sought != 0 && !is_positional {
            let own_offset = !is_positional && opening.kind == Kind::File;
            if own_offset && (is_shared || opening.is_inherited) {
                return Link::Crossed(match is_shared {
                    true => Reason::SharedOffset,
                    false => Reason::Inherited,
                });
            }
        }
        if sought != 0 && !is_positional && opening.kind == Kind::File {
            if opening.sought_size {
                return Link::Crossed(Reason::Size);
            }
            if opening.sought_by != thread.serial {
                return Link::Crossed(Reason::SharedOffset);
            }
            let has_between = thread.last != sought;
            return Link::Sought { has_between };
        }
        if is_read
            && (lane.is_large || transfer.asked_bytes.unwrap_or(0) >= self.bounds.buffer_bytes)
        {
            return Link::Broken;
        }
        match self.crossing(place, opening, transfer) {
            Some(reason) => Link::Crossed(reason),
            None => Link::Joined {
                has_between: thread.last != lane.last,
            },
        }
    }

    /// What lies between transfers of two threads in a row: their order is not the program's own, unless
    /// one of them waited for the other.
    fn after_another_thread(&self, opening: &Opening, is_read: bool, is_positional: bool) -> Link {
        match opening.kind {
            Kind::Unknown | Kind::Socket => Link::Crossed(Reason::UnknownTarget),
            Kind::File if is_read && !is_positional => Link::Crossed(Reason::SharedOffset),
            _ if !is_read && self.groups.has_many_writers(opening.group) => {
                Link::Crossed(Reason::SeveralWriters)
            }
            _ => Link::Broken,
        }
    }

    #[inline(always)]
    fn crossing(&self, place: u32, opening: &Opening, transfer: &Transfer<'_>) -> Option<Reason> {
        let thread = self.thread;
        let is_read = transfer.direction == Direction::Read;
        let lane = &opening.lanes[usize::from(is_read)];
        match opening.kind {
            Kind::Unknown | Kind::Socket => return Some(Reason::UnknownTarget),
            Kind::Pipe | Kind::Unix | Kind::Tcp if is_read => {
                let reason = self.crossing_of_stream(opening, lane);
                if reason.is_some() {
                    return reason;
                }
            }
            _ if opening.flags.direct => return Some(Reason::Direct),
            _ if !is_read && (opening.flags.sync || transfer.sync) => {
                return Some(Reason::SyncFlag);
            }
            _ => {}
        }
        if lane.crossed.is_some() {
            return lane.crossed;
        }
        if self.submitted > lane.last {
            return Some(Reason::Submitted);
        }
        if let Some(reason) = crossing_of_thread(thread, place, opening.kind, is_read, lane.last) {
            return Some(reason);
        }
        let group = match opening.kind {
            Kind::File => opening.group,
            _ => 0,
        };
        if group != 0 && self.groups.is_mapped(group, is_read) {
            return Some(Reason::Mapped);
        }
        if group != 0 && self.groups.was_used_since(group, lane.last, place, is_read) {
            return Some(Reason::SameFile);
        }
        if transfer.more || lane.has_more {
            return Some(Reason::More);
        }
        let gap_ns = self.piece.began_ns.saturating_sub(lane.ended_ns);
        (gap_ns > self.max_delay_ns).then_some(Reason::Gap)
    }
}

/// A read that took longer has waited for its bytes, in ns. Under strace one that does not wait takes
/// some 20 µs.
const WAITED_NS: u64 = 200_000;

impl Surroundings<'_> {
    /// Why a larger read of a pipe or socket would not have returned what these two did, or should not.
    fn crossing_of_stream(&self, opening: &Opening, lane: &Lane) -> Option<Reason> {
        // A FIFO is shown as a file is: who else has opened it does not show.
        let is_fifo = opening.kind == Kind::Pipe && opening.has_name();
        if opening.tables > 1 || is_fifo {
            return Some(Reason::OtherReaders);
        }
        if opening.shared_reads.is_some() {
            return opening.shared_reads;
        }
        if opening.is_inherited {
            return Some(Reason::InheritedReader);
        }
        let took_ns = self.piece.ended_ns.saturating_sub(self.piece.began_ns);
        if took_ns == 0 {
            return Some(Reason::StreamRead);
        }
        if took_ns > WAITED_NS {
            return Some(Reason::ReadWaited);
        }
        let thread = self.thread;
        if thread.released.0 > lane.last {
            return Some(thread.released.1);
        }
        (thread.streamed_out.by_any() > lane.last).then_some(Reason::Asked)
    }
}

/// What a thread did since an event that makes it unsound to merge a transfer after that with one
/// before.
#[inline(always)]
fn crossing_of_thread(
    thread: &Thread,
    place: u32,
    kind: Kind,
    is_read: bool,
    since: u64,
) -> Option<Reason> {
    if thread.waited.0 > since {
        return Some(thread.waited.1);
    }
    // What is written to a stream may be answered by it: that counts for its own writes, too.
    let heard = match is_read {
        true => thread.streamed_in.by_others(place),
        false => thread.streamed_in.by_any(),
    };
    if heard > since {
        return Some(Reason::PeerRead);
    }
    if is_read {
        return None;
    }
    if thread.released.0 > since {
        return Some(thread.released.1);
    }
    if thread.streamed_out.by_others(place) > since {
        return Some(Reason::OtherStream);
    }
    (kind == Kind::File && thread.looked > since).then_some(Reason::Looked)
}
