//! io_uring(7).

use std::collections::VecDeque;
use std::io;
use std::thread;

use io_uring::types::Fd;
use io_uring::{IoUring, opcode, squeue};
use vectored::MAX_CALL_BYTES;

use crate::in_flight::sys::backend::{
    Backend, Call, Ended, MAX_REFUSALS, Operation, PAUSE, cannot_wait,
};

/// The position of a descriptor: "-1" of io_uring_enter(2). Streams have none.
const AT_POSITION: u64 = u64::MAX;

pub(super) struct Ring(IoUring);

impl Ring {
    /// A ring for up to `depth` calls.
    pub(super) fn new(depth: u32) -> io::Result<Ring> {
        // The queues of a forked child would be those of its parent.
        let mut ring = IoUring::builder().dontfork().build(depth)?;
        let params = ring.params();
        // The last of these came with Linux 5.6.
        let has_features = params.is_feature_nodrop() && params.is_feature_rw_cur_pos();
        if !has_features {
            return Err(io::ErrorKind::Unsupported.into());
        }
        probe(&mut ring)?;
        Ok(Ring(ring))
    }
}

/// Has an empty ring make a call that does nothing: a sandbox may allow io_uring_setup(2) alone.
pub(super) fn probe(ring: &mut IoUring) -> io::Result<()> {
    // SAFETY: the entry names no memory.
    let pushed = unsafe { ring.submission().push(&opcode::Nop::new().build()) };
    pushed.expect("an empty submission queue has room");
    loop {
        match ring.submit_and_wait(1) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => {
                result?;
                break;
            }
        }
    }
    let _nothing = ring.completion().next();
    Ok(())
}

impl Backend for Ring {
    unsafe fn start(&mut self, slot: usize, call: Call) {
        let entry = entry(&call).user_data(slot as u64);
        // SAFETY: the caller keeps the array and the memory that it names until the completion.
        let pushed = unsafe { self.0.submission().push(&entry) };
        // Each slot has one entry at most, and there are as many entries as slots.
        pushed.expect("there is an entry for each slot");
    }

    fn wait(&mut self, ended: &mut VecDeque<Ended>) {
        let ring = &mut self.0;
        let mut refusals = 0;
        loop {
            // A call that has ended needs no wait, but new ones need to be submitted.
            if !ring.submission().is_empty() || ring.completion().is_empty() {
                match ring.submit_and_wait(1) {
                    Ok(_) => {}
                    Err(error) => match error.raw_os_error() {
                        Some(libc::EINTR) => {}
                        Some(libc::EAGAIN | libc::EBUSY | libc::ENOMEM)
                            if refusals < MAX_REFUSALS =>
                        {
                            refusals += 1;
                            thread::sleep(PAUSE);
                        }
                        _ => cannot_wait("io_uring_enter", &error),
                    },
                }
            }
            let before = ended.len();
            ended.extend(ring.completion().map(|completion| Ended {
                // It came from a `usize`.
                slot: completion.user_data() as usize,
                result: match completion.result() {
                    error @ ..0 => Err(-error),
                    moved => Ok(moved as usize),
                },
            }));
            if ended.len() > before {
                return;
            }
        }
    }
}

/// A plain read or write where there is one segment.
fn entry(call: &Call) -> squeue::Entry {
    let fd = Fd(call.fd);
    let offset = call.offset.unwrap_or(AT_POSITION);
    let count = call.count as u32;
    // Otherwise io_uring waits until a non-blocking pipe or socket is ready.
    let flags = match call.is_non_blocking {
        true => libc::RWF_NOWAIT,
        false => 0,
    };
    // SAFETY: the array has `count` entries, and at least one.
    let first = unsafe { *call.array };
    // Of one segment a call takes no more in any case.
    let first_bytes = first.iov_len.min(MAX_CALL_BYTES) as u32;
    match (call.operation, call.count) {
        (Operation::Write, 1) => opcode::Write::new(fd, first.iov_base.cast(), first_bytes)
            .offset(offset)
            .rw_flags(flags)
            .build(),
        (Operation::Write, _) => opcode::Writev::new(fd, call.array, count)
            .offset(offset)
            .rw_flags(flags)
            .build(),
        (Operation::Read, 1) => opcode::Read::new(fd, first.iov_base.cast(), first_bytes)
            .offset(offset)
            .rw_flags(flags)
            .build(),
        (Operation::Read, _) => opcode::Readv::new(fd, call.array, count)
            .offset(offset)
            .rw_flags(flags)
            .build(),
    }
}
