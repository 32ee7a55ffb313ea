//! One `writev` or `pwritev2` for the whole array.

use std::io::{self, IoSlice};

use vectored::write_all_vectored;

use crate::measure::write::movers::array::Gathering;
use crate::platform::calls::pwritev2;
use crate::platform::fd::BorrowedFd;
use crate::platform::plain_calls::{retry_on_intr, writev};

/// The properties of a list that both techniques need.
#[derive(Default)]
struct ListShape {
    iov_max: usize,
    total_bytes: usize,
}

impl ListShape {
    fn prepare(&mut self, segments: &[&[u8]]) {
        self.iov_max = vectored::iov_max();
        self.total_bytes = segments.iter().map(|segment| segment.len()).sum();
    }

    /// Calls `send` with up to `iov_max` entries at a time and their total bytes.
    #[inline]
    fn send_all(
        &self,
        iovecs: &[IoSlice<'_>],
        send: impl Fn(&[IoSlice<'_>], usize) -> io::Result<()>,
    ) -> io::Result<()> {
        if iovecs.len() <= self.iov_max {
            send(iovecs, self.total_bytes)
        } else {
            iovecs
                .chunks(self.iov_max)
                .try_for_each(|chunk| send(chunk, chunk.iter().map(|s| s.len()).sum()))
        }
    }
}

#[derive(Default)]
pub struct Writev(ListShape);

impl Gathering for Writev {
    fn prepare(&mut self, segments: &[&[u8]]) {
        self.0.prepare(segments);
    }

    fn send(&mut self, fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>]) -> io::Result<()> {
        self.0
            .send_all(iovecs, |chunk, bytes| writev_all(fd, chunk, bytes))
    }
}

/// `pwritev2` with offset −1, which means the descriptor's own position. It
/// therefore works on streams as well. Since Linux 4.6.
#[derive(Default)]
pub struct Pwritev2(ListShape);

impl Gathering for Pwritev2 {
    fn prepare(&mut self, segments: &[&[u8]]) {
        self.0.prepare(segments);
    }

    fn send(&mut self, fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>]) -> io::Result<()> {
        self.0
            .send_all(iovecs, |chunk, bytes| pwritev2_all(fd, chunk, bytes))
    }
}

/// One `writev`; after a short one, the library's loop writes the rest. Never
/// inlined: see `write_all`.
#[inline(never)]
fn writev_all(fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>], total_bytes: usize) -> io::Result<()> {
    let written = retry_on_intr(|| writev(fd, iovecs))?;
    if written < total_bytes {
        send_rest(fd, iovecs, written)?;
    }
    Ok(())
}

/// One `pwritev2`; after a short one, the library's loop writes the rest.
#[inline(never)]
fn pwritev2_all(fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>], total_bytes: usize) -> io::Result<()> {
    let written = retry_on_intr(|| pwritev2(fd, iovecs, u64::MAX, 0))?;
    if written < total_bytes {
        send_rest(fd, iovecs, written)?;
    }
    Ok(())
}

#[cold]
fn send_rest(fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>], written: usize) -> io::Result<()> {
    let mut rest: Vec<IoSlice<'_>> = iovecs.iter().map(|s| IoSlice::new(s)).collect();
    let mut rest = rest.as_mut_slice();
    IoSlice::advance_slices(&mut rest, written);
    write_all_vectored(fd, rest)?;
    Ok(())
}
