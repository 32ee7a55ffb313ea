//! Calls that move bytes from one descriptor to another within the kernel, each made once, at the positions of the
//! descriptors. One that fails has moved nothing: after a part it returns the count of that.

use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::pipe::SpliceFlags;

use crate::descriptor::borrowed::BorrowedDescriptor;

/// `copy_file_range(2)`.
pub(crate) fn copy_file_range(
    from: BorrowedDescriptor<'_>,
    to: BorrowedDescriptor<'_>,
    most: usize,
) -> io::Result<usize> {
    Ok(rustix::fs::copy_file_range(from, None, to, None, most)?)
}

/// `sendfile(2)`.
pub(crate) fn sendfile(
    from: BorrowedDescriptor<'_>,
    to: BorrowedDescriptor<'_>,
    most: usize,
) -> io::Result<usize> {
    Ok(rustix::fs::sendfile(to, from, None, most)?)
}

/// `splice(2)`, which waits unless one of the two does not.
///
/// Without `SPLICE_F_MORE`: a TCP socket would hold the last bytes back.
pub(crate) fn splice(
    from: BorrowedDescriptor<'_>,
    to: BorrowedDescriptor<'_>,
    most: usize,
) -> io::Result<usize> {
    let flags = SpliceFlags::empty();
    Ok(rustix::pipe::splice(from, None, to, None, most, flags)?)
}

/// Whether a move that would block was stopped by the output, which does not wait: the input has bytes or has ended.
pub(crate) fn is_output_full(
    from: BorrowedDescriptor<'_>,
    to: BorrowedDescriptor<'_>,
) -> io::Result<bool> {
    Ok(is_ready(from, PollFlags::IN)? && is_nonblocking(to)?)
}

pub(crate) fn is_nonblocking(fd: BorrowedDescriptor<'_>) -> io::Result<bool> {
    Ok(rustix::fs::fcntl_getfl(fd)?.contains(OFlags::NONBLOCK))
}

fn is_ready(fd: BorrowedDescriptor<'_>, events: PollFlags) -> io::Result<bool> {
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    Ok(poll(&mut [PollFd::new(&fd, events)], Some(&at_once))? > 0)
}

/// Polls a full pipe before a call that sleeps.
///
/// To sleep and to be woken takes 20 to 50 µs on a virtual machine, longer than a reader needs for all of a pipe of 64 KiB. If the
/// reader is slower, most calls sleep at once: the others cost at most 1/32 of the time.
#[derive(Default)]
pub(crate) struct Patience {
    /// How often the pipe was full.
    full: u32,
    /// How often since the last success the reader did not come.
    vain: u32,
}

impl Patience {
    const TIME: Duration = Duration::from_micros(50);
    /// After so many times in vain, only every 32nd time is tried.
    const MOST_IN_VAIN: u32 = 4;

    /// Polls until the pipe has room. An error is left to the call that follows.
    pub(crate) fn wait_for_room(&mut self, pipe: BorrowedDescriptor<'_>) {
        let has_room = || is_ready(pipe, PollFlags::OUT).unwrap_or(true);
        if has_room() {
            return;
        }
        self.full = self.full.wrapping_add(1);
        if self.vain >= Patience::MOST_IN_VAIN && self.full % 32 != 0 {
            return;
        }
        let began = Instant::now();
        while began.elapsed() < Patience::TIME {
            if has_room() {
                self.vain = 0;
                return;
            }
        }
        self.vain += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_reader_that_does_not_come_is_seldom_waited_for() {
        let (_reader, writer) = io::pipe().unwrap();
        let mut patience = Patience::default();
        let mut vain_after = |times: usize| {
            for _ in 0..times {
                patience.wait_for_room(writer.as_fd());
            }
            patience.vain
        };
        assert_eq!(vain_after(100), 0);
        let pipe_bytes = rustix::pipe::fcntl_getpipe_size(&writer).unwrap();
        (&writer).write_all(&vec![7; pipe_bytes]).unwrap();
        assert_eq!([1, 3, 27, 1, 31, 1].map(vain_after), [1, 4, 4, 5, 5, 6]);
    }
}
