//! A thread of a log.

use crate::advisor::descriptors::latest::Latest;
use crate::advisor::descriptors::process_id::ProcessId;
use crate::advisor::runs::barriers::Barrier;

/// A thread, and its last events that matter to runs.
#[derive(Debug)]
pub(crate) struct Thread {
    /// Its process.
    pub(crate) process: ProcessId,
    pub(super) number: u32,
    /// 1-based index in order of first appearance.
    pub(crate) serial: u64,
    /// Its last event.
    pub(crate) last: u64,
    /// When its last call ended, in ns; 0 if unknown.
    pub(crate) ended_ns: u64,
    /// Time that strace added to its calls so far, at least, in ns.
    pub(crate) delayed_ns: u64,
    /// The last event that waited, and its barrier.
    pub(crate) last_wait: (u64, Barrier),
    /// The last event after which another process may rely on earlier writes, and its barrier.
    pub(crate) last_exposure: (u64, Barrier),
    /// The last event of `poll` or the like, and the number of descriptors that were ready.
    pub(crate) polled: (u64, u64),
    /// The time of all its polls, in ns.
    pub(crate) polled_ns: u64,
    /// When the last answer over TCP came, in ns.
    pub(crate) answered_ns: u64,
    /// The last event of a sleep.
    pub(crate) slept: u64,
    /// The last event that may have read the size of a file.
    pub(crate) last_stat: u64,
    /// The last writes to files, by open file description.
    pub(crate) filed_out: Latest,
    /// The last writes to what has a peer, by open file description.
    pub(crate) streamed_out: Latest,
    /// The last reads from what has a peer, by open file description.
    pub(crate) streamed_in: Latest,
}

impl Thread {
    pub(super) fn new(number: u32, process: ProcessId, serial: u64) -> Thread {
        Thread {
            process,
            number,
            serial,
            last: 0,
            ended_ns: 0,
            delayed_ns: 0,
            last_wait: (0, Barrier::UnknownCall),
            last_exposure: (0, Barrier::UnknownCall),
            polled: (0, 0),
            polled_ns: 0,
            answered_ns: 0,
            slept: 0,
            last_stat: 0,
            filed_out: Latest::default(),
            streamed_out: Latest::default(),
            streamed_in: Latest::default(),
        }
    }
}
