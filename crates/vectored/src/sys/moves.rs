//! Calls that move bytes from one descriptor to another within the kernel, each made once, at the positions of the
//! descriptors. One that fails has moved nothing: after a part it returns the count of that.

use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::pipe::SpliceFlags;

use crate::descriptor::borrowed::BorrowedDescriptor;

pub(crate) fn copy_file_range(
    from: BorrowedDescriptor<'_>,
    to: BorrowedDescriptor<'_>,
    most: usize,
) -> io::Result<usize> {
    Ok(rustix::fs::copy_file_range(from, None, to, None, most)?)
}

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

/// Whether a move that would block was stopped by the output: the output does not wait and has no room, and the input has
/// bytes or has ended.
///
/// The bytes may have come after the move, so that the input alone does not tell.
pub(crate) fn is_output_full(
    from: BorrowedDescriptor<'_>,
    to: BorrowedDescriptor<'_>,
) -> io::Result<bool> {
    Ok(is_nonblocking(to)?
        && are_ready(&mut [PollFd::new(&from, PollFlags::IN)])?
        && !are_ready(&mut [PollFd::new(&to, PollFlags::OUT)])?)
}

fn is_nonblocking(fd: BorrowedDescriptor<'_>) -> io::Result<bool> {
    Ok(rustix::fs::fcntl_getfl(fd)?.contains(OFlags::NONBLOCK))
}

fn are_ready(ends: &mut [PollFd<'_>]) -> io::Result<bool> {
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    Ok(poll(ends, Some(&at_once))? == ends.len())
}

/// Polls two ends before a call that sleeps. One of them is a pipe.
///
/// To sleep and to be woken takes 20 to 50 µs on a virtual machine, longer than another process needs for all of a pipe of
/// 64 KiB. If that is slower, most calls sleep at once: the others cost at most 1/32 of the time.
#[derive(Default)]
pub(crate) struct Patience {
    /// How often the ends were not ready.
    waits: u32,
    /// How often since the last success they did not become ready.
    vain: u32,
    /// One of the two does not block.
    is_pointless: bool,
}

impl Patience {
    const TIME: Duration = Duration::from_micros(50);
    /// After polling in vain this many times in a row, only one call in 32 polls.
    const MOST_IN_VAIN: u32 = 4;

    /// Polls until the output has room, and the input bytes, if it is to be waited for. An error is left to the call that
    /// follows.
    pub(crate) fn wait(
        &mut self,
        from: Option<BorrowedDescriptor<'_>>,
        to: BorrowedDescriptor<'_>,
    ) {
        let are_ready = || {
            let output = PollFd::new(&to, PollFlags::OUT);
            let ready = match &from {
                Some(from) => are_ready(&mut [PollFd::new(from, PollFlags::IN), output]),
                None => are_ready(&mut [output]),
            };
            ready.unwrap_or(true)
        };
        if self.is_pointless || are_ready() {
            return;
        }
        if self.waits == 0 {
            let mut ends = from.into_iter().chain([to]);
            self.is_pointless = ends.any(|end| is_nonblocking(end).unwrap_or(true));
        }
        self.waits = self.waits.wrapping_add(1);
        let is_seldom = self.vain >= Patience::MOST_IN_VAIN && self.waits % 32 != 0;
        if self.is_pointless || is_seldom {
            return;
        }
        let began = Instant::now();
        while began.elapsed() < Patience::TIME {
            if are_ready() {
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
    fn an_output_is_full_if_it_has_no_room_does_not_wait_and_the_input_has_bytes() {
        for (has_bytes, is_nonblocking, is_full) in
            (0..8).map(|bits| (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0))
        {
            let (from, mut feeder) = io::pipe().unwrap();
            let (_reader, mut to) = io::pipe().unwrap();
            if has_bytes {
                feeder.write_all(b"late").unwrap();
            }
            if is_full {
                let pipe_bytes = rustix::pipe::fcntl_getpipe_size(&to).unwrap();
                to.write_all(&vec![7; pipe_bytes]).unwrap();
            }
            rustix::io::ioctl_fionbio(&to, is_nonblocking).unwrap();
            assert_eq!(
                is_output_full(from.as_fd(), to.as_fd()).unwrap(),
                has_bytes && is_nonblocking && is_full,
                "{has_bytes} {is_nonblocking} {is_full}"
            );
        }
    }

    #[test]
    fn another_process_that_does_not_come_is_seldom_waited_for() {
        let (reader, writer) = io::pipe().unwrap();
        for is_nonblocking in [false, true] {
            rustix::io::ioctl_fionbio(&writer, is_nonblocking).unwrap();
            let wait = |patience: &mut Patience, times: usize, from| {
                for _ in 0..times {
                    patience.wait(from, writer.as_fd());
                }
                patience.vain
            };
            let mut patience = Patience::default();
            assert_eq!(wait(&mut patience, 100, None), 0);
            // An input without bytes, and then a full output.
            let input = Some(reader.as_fd());
            let times = [1, 3, 27, 1, 31, 1];
            let expected = [1, 4, 4, 5, 5, 6];
            let expected = if is_nonblocking { [0; 6] } else { expected };
            assert_eq!(
                times.map(|times| wait(&mut patience, times, input)),
                expected
            );
            let pipe_bytes = rustix::pipe::fcntl_getpipe_size(&writer).unwrap();
            (&writer).write_all(&vec![7; pipe_bytes]).unwrap();
            let mut patience = Patience::default();
            for from in [None, input] {
                let vain = if is_nonblocking { 0 } else { patience.vain + 1 };
                assert_eq!(wait(&mut patience, 1, from), vain);
            }
            let mut all = vec![0; pipe_bytes];
            io::Read::read_exact(&mut &reader, &mut all).unwrap();
        }
    }
}
