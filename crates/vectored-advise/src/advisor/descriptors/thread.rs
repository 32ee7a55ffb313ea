//! A thread of a log.

use std::collections::VecDeque;

use crate::advisor::descriptors::keys::{DescriptorId, ProcessId, Serial};
use crate::advisor::descriptors::latest::Latest;
use crate::advisor::runs::barriers::Barrier;

const BARRIERS_MAX: usize = 32;

/// A barrier that a thread set, once or several times without another one in between.
#[derive(Clone, Copy, Debug)]
struct OwnBarrier {
    reason: Barrier,
    /// The open file description of the call, or `DescriptorId::NONE`.
    by: DescriptorId,
    waits: bool,
    first: u64,
    last: u64,
}

/// A thread, and its last events that matter to runs.
#[derive(Debug, Default)]
pub(crate) struct Thread {
    pub(crate) process: ProcessId,
    pub(super) number: u32,
    /// 1-based index in order of first appearance.
    pub(crate) serial: Serial,
    pub(crate) last: u64,
    /// The least time that strace added to its calls so far, and the time that it was preempted, in ns.
    pub(crate) delayed_ns: u64,
    pub(crate) last_wait: (u64, Barrier),
    /// The last event after which another process may rely on earlier writes, and its barrier.
    pub(crate) last_exposure: (u64, Barrier),
    /// Its last barriers, in the order of time.
    barriers: VecDeque<OwnBarrier>,
    /// When its last call began, in ns, as the log has it.
    pub(crate) began_ns: u64,
    /// Hashes of the files that it asked for last.
    asked: [u64; 4],
    /// The last event of `poll` or the like, and the number of descriptors that were ready.
    pub(crate) polled: (u64, u64),
    pub(crate) polled_ns: u64,
    /// When the last answer over TCP came, in ns.
    pub(crate) answered_ns: u64,
    /// The last event of a sleep.
    pub(crate) slept: u64,
    /// The last event that may have read the size of a file.
    pub(crate) last_stat: u64,
    /// The last writes to files, by open file description.
    pub(crate) filed_out: Latest<DescriptorId>,
    /// The last overwrites of bytes that a file has, by open file description.
    pub(crate) placed_out: Latest<DescriptorId>,
    /// The last writes to what has a peer, by open file description.
    pub(crate) streamed_out: Latest<DescriptorId>,
    /// The last reads from what has a peer, by open file description.
    pub(crate) streamed_in: Latest<DescriptorId>,
    /// The last reads of files that may be waits for what others write, by open file description.
    pub(crate) polled_in: Latest<DescriptorId>,
}

impl Thread {
    pub(super) fn new(number: u32, process: ProcessId, serial: Serial) -> Thread {
        Thread {
            process,
            number,
            serial,
            ..Thread::default()
        }
    }

    pub(crate) fn wait(&mut self, event: u64, reason: Barrier) {
        self.last_wait = (event, reason);
        self.note(event, reason, (DescriptorId::NONE, true));
    }

    /// Notes an event after which another process may rely on earlier writes.
    pub(crate) fn expose(&mut self, event: u64, reason: Barrier) {
        self.last_exposure = (event, reason);
        self.note(event, reason, (DescriptorId::NONE, false));
    }

    /// Notes a barrier, with the open file description of the call, or `DescriptorId::NONE`, and whether it waits.
    pub(crate) fn note(&mut self, event: u64, reason: Barrier, (by, waits): (DescriptorId, bool)) {
        match self.barriers.back_mut() {
            Some(last) if (last.reason, last.by, last.waits) == (reason, by, waits) => {
                last.last = event;
            }
            _ => {
                if self.barriers.len() >= BARRIERS_MAX {
                    self.barriers.pop_front();
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

    /// The barriers since `event` to transfers through an open file description, each with false and its first event.
    /// One that was also set before `event` has true and its last event: it may have come at any time up to that one.
    pub(crate) fn barriers_since(
        &self,
        event: u64,
        key: DescriptorId,
        is_read: bool,
        is_file: bool,
    ) -> impl Iterator<Item = (bool, u64, Barrier)> {
        let concerns = move |one: &&OwnBarrier| match one.reason {
            _ if is_read => one.waits && one.by != key,
            Barrier::OtherStream
            | Barrier::StreamClosed
            | Barrier::SyncOther
            | Barrier::InPlace => one.by != key,
            Barrier::Stat => is_file,
            _ => true,
        };
        let since = self.barriers.partition_point(|one| one.last <= event);
        self.barriers
            .range(since..)
            .filter(concerns)
            .map(move |one| {
                if one.first > event {
                    (false, one.first, one.reason)
                } else {
                    (true, one.last, one.reason)
                }
            })
    }

    /// Notes that it asks for a file, and returns whether it did so a moment ago.
    pub(crate) fn asks_again(&mut self, file: u64) -> bool {
        if self.asked.contains(&file) {
            return true;
        }
        self.asked.rotate_right(1);
        self.asked[0] = file;
        false
    }
}
