//! The link between a transfer and the one before it.

use crate::advisor::descriptors::fd_kind::FdKind;
use crate::advisor::descriptors::keys::{DescriptorId, GroupId, Serial};
use crate::advisor::descriptors::latest::Latest;
use crate::advisor::descriptors::open_file::OpenFile;
use crate::advisor::descriptors::same_file::FileGroups;
use crate::advisor::descriptors::thread::Thread;
use crate::advisor::runs::barriers::{Barrier, Call};
use crate::advisor::runs::run::{MergeLimits, RunCall};
use crate::advisor::runs::run_builder::{DirectionRuns, Link};
use vectored_report::sort;
use vectored_strace::event::{Direction, Transfer};

/// The state around a transfer, besides its open file description.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkContext<'a> {
    pub(super) thread: &'a Thread,
    pub(super) program: u32,
    /// The event since which transfers of its process may not show.
    pub(super) submitted: u64,
    /// The last event at which any thread may have made any call.
    pub(super) lost: u64,
    pub(super) forked: u64,
    /// Whether the transfer before it went through another descriptor of the process, which is still open.
    pub(super) takes_turns: bool,
    /// The last event that may have asked for the size of any file.
    pub(super) looked_at: u64,
    /// The last sync of all files by another thread.
    pub(super) synced: u64,
    pub(super) groups: &'a FileGroups,
    pub(super) call: &'a RunCall,
    pub(super) limits: MergeLimits,
    pub(super) max_delay_ns: u64,
}

