//! System calls that move bytes between two descriptors within the kernel, at the positions of the descriptors.
//!
//! Each function makes its call once. An error means that no byte was moved, because a call that has moved a part
//! returns the number of bytes.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, SeekFrom};
use rustix::pipe::{PipeFlags, SpliceFlags};

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

/// `splice(2)`, which waits unless one of the two descriptors is non-blocking.
///
/// `SPLICE_F_MORE` is not set, because a TCP socket with this flag delays the last bytes.
pub(crate) fn splice(
    from: BorrowedDescriptor<'_>,
    to: BorrowedDescriptor<'_>,
    most: usize,
) -> io::Result<usize> {
    let flags = SpliceFlags::empty();
    Ok(rustix::pipe::splice(from, None, to, None, most, flags)?)
}

/// A pipe for copies from one regular file to another with `splice(2)`. The pipe is empty between calls.
#[derive(Default)]
pub(crate) struct OwnPipe {
    ends: Option<(OwnedFd, OwnedFd)>,
    /// The number of calls of the last copy that took bytes from the input.
    pub(crate) calls: u64,
}

impl OwnPipe {
    /// The largest size that an unprivileged process may request (pipe(7)). If the kernel refuses the size, the pipe
    /// holds 64 KiB.
    const BYTES: usize = 1 << 20;

    /// Copies up to `most` bytes. Copies fewer bytes at the end of the input, or if a call fails after the first bytes.
    pub(crate) fn splice(
        &mut self,
        from: BorrowedDescriptor<'_>,
        to: BorrowedDescriptor<'_>,
        most: usize,
    ) -> io::Result<usize> {
        let mut moved = 0;
        self.calls = 0;
        while moved < most {
            match self.splice_once(from, to, most - moved) {
                Ok(0) => break,
                Ok(bytes) => {
                    moved += bytes;
                    self.calls += 1;
                }
                Err(error) if moved == 0 => return Err(error),
                // The next call reports the error.
                Err(_) => break,
            }
        }
        Ok(moved)
    }

    fn splice_once(
        &mut self,
        from: BorrowedDescriptor<'_>,
        to: BorrowedDescriptor<'_>,
        most: usize,
    ) -> io::Result<usize> {
        if self.ends.is_none() {
            let ends = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
            let _size = rustix::pipe::fcntl_setpipe_size(&ends.1, OwnPipe::BYTES);
            self.ends = Some(ends);
        }
        let (reader, writer) = self.ends.as_ref().expect("a pipe was made");
        let taken = splice(from, writer.as_fd(), most.min(OwnPipe::BYTES))?;
        let mut left = taken;
        while left > 0 {
            match splice(reader.as_fd(), to, left) {
                Ok(bytes @ 1..) => left -= bytes,
                // After an interruption, the bytes stay in the pipe. If each interruption gave the bytes back, and
                // every second call were interrupted, no byte would arrive.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                ended => {
                    // The next call or another technique reads these bytes again.
                    self.ends = None;
                    rustix::fs::seek(from, SeekFrom::Current(-(left as i64)))
                        .expect("a regular file has a position");
                    return if left < taken { Ok(taken - left) } else { ended };
                }
            }
        }
        Ok(taken)
    }
}

/// Returns whether the output is the reason that a move would block.
///
/// The output is the reason if the output is non-blocking and full, and the input has bytes or has ended. A check of
/// the input alone is not enough, because bytes may arrive after the move.
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

/// Polls two ends before a call that sleeps. One of the ends is a pipe.
///
/// Sleeping and waking take 20 to 50 µs on a virtual machine. Another process can move all bytes of a 64 KiB pipe in
/// less time. If the other process is slower, most calls sleep at once. The polls then take at most 1/32 of the time.
#[derive(Default)]
pub(crate) struct Patience {
    /// The number of times that an end was not ready.
    waits: u32,
    /// The number of polls in a row after which an end was still not ready.
    vain: u32,
    /// One of the two ends does not block, so polling is useless.
    is_pointless: bool,
}

impl Patience {
    const TIME: Duration = Duration::from_micros(50);
    /// After this number of failed polls in a row, only one call in 32 polls.
    const MOST_IN_VAIN: u32 = 4;

    /// Polls until the output has room and the input has bytes. `None` means that the input is not polled. An error is
    /// ignored, because the next call reports the error.
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
    use std::io::{Read, Seek, Write};
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn what_the_output_does_not_take_is_left_in_the_input() {
        let file = || {
            std::fs::File::from(
                rustix::fs::memfd_create("file", rustix::fs::MemfdFlags::CLOEXEC).unwrap(),
            )
        };
        let mut input = file();
        let bytes: Vec<u8> = (0..3_u32 << 20).map(|i| (i % 251) as u8).collect();
        input.write_all(&bytes).unwrap();
        let is_at = |position| rustix::fs::tell(&input).unwrap() == position;
        let mut pipe = OwnPipe::default();

        rustix::fs::seek(&input, SeekFrom::Start(0)).unwrap();
        // This device refuses splice(2).
        let full = std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let refused = pipe.splice(input.as_fd(), full.as_fd(), bytes.len());
        assert!(refused.is_err() && is_at(0), "{refused:?}");

        let (mut reader, short) = io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&short, true).unwrap();
        let moved = pipe
            .splice(input.as_fd(), short.as_fd(), bytes.len())
            .unwrap();
        assert!(
            (1..bytes.len()).contains(&moved) && is_at(moved as u64),
            "{moved}"
        );
        let mut received = vec![0; moved];
        reader.read_exact(&mut received).unwrap();
        assert_eq!(received, bytes[..moved]);

        let mut output = file();
        let rest = bytes.len() - moved;
        assert_eq!(
            pipe.splice(input.as_fd(), output.as_fd(), usize::MAX)
                .unwrap(),
            rest
        );
        let mut copied = Vec::new();
        output.rewind().unwrap();
        output.read_to_end(&mut copied).unwrap();
        assert_eq!(copied, bytes[moved..]);
        assert_eq!(pipe.calls, rest.div_ceil(OwnPipe::BYTES) as u64);
    }

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
            // First the input has no bytes, then the output is full.
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
