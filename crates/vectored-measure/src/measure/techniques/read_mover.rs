//! The interface of a technique that reads.

use std::io;

use vectored_machine::platform::fd::BorrowedFd;

use crate::measure::sampler::interface::Timing;
use crate::measure::sampler::meter::{Meter, Timed};

/// A technique that reads from a descriptor into a list of segments.
///
/// # Implementer notes
///
/// `call` fills every byte of all segments, in order, and reads no further
/// bytes, or fails. Filling an iovec array or a staging buffer is part of the
/// technique and is timed. Memory that a program would allocate once belongs in
/// `prepare`.
pub trait ReadMover {
    /// Allocates the working memory that `call` needs. A staging buffer starts
    /// `start_bytes` into its allocation, an offset that changes from round to
    /// round. Not timed.
    fn prepare(&mut self, _segments: &[&mut [u8]], _start_bytes: usize) {}

    /// Fills all segments once.
    ///
    /// # Errors
    ///
    /// The kernel's error; `UnexpectedEof` if there are too few bytes.
    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()>;

    /// Makes the calls of a batch, measured by `meter`. There is a list for each transfer in flight; synchronous techniques
    /// fill the first one in every call. Returns the number of the last call, from 0 on, that filled each list.
    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &mut [Vec<&mut [u8]>],
        batch: Timed,
        meter: Meter<'_>,
    ) -> io::Result<(Timing, Vec<u32>)> {
        // A default method gives each technique its own copy of the loop, so
        // the call inside it is dispatched statically.
        let segments = &mut lists[0][..];
        let timing = meter.time(fd, batch, move || self.call(fd, segments))?;
        Ok((timing, vec![batch.all_calls() - 1]))
    }
}