impl LinkContext<'_> {
    /// The link between a transfer and the one before it in the same direction.
    #[inline(always)]
    pub(super) fn link(
        &self,
        key: DescriptorId,
        open_file: &OpenFile,
        transfer: &Transfer<'_>,
        sought: u64,
    ) -> Link {
        let is_read = transfer.direction == Direction::Read;
        let thread = self.thread;
        let runs = &open_file.runs[usize::from(is_read)];
        let is_positional = transfer.offset.is_some();
        if runs.last == 0 || runs.is_positional != is_positional {
            return Link::Broken;
        }
        if let Some(offset) = transfer.offset
            && offset != runs.next_offset
        {
            return Link::Broken;
        }
        if runs.last_caller.thread != thread.serial {
            return if runs.last_caller.program == self.program {
                self.after_another_thread(open_file, is_read, is_positional)
            } else {
                Link::Broken
            };
        }
        if self.lost > runs.last {
            return Link::Barrier(Barrier::Unread);
        }
        if self.takes_turns {
            return Link::Barrier(Barrier::TwoDescriptors);
        }
        if runs.barrier == Some(Barrier::Reopened) {
            // This holds whatever else the program calls on its new descriptor.
            return Link::Barrier(Barrier::Reopened);
        }
        let is_shared = open_file.fd_tables > 1;
        if is_read || sought != 0 && !is_positional {
            let own_offset = !is_positional && open_file.kind == FdKind::File;
            if own_offset && (is_shared || open_file.is_inherited) {
                return Link::Barrier(if is_shared {
                    Barrier::SharedOffset
                } else {
                    Barrier::Inherited
                });
            }
        }
        if sought != 0 && !is_positional && open_file.kind == FdKind::File {
            if open_file.sought_size {
                return Link::Barrier(Barrier::Size(Call::UNKNOWN));
            }
            if open_file.sought_by != thread.serial {
                return Link::Barrier(Barrier::SharedOffset);
            }
            if open_file.may_be_fifo {
                return Link::Barrier(Barrier::FileOrFifo);
            }
            let has_between = thread.last != sought;
            return Link::Sought { has_between };
        }
        if is_read
            && (runs.is_large || transfer.asked_bytes.unwrap_or(0) >= self.limits.buffer_bytes)
        {
            return Link::Broken;
        }
        match self.barrier_between(key, open_file, transfer) {
            Some(reason) => Link::Barrier(reason.of_any_call()),
            None => Link::Joined {
                has_between: thread.last != runs.last,
            },
        }
    }

    /// The link between transfers of two threads: their order is not the program's own, unless one
    /// thread waited for the other.
    fn after_another_thread(
        &self,
        open_file: &OpenFile,
        is_read: bool,
        is_positional: bool,
    ) -> Link {
        match open_file.kind {
            FdKind::Unknown | FdKind::Socket => Link::Barrier(Barrier::UnknownTarget),
            FdKind::File if is_read && !is_positional => Link::Barrier(Barrier::SharedOffset),
            _ if !is_read && self.groups.get(open_file.group).listed.is_some() => {
                Link::Barrier(Barrier::SeveralWriters)
            }
            _ => Link::Broken,
        }
    }

    #[inline(always)]
    fn barrier_between(
        &self,
        key: DescriptorId,
        open_file: &OpenFile,
        transfer: &Transfer<'_>,
    ) -> Option<Barrier> {
        let thread = self.thread;
        let is_read = transfer.direction == Direction::Read;
        let runs = &open_file.runs[usize::from(is_read)];
        match open_file.kind {
            FdKind::Unknown | FdKind::Socket => return Some(Barrier::UnknownTarget),
            FdKind::File if open_file.may_be_fifo => return Some(Barrier::FileOrFifo),
            FdKind::File | FdKind::Pipe if open_file.flags.direct => return Some(Barrier::Direct),
            FdKind::File | FdKind::Pipe if open_file.flags.unread => {
                return Some(Barrier::UnreadFlags);
            }
            FdKind::Pipe | FdKind::Unix | FdKind::Tcp if is_read => {
                let reason = self.barrier_of_stream_read(open_file, runs);
                if reason.is_some() {
                    return reason;
                }
            }
            _ if !is_read && (open_file.flags.sync || transfer.sync) => {
                return Some(Barrier::SyncFlag);
            }
            _ => {}
        }
        let group = match open_file.kind {
            FdKind::File => open_file.group,
            _ => GroupId::NONE,
        };
        let own = barrier_of_thread(thread, key, open_file.kind, is_read, runs.last);
        let of_file = if group != GroupId::NONE {
            self.groups.barrier_since(
                group,
                runs.last,
                key,
                (thread.process, thread.serial),
                is_read,
            )
        } else {
            None
        };
        // If others can see the file at any time, all writes to it are listed, whatever else lies between them.
        if matches!(
            of_file,
            Some(Barrier::Observed | Barrier::Submitted | Barrier::Watched)
        ) {
            return of_file;
        }
        if runs.barrier.is_some() {
            return runs.barrier;
        }
        if self.submitted > runs.last {
            return Some(Barrier::Submitted);
        }
        if own.is_some() {
            return own;
        }
        if !is_read && self.forked > runs.last {
            return Some(Barrier::Process(Call::UNKNOWN));
        }
        if !is_read && group != GroupId::NONE && self.looked_at > runs.last {
            return Some(Barrier::Stat);
        }
        if !is_read && group != GroupId::NONE && self.synced > runs.last {
            return Some(Barrier::SyncElsewhere);
        }
        if of_file.is_some() {
            return of_file;
        }
        if transfer.more || runs.has_more || open_file.is_corked {
            return Some(Barrier::More);
        }
        let gap_ns = self.call.began_ns.saturating_sub(runs.ended_ns);
        (gap_ns > self.max_delay_ns).then_some(Barrier::Gap)
    }
}

/// A read that took longer than this waited for its bytes, in ns. Under strace a read without wait takes
/// about 20 µs.
const WAITED_NS: u64 = 200_000;

