//! The link between a transfer and the transfer before it.

use crate::advisor::descriptors::open_file::OpenFile;
use crate::advisor::fd_kind::FdKind;
use crate::advisor::keys::DescriptorId;
use crate::advisor::runs::barriers::{Barrier, Call, Class};
use crate::advisor::runs::run::Link;
use crate::advisor::tracker::Tracker;
use vectored_report::sort;
use vectored_strace::event::{Direction, Transfer};

/// A read that took longer than this, in ns, waited for its bytes. Under strace, a read that does not wait takes about
/// 20 µs.
const WAITED_NS: u64 = 200_000;

impl Tracker {
    #[inline(always)]
    pub(super) fn link(&self, key: DescriptorId, transfer: &Transfer<'_>, sought: u64) -> Link {
        let is_read = transfer.direction == Direction::Read;
        let open_file = &self.kernel.open_files[key];
        let runs = &open_file.runs[usize::from(is_read)];
        let is_positional = transfer.offset.is_some();
        let is_elsewhere = transfer
            .offset
            .is_some_and(|offset| offset != runs.next_offset);
        if runs.last == 0 || runs.is_positional != is_positional || is_elsewhere {
            return Link::Broken;
        }
        if runs.last_caller.thread != self.thread {
            // The order of two threads is not an order of the program, unless one thread waited for the other.
            let program = self.kernel.processes[self.process].program;
            let is_listed = !is_read && self.groups.groups[open_file.group].listed.is_some();
            return match open_file.kind {
                _ if runs.last_caller.program != program => Link::Broken,
                FdKind::Unknown | FdKind::Socket => Link::Barrier(Barrier::UnknownTarget),
                FdKind::File if is_read && !is_positional => Link::Barrier(Barrier::SharedOffset),
                _ if is_listed => Link::Barrier(Barrier::SeveralWriters),
                _ => Link::Broken,
            };
        }
        if self.lost > runs.last {
            return Link::Barrier(Barrier::Unread);
        }
        if runs.number != transfer.descriptor.number
            && self.kernel.open_file_of(self.process, runs.number) == Some(key)
        {
            return Link::Barrier(Barrier::TwoDescriptors);
        }
        if runs.barrier == Some(Barrier::Reopened) {
            // The barrier holds, whatever else the program calls on the new descriptor.
            return Link::Barrier(Barrier::Reopened);
        }
        let has_own_offset = !is_positional && open_file.kind == FdKind::File;
        if has_own_offset && (is_read || sought != 0) {
            if open_file.fd_tables > 1 {
                return Link::Barrier(Barrier::SharedOffset);
            }
            if open_file.is_inherited {
                return Link::Barrier(Barrier::Inherited);
            }
        }
        if has_own_offset && sought != 0 {
            return match () {
                () if open_file.sought_size => Link::Barrier(Barrier::Size(Call::UNKNOWN)),
                () if open_file.sought_by != self.thread => Link::Barrier(Barrier::SharedOffset),
                () if open_file.may_be_fifo => Link::Barrier(Barrier::FileOrFifo),
                () => Link::Sought,
            };
        }
        let is_large = transfer.asked_bytes.unwrap_or(0) >= self.options.buffer_bytes;
        if is_read && (runs.is_large || is_large) {
            return Link::Broken;
        }
        match self.barrier_between(key, transfer) {
            Some(reason) => Link::Barrier(reason.of_any_call()),
            None => Link::Joined,
        }
    }

