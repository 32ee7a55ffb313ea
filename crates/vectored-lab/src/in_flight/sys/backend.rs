//! What an interface of the kernel does.

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::process::abort;

use libc::iovec;

use crate::in_flight::interface::Interface;

/// The direction of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::in_flight) enum Operation {
    Write,
    Read,
}

/// A call: the whole of an array, at an offset or on a stream.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) operation: Operation,
    pub(super) fd: RawFd,
    /// At least one entry and at most `IOV_MAX`, none of them empty. Linux cuts a call at 2 GiB by itself, which is a
    /// short call.
    pub(super) array: *const iovec,
    pub(super) count: usize,
    pub(super) offset: Option<u64>,
    /// The descriptor is a pipe or socket that is open with `O_NONBLOCK`: the call fails with `EAGAIN` where it would wait.
    pub(super) is_non_blocking: bool,
}

/// An interface of the kernel.
pub(super) trait Backend {
    /// Takes a call over for a slot that has none. [`wait`](Backend::wait) may be needed for it to begin.
    ///
    /// # Safety
    ///
    /// Until `wait` has reported the end of the call, its array and the memory that this names stay as they are and
    /// valid; for a read, nothing else uses that memory.
    unsafe fn start(&mut self, slot: usize, call: Call);

    /// Waits until a call has ended, and adds all that have. There is a call in flight.
    fn wait(&mut self, ended: &mut VecDeque<Ended>);
}

/// The slot of a call that has ended; the bytes, or the code of the error.
pub(super) struct Ended {
    pub(super) slot: usize,
    pub(super) result: Result<usize, i32>,
}

/// Ends the process, since the kernel does not tell whether it still uses borrowed memory.
pub(super) fn cannot_wait(interface: Interface, error: &io::Error) -> ! {
    eprintln!(
        "vectored: {} does not tell whether its transfers have ended, so their buffers cannot be given back: {error}",
        interface.name()
    );
    abort()
}
