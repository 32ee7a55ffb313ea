//! A thread of a log.

use std::cmp::Reverse;
use std::collections::VecDeque;

use crate::advisor::descriptors::latest::Latest;
use crate::advisor::keys::{DescriptorId, ProcessId};
use crate::advisor::runs::barriers::Barrier;

const BARRIERS_MAX: usize = 32;

/// A barrier that a thread set, once or several times, with no other barrier in between.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnBarrier {
    pub(crate) reason: Barrier,
    by: DescriptorId,
    waits: bool,
    pub(crate) first: u64,
    pub(crate) last: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Thread {
    pub(crate) process: ProcessId,
    pub(crate) last: u64,
    /// The least time that strace added to the thread's calls so far, plus the time without a CPU, in ns.
    pub(crate) delayed_ns: u64,
    barriers: VecDeque<OwnBarrier>,
    /// The last dropped barriers: the first does not wait, the second waits.
    dropped: [Option<OwnBarrier>; 2],
    pub(crate) began_ns: u64,
    /// The hashes of the files that the thread asked for last.
    asked: [u64; 4],
    /// The last event of `poll` or a similar call, and the number of descriptors that were ready.
    pub(crate) polled: (u64, u64),
    pub(crate) polled_ns: u64,
    pub(crate) answered_ns: u64,
    pub(crate) slept: u64,
    pub(crate) filed_out: Latest<DescriptorId>,
}

impl Thread {
    /// Notes a barrier and whether it waits. `by` is the open file description of the call, or `DescriptorId::NONE`.
    pub(crate) fn note(&mut self, event: u64, reason: Barrier, by: DescriptorId, waits: bool) {
        match self.barriers.back_mut() {
            Some(last) if (last.reason, last.by, last.waits) == (reason, by, waits) => {
                last.last = event;
            }
            _ => {
                if self.barriers.len() >= BARRIERS_MAX
                    && let Some(old) = self.barriers.pop_front()
                {
                    self.dropped[usize::from(old.waits)] = Some(old);
                }
                self.barriers.push_back(OwnBarrier {
                    reason,
                    by,
                    waits,
                    first: event,
                    last: event,
                });
            }
        }
    }

    fn since(&self, event: u64) -> impl Iterator<Item = &OwnBarrier> {
        let since = self.barriers.partition_point(|one| one.last <= event);
        self.barriers.range(since..)
    }

    /// The barriers since `event` to transfers through an open file description. A barrier that was set several times
    /// may also have been set before `event`.
    pub(crate) fn barriers_since(
        &self,
        event: u64,
        key: DescriptorId,
        is_read: bool,
        is_file: bool,
    ) -> impl Iterator<Item = &OwnBarrier> {
        self.since(event).filter(move |one| match one.reason {
            // A write to a stream may be answered on the same stream. So a read of the stream also counts for the
            // writes to the stream.
            _ if is_read => one.waits && one.by != key,
            Barrier::OtherStream
            | Barrier::StreamClosed
            | Barrier::SyncOther
            | Barrier::InPlace => one.by != key,
            Barrier::Stat => is_file,
            _ => true,
        })
    }

    /// The most telling barrier since `event`.
    #[inline(always)]
    pub(crate) fn barrier_since(
        &self,
        event: u64,
        key: DescriptorId,
        is_read: bool,
        is_file: bool,
    ) -> Option<Barrier> {
        let rank = |one: &&OwnBarrier| match one.reason {
            _ if one.waits && one.by == DescriptorId::NONE => 0,
            Barrier::PeerRead => 1,
            Barrier::Polled => 2,
            Barrier::OtherStream => 4,
            Barrier::InPlace => 5,
            Barrier::Stat => 6,
            _ => 3,
        };
        let known = self.barriers_since(event, key, is_read, is_file);
        let known = known.min_by_key(|one| (rank(one), Reverse(one.last)));
        let mut dropped = self.dropped[usize::from(is_read)..].iter().flatten();
        let dropped = || dropped.find(|one| one.last > event);
        known.or_else(dropped).map(|one| one.reason)
    }

    /// The barrier since `event` to a larger read of a stream: another process may rely on earlier writes, and answer
    /// them.
    pub(crate) fn request_since(&self, event: u64) -> Option<Barrier> {
        let others = self.since(event).filter(|one| !one.waits);
        let others = others.filter(|one| !matches!(one.reason, Barrier::Stat | Barrier::InPlace));
        let is_write = |one: &&OwnBarrier| one.reason == Barrier::OtherStream;
        let last = others.min_by_key(|one| (is_write(one), Reverse(one.last)))?;
        Some(if is_write(&last) { Barrier::Request } else { last.reason })
    }

    /// Notes that the thread asks for a file. Returns whether the file is among the last files that the thread asked
    /// for.
    pub(crate) fn asks_again(&mut self, file: u64) -> bool {
        if self.asked.contains(&file) {
            return true;
        }
        self.asked.rotate_right(1);
        self.asked[0] = file;
        false
    }
}
