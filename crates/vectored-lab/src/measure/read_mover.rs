//! The techniques that read, as a program would write them by hand.

use std::io::{self, IoSliceMut};
use std::os::fd::BorrowedFd;

use rustix::io::{Errno, read, readv};
use vectored::{CostModel, Scatter};

use super::clock::Clock;
use super::mover::{Timed, time_calls};
use super::sampler::{Contender, Timing};
use crate::model::Technique;

/// Reads into a list of segments from a descriptor: one technique.
///
/// # Implementer notes
///
/// `call` fills every byte of all segments, in order, and reads nothing more,
/// or fails; what it fills in for that (an iovec array, a staging buffer) is
/// part of the technique and is timed. What a program would allocate once
/// belongs into `prepare`.
pub trait ReadMover {
    /// Makes room for the working memory that `call` needs; what is read into
    /// first starts `start_bytes` into its allocation, which changes from
    /// round to round. Not timed.
    fn prepare(&mut self, segments: &[&mut [u8]], start_bytes: usize);

    /// Fills all segments once.
    ///
    /// # Errors
    ///
    /// What the kernel said; `UnexpectedEof` when there are not so many bytes.
    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()>;

    /// Times `batch.calls` calls, after one that is not timed if it is asked
    /// for.
    ///
    /// # Errors
    ///
    /// Those of `call`.
    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        segments: &mut [&mut [u8]],
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<Timing> {
        // A default method, so that each technique has its own copy of the
        // loop and the call inside it costs no dispatch.
        time_calls(batch, clock, || self.call(fd, segments))
    }
}

/// The mover of a contender on a target with this cost model. The floors are
/// given one segment that holds all bytes.
pub fn read_movers(contender: Contender, model: &CostModel) -> Box<dyn ReadMover> {
    match contender {
        Contender::Floor | Contender::FloorAgain => Box::new(ReadEach),
        Contender::Technique(Technique::ReadEach) => Box::new(ReadEach),
        Contender::Technique(Technique::ReadThenSplit) => Box::new(ReadThenSplit::default()),
        Contender::Technique(Technique::Readv) => Box::new(Readv::default()),
        Contender::Technique(Technique::Adaptive) => Box::new(Adaptive {
            scatter: Scatter::new(*model),
            iovecs: Vec::new(),
        }),
        Contender::Technique(
            Technique::WriteEach | Technique::CopyThenWrite | Technique::Writev,
        ) => panic!("{contender} does not read"),
    }
}

struct ReadEach;

impl ReadMover for ReadEach {
    fn prepare(&mut self, _segments: &[&mut [u8]], _start_bytes: usize) {}

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()> {
        for segment in segments {
            read_exact(fd, segment)?;
        }
        Ok(())
    }
}

#[derive(Default)]
struct ReadThenSplit {
    staging: Vec<u8>,
    start_bytes: usize,
}

impl ReadMover for ReadThenSplit {
    fn prepare(&mut self, segments: &[&mut [u8]], start_bytes: usize) {
        self.start_bytes = start_bytes;
        let total_bytes: usize = segments.iter().map(|segment| segment.len()).sum();
        self.staging.resize(start_bytes + total_bytes, 0);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()> {
        let staging = &mut self.staging[self.start_bytes..];
        read_exact(fd, staging)?;
        let mut rest = &*staging;
        for segment in segments {
            let (bytes, behind) = rest.split_at(segment.len());
            segment.copy_from_slice(bytes);
            rest = behind;
        }
        Ok(())
    }
}

#[derive(Default)]
struct Readv {
    iovecs: Vec<IoSliceMut<'static>>,
    iov_max: usize,
}

impl ReadMover for Readv {
    fn prepare(&mut self, segments: &[&mut [u8]], _start_bytes: usize) {
        self.iovecs.reserve(segments.len());
        self.iov_max = vectored::iov_max();
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()> {
        let mut iovecs = recycled(std::mem::take(&mut self.iovecs));
        iovecs.extend(segments.iter_mut().map(|segment| IoSliceMut::new(segment)));
        let outcome = iovecs
            .chunks_mut(self.iov_max)
            .try_for_each(|chunk| readv_exact(fd, chunk));
        self.iovecs = recycled(iovecs);
        outcome
    }
}

struct Adaptive {
    scatter: Scatter,
    iovecs: Vec<IoSliceMut<'static>>,
}

impl ReadMover for Adaptive {
    fn prepare(&mut self, segments: &[&mut [u8]], _start_bytes: usize) {
        self.iovecs.reserve(segments.len());
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()> {
        let mut iovecs = recycled(std::mem::take(&mut self.iovecs));
        iovecs.extend(segments.iter_mut().map(|segment| IoSliceMut::new(segment)));
        let outcome = self.scatter.read_exact(fd, &mut iovecs);
        self.iovecs = recycled(iovecs);
        outcome?;
        Ok(())
    }
}

/// One `read`; the rest of a short one in further calls.
///
/// Never inlined, nor is [`readv_exact`]: see the writes.
#[inline(never)]
pub(super) fn read_exact(fd: BorrowedFd<'_>, mut bytes: &mut [u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match read(fd, &mut *bytes) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => bytes = &mut bytes[count..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// One `readv`; the rest of a short one in further calls. The array is used up.
#[inline(never)]
pub(super) fn readv_exact(fd: BorrowedFd<'_>, mut iovecs: &mut [IoSliceMut<'_>]) -> io::Result<()> {
    while !iovecs.is_empty() {
        match readv(fd, iovecs) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => IoSliceMut::advance_slices(&mut iovecs, count),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// An empty array with the same allocation, for slices of another lifetime.
/// Collecting a vector's own iterator reuses its memory.
fn recycled<'to>(mut iovecs: Vec<IoSliceMut<'_>>) -> Vec<IoSliceMut<'to>> {
    iovecs.clear();
    iovecs
        .into_iter()
        .map(|_| IoSliceMut::new(&mut []))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recycled_arrays_keep_their_memory() {
        let mut bytes = [0; 1000];
        let iovecs: Vec<IoSliceMut<'_>> = bytes.chunks_mut(1).map(IoSliceMut::new).collect();
        let memory = iovecs.as_ptr().addr();
        let again: Vec<IoSliceMut<'static>> = recycled(iovecs);
        assert!(again.is_empty());
        assert!(again.capacity() >= 1000);
        assert_eq!(again.as_ptr().addr(), memory);
    }
}
