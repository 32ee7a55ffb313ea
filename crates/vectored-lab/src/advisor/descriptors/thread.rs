//! A thread of a log.

use crate::advisor::descriptors::latest::Latest;
use crate::advisor::descriptors::process_id::ProcessId;
use crate::advisor::runs::barriers::Reason;

/// A thread: what it did since any of its transfers.
#[derive(Debug)]
pub(crate) struct Thread {
    /// Its process.
    pub(crate) process: ProcessId,
    pub(super) number: u32,
    /// Of all threads of the log, the how manieth it is, from 1.
    pub(crate) serial: u64,
    /// Its last event.
    pub(crate) last: u64,
    /// What strace has added to its calls so far, at least, in ns.
    pub(crate) delayed_ns: u64,
    /// The last that waited.
    pub(crate) waited: (u64, Reason),
    /// The last that let others see what was done before.
    pub(crate) released: (u64, Reason),
    /// The last that may have seen the size of a file.
    pub(crate) looked: u64,
    /// The last writes to files, by opening.
    pub(crate) filed_out: Latest,
    /// The last writes to what has a peer, by opening.
    pub(crate) streamed_out: Latest,
    /// The last reads from what has a peer, by opening.
    pub(crate) streamed_in: Latest,
}

impl Thread {
    pub(super) fn new(number: u32, process: ProcessId, serial: u64) -> Thread {
        Thread {
            process,
            number,
            serial,
            last: 0,
            delayed_ns: 0,
            waited: (0, Reason::UnknownCall),
            released: (0, Reason::UnknownCall),
            looked: 0,
            filed_out: Latest::default(),
            streamed_out: Latest::default(),
            streamed_in: Latest::default(),
        }
    }
}
