//! What an interface of the kernel does.

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::process::abort;
use std::time::Duration;

use libc::iovec;

/// The pause before a system call is made again for which the kernel had no memory.
pub(super) const PAUSE: Duration = Duration::from_millis(1);

/// After so many refusals in a row, a call is not made again.
pub(super) const MAX_REFUSALS: u32 = 1000;

/// The error of a call in a forked child.
pub(super) const FORKED: &str = "this process is a fork of the one that made the queue, which the child cannot use: make a queue in \
    the child";

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
    #[cfg_attr(
        not(all(
            target_os = "linux",
            target_pointer_width = "64",
            target_endian = "little"
        )),
        expect(dead_code, reason = "for io_uring alone")
    )]
    /// The descriptor is a pipe or socket that is open with `O_NONBLOCK`: the call fails with `EAGAIN` where it would wait.
    pub(super) is_non_blocking: bool,
}

/// An interface of the kernel.
pub(super) trait Backend {
    /// Takes a call over for a slot that has none, or panics without having taken it. [`wait`](Backend::wait) may be needed
    /// for it to begin.
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

/// Aborts the process: the kernel may still use borrowed memory. `call` is the system call that failed.
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "for interfaces of Linux")
)]
pub(super) fn cannot_wait(call: &str, error: &io::Error) -> ! {
    eprintln!(
        "vectored: {call} failed while transfers were in flight: {error}; the process is aborted because the kernel may \
         still use their buffers"
    );
    abort()
}
