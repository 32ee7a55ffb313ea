//! The interface of a technique that reads.

use std::io;

use crate::measure::sampling::clock::Clock;
use crate::measure::sampling::sampler::Timing;
use crate::measure::write::mover::{Timed, time_calls, time_each_call};
use crate::platform::fd::BorrowedFd;
use crate::stats::Latencies;

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
    fn prepare(&mut self, segments: &[&mut [u8]], start_bytes: usize);

    /// Fills all segments once.
    ///
    /// # Errors
    ///
    /// The kernel's error; `UnexpectedEof` if there are too few bytes.
    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()>;

    /// Times `batch.calls` calls, after an untimed call if
    /// `batch.untimed_first`.
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
        // A default method gives each technique its own copy of the loop, so
        // the call inside it is dispatched statically.
        time_calls(fd, batch, clock, || self.call(fd, segments))
    }

    /// The same with a list of segments for each transfer in flight. Returns
    /// the number of the last call, from 0 on, that filled each list. Synchronous
    /// techniques fill the first list in every call.
    ///
    /// # Errors
    ///
    /// Those of `call`.
    fn sample_lists(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &mut [Vec<&mut [u8]>],
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<(Timing, Vec<u32>)> {
        let timing = self.sample(fd, &mut lists[0], batch, clock)?;
        Ok((timing, vec![batch.all_calls() - 1]))
    }

    /// As [`Mover::latencies`](crate::measure::Mover::latencies), with the
    /// lists of [`ReadMover::sample_lists`].
    ///
    /// # Errors
    ///
    /// Those of `call`.
    fn latencies(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &mut [Vec<&mut [u8]>],
        batch: Timed,
        clock: &dyn Clock,
        latencies: &mut Latencies,
    ) -> io::Result<Vec<u32>> {
        time_each_call(batch, clock, latencies, || self.call(fd, &mut lists[0]))?;
        Ok(vec![batch.all_calls() - 1])
    }
}