    #[inline(always)]
    fn barrier_between(&self, key: DescriptorId, transfer: &Transfer<'_>) -> Option<Barrier> {
        let open_file = &self.kernel.open_files[key];
        let thread = &self.kernel.threads[self.thread];
        let is_read = transfer.direction == Direction::Read;
        let runs = &open_file.runs[usize::from(is_read)];
        let is_file = open_file.kind == FdKind::File;
        match open_file.kind {
            FdKind::Unknown | FdKind::Socket => return Some(Barrier::UnknownTarget),
            FdKind::File if open_file.may_be_fifo => return Some(Barrier::FileOrFifo),
            FdKind::File | FdKind::Pipe if open_file.flags.direct => return Some(Barrier::Direct),
            FdKind::File | FdKind::Pipe if open_file.flags.unread => {
                return Some(Barrier::UnreadFlags);
            }
            FdKind::Pipe | FdKind::Unix | FdKind::Tcp if is_read => {
                let reason = self.barrier_of_stream_read(open_file);
                let request = || thread.request_since(runs.last);
                if let Some(reason) = reason.or_else(request) {
                    return Some(reason);
                }
            }
            _ if !is_read && (open_file.flags.sync || transfer.sync) => {
                return Some(Barrier::SyncFlag);
            }
            _ => {}
        }
        let of_file = self.barrier_of_file(key, is_read);
        // If another process can see the file at any time, all writes to the file are listed, whatever else lies
        // between them.
        if matches!(
            of_file,
            Some(Barrier::Observed | Barrier::Submitted | Barrier::Watched)
        ) {
            return of_file;
        }
        let submitted = self.submitted.get(&self.process).copied().unwrap_or(0);
        let synced = self.synced.by_others(self.thread);
        let process = &self.kernel.processes[self.process];
        let gap_ns = self.call.began_ns.saturating_sub(runs.ended_ns);
        let since = |event: u64, reason: Barrier| (event > runs.last).then_some(reason);
        let is_more = transfer.more || runs.has_more || open_file.is_corked;
        runs.barrier
            .or_else(|| since(submitted, Barrier::Submitted))
            .or_else(|| thread.barrier_since(runs.last, key, is_read, is_file))
            .or_else(|| since(process.forked, Barrier::Process(Call::UNKNOWN)).filter(|_| !is_read))
            .or_else(|| since(self.looked_at, Barrier::Stat).filter(|_| !is_read && is_file))
            .or_else(|| since(synced, Barrier::SyncElsewhere).filter(|_| !is_read && is_file))
            .or(of_file)
            .or_else(|| is_more.then_some(Barrier::More))
            .or_else(|| (gap_ns > self.options.max_delay_ns).then_some(Barrier::Gap))
    }

    #[inline]
    fn barrier_of_file(&self, key: DescriptorId, is_read: bool) -> Option<Barrier> {
        let open_file = &self.kernel.open_files[key];
        if open_file.kind != FdKind::File {
            return None;
        }
        let runs = &open_file.runs[usize::from(is_read)];
        let by = (runs.last_caller.process, runs.last_caller.thread);
        self.groups
            .barrier_since(open_file.group, runs.last, key, by, is_read)
    }

    fn barrier_of_stream_read(&self, open_file: &OpenFile) -> Option<Barrier> {
        // A pipe with a name is a FIFO, which other processes may have opened.
        let is_fifo = open_file.kind == FdKind::Pipe && open_file.name().first() == Some(&b'/');
        let took_ns = self.call.ended_ns.saturating_sub(self.call.began_ns);
        if open_file.fd_tables > 1 || is_fifo {
            Some(Barrier::OtherReaders)
        } else if open_file.shared_reads.is_some() {
            open_file.shared_reads
        } else if open_file.is_inherited {
            Some(Barrier::InheritedReader)
        } else if took_ns == 0 {
            Some(Barrier::StreamRead)
        } else {
            (took_ns > WAITED_NS).then_some(Barrier::ReadWaited)
        }
    }

    /// The barriers since the last transfer in one direction. No buffer may hold bytes across them. From the own
    /// thread: the first barrier that the program shows, any barrier before that, and the barriers that matter most.
    /// From other threads: all barriers.
    pub(super) fn find_ends(&self, key: DescriptorId, is_read: bool) -> Vec<Barrier> {
        let (mut ends, mut own) = (Vec::new(), Vec::new());
        let open_file = &self.kernel.open_files[key];
        let runs = &open_file.runs[usize::from(is_read)];
        let is_file = open_file.kind == FdKind::File;
        let last = runs.last_caller;
        ends.extend(self.barrier_of_file(key, is_read));
        if is_file && !is_read && self.synced.by_others(last.thread) > runs.last {
            ends.push(Barrier::SyncElsewhere);
        }
        if self.lost > runs.last {
            ends.push(Barrier::Unread);
        }
        if self.kernel.processes[last.process].forked > runs.last && !is_read {
            ends.push(Barrier::Process(Call("fork")));
        }
        let mut add = |reason| {
            if !ends.contains(&reason) {
                ends.push(reason);
            }
        };
        for &(event, reason) in &runs.barriers {
            if reason.is_elsewhere() {
                add(reason);
            } else {
                own.push((event, reason));
            }
        }
        let thread = &self.kernel.threads[last.thread];
        for one in thread.barriers_since(runs.last, key, is_read, is_file) {
            // If the barrier was first set before the last transfer, it may have been set again at any event up to
            // `one.last`.
            let is_vague = one.first <= runs.last;
            if is_vague {
                add(one.reason);
            }
            own.push((if is_vague { one.last } else { one.first }, one.reason));
        }
        sort::sort_by_key(&mut own, |(event, _)| *event);
        let is_implicit =
            |reason: Barrier| reason.class() == Class::Implicit || reason == Barrier::Unread;
        let shows = own.iter().position(|(_, reason)| !is_implicit(*reason));
        for (place, &(_, reason)) in own.iter().enumerate() {
            if place == 0 || Some(place) == shows || !is_read && reason.class() == Class::Strong {
                add(reason);
            }
        }
        ends
    }
}
