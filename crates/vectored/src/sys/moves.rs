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

/// How long a writer polls a full pipe before it makes a call that sleeps.
///
/// To sleep and to be woken takes 20 to 50 µs on a virtual machine, longer than a reader needs for all of a pipe of 64 KiB. After
/// each time in vain it polls half as long, so a slow reader costs 0.1 ms of the processor in all, and a poll a call.
pub(crate) struct Patience {
    time: Duration,
}

impl Patience {
    const MOST: Duration = Duration::from_micros(50);
    /// It is never 0, to find out when the reader is faster.
    const LEAST: Duration = Duration::from_micros(1);

    pub(crate) const fn new() -> Patience {
        Patience {
            time: Patience::MOST,
        }
    }

    /// Polls until the pipe has room. An error is left to the call that follows.
    pub(crate) fn wait_for_room(&mut self, pipe: BorrowedDescriptor<'_>) {
        let has_room = || is_ready(pipe, PollFlags::OUT).unwrap_or(true);
        if has_room() {
            return;
        }
        let began = Instant::now();
        while began.elapsed() < self.time {
            if has_room() {
                self.time = (self.time * 2).min(Patience::MOST);
                return;
            }
        }
        self.time = (self.time / 2).max(Patience::LEAST);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_reader_that_does_not_come_is_waited_for_half_as_long_each_time() {
        let (_reader, mut writer) = io::pipe().unwrap();
        let mut patience = Patience::new();
        patience.wait_for_room(writer.as_fd());
        assert_eq!(patience.time, Patience::MOST);
        let pipe_bytes = rustix::pipe::fcntl_getpipe_size(&writer).unwrap();
        writer.write_all(&vec![7; pipe_bytes]).unwrap();
        for part in [2, 4, 8, 16, 32, 50, 50] {
            patience.wait_for_room(writer.as_fd());
            assert_eq!(patience.time, Patience::MOST / part);
        }
    }
}
