//! The interface of a technique that writes.

use std::io;

use vectored_machine::platform::fd::BorrowedFd;

use crate::measure::sampler::interface::Timing;
use crate::measure::sampler::lists::Lists;
use crate::measure::sampler::meter::{Meter, Timed};

/// A technique that writes a list of segments to a descriptor.
///
/// # Implementer notes
///
/// `call` writes all bytes of all segments, in order, or fails. Filling an iovec
/// array or a staging buffer is part of the technique and is timed. Memory that
/// a program would allocate once belongs in `prepare`.
pub trait Mover {
    /// Allocates the working memory that `call` needs. A staging buffer starts
    /// `start_bytes` into its allocation, an offset that changes from round to
    /// round. Not timed.
    fn prepare(&mut self, _segments: &[&[u8]], _start_bytes: usize) {}

    /// Writes all segments once.
    ///
    /// # Errors
    ///
    /// The kernel's error; `WouldBlock` if a non-blocking target is full.
    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()>;

    /// Makes the calls of a batch, which write the lists in turn, measured by `meter`.
    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &Lists<'_>,
        batch: Timed,
        meter: Meter<'_>,
    ) -> io::Result<Timing> {
        // A default method gives each technique its own copy of the loop, so
        // the call inside it is dispatched statically.
        let mut turns = lists.in_turn();
        meter.time(fd, batch, move || self.call(fd, turns.next()))
    }
}