impl LinkContext<'_> {
    /// The barrier to one larger read of a pipe or socket in place of two.
    fn barrier_of_stream_read(
        &self,
        open_file: &OpenFile,
        runs: &DirectionRuns,
    ) -> Option<Barrier> {
        // A pipe with a name is a FIFO, which other processes may have opened.
        let is_fifo = open_file.kind == FdKind::Pipe && open_file.has_name();
        if open_file.fd_tables > 1 || is_fifo {
            return Some(Barrier::OtherReaders);
        }
        if open_file.shared_reads.is_some() {
            return open_file.shared_reads;
        }
        if open_file.is_inherited {
            return Some(Barrier::InheritedReader);
        }
        let took_ns = self.call.ended_ns.saturating_sub(self.call.began_ns);
        if took_ns == 0 {
            return Some(Barrier::StreamRead);
        }
        if took_ns > WAITED_NS {
            return Some(Barrier::ReadWaited);
        }
        let thread = self.thread;
        if thread.last_exposure.0 > runs.last {
            return Some(thread.last_exposure.1);
        }
        (thread.streamed_out.by_any() > runs.last).then_some(Barrier::Request)
    }
}

/// The barrier by the events of a thread since one of its transfers.
#[inline(always)]
fn barrier_of_thread(
    thread: &Thread,
    key: DescriptorId,
    kind: FdKind,
    is_read: bool,
    since: u64,
) -> Option<Barrier> {
    if thread.last_wait.0 > since {
        return Some(thread.last_wait.1);
    }
    // A write to a stream may be answered on the same stream, so a read of it also counts for its own writes.
    let heard = if is_read {
        thread.streamed_in.by_others(key)
    } else {
        thread.streamed_in.by_any()
    };
    if heard > since {
        return Some(Barrier::PeerRead);
    }
    let polled = if is_read {
        thread.polled_in.by_others(key)
    } else {
        thread.polled_in.by_any()
    };
    if polled > since {
        return Some(Barrier::Polled);
    }
    if is_read {
        return None;
    }
    if thread.last_exposure.0 > since {
        return Some(thread.last_exposure.1);
    }
    if thread.streamed_out.by_others(key) > since {
        return Some(Barrier::OtherStream);
    }
    if thread.placed_out.by_others(key) > since {
        return Some(Barrier::InPlace);
    }
    (kind == FdKind::File && thread.last_stat > since).then_some(Barrier::Stat)
}

/// The barriers since the last transfer in a direction that a buffer may not outlive. Of the own thread: the first one
/// that its program shows, any before that, and the ones that matter most. Also the barriers of other threads.
pub(super) fn barriers_since_last(
    key: DescriptorId,
    open_file: &OpenFile,
    is_read: bool,
    thread: Option<&Thread>,
    (groups, synced, lost, forked): (&FileGroups, &Latest<Serial>, u64, u64),
    (into, own): &mut (Vec<Barrier>, Vec<(u64, Barrier)>),
) {
    let runs = &open_file.runs[usize::from(is_read)];
    into.clear();
    let is_file = open_file.kind == FdKind::File;
    let caller = runs.last_caller;
    if is_file {
        let by = (caller.process, caller.thread);
        into.extend(groups.barrier_since(open_file.group, runs.last, key, by, is_read));
    }
    if is_file && !is_read && synced.by_others(caller.thread) > runs.last {
        into.push(Barrier::SyncElsewhere);
    }
    if lost > runs.last {
        into.push(Barrier::Unread);
    }
    if forked > runs.last && !is_read {
        into.push(Barrier::Process(Call::of(b"fork")));
    }
    let mut add = |reason| {
        if !into.contains(&reason) {
            into.push(reason);
        }
    };
    own.clear();
    for &(event, reason) in &runs.barriers {
        if reason.is_elsewhere() {
            add(reason);
        } else {
            own.push((event, reason));
        }
    }
    if let Some(thread) = thread.filter(|thread| thread.serial == caller.thread) {
        for (is_vague, event, reason) in thread.barriers_since(runs.last, key, is_read, is_file) {
            if is_vague {
                add(reason);
            }
            own.push((event, reason));
        }
    }
    if !own.is_sorted_by_key(|(event, _)| *event) {
        sort::sort_by_key(own, |(event, _)| *event);
    }
    let shows = own.iter().position(|(_, reason)| !reason.is_implicit());
    for (place, &(_, reason)) in own.iter().enumerate() {
        if place == 0 || Some(place) == shows || !is_read && reason.is_strong() {
            add(reason);
        }
    }
}
