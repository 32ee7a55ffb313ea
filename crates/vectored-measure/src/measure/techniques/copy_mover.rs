//! The interface of a technique that copies.

use std::io;

use vectored_machine::platform::fd::BorrowedFd;

use crate::measure::sampler::interface::Timing;
use crate::measure::sampler::meter::{Meter, Timed};

/// A technique that copies from one descriptor to another.
///
/// # Implementer notes
///
/// `call` takes exactly the asked bytes from the source and hands them to the target, or fails. Bytes that it has taken
/// and not handed over are lost then. Memory and pipes that a program would have once belong in `prepare`.
pub trait CopyMover {
    /// Allocates the working memory that `call` needs. A buffer starts `start_bytes` into its allocation, an offset that
    /// changes from round to round. Not timed.
    fn prepare(&mut self, _start_bytes: usize) -> io::Result<()> {
        Ok(())
    }

    /// Copies `bytes` bytes, at the position of each descriptor.
    ///
    /// # Errors
    ///
    /// The kernel's error; `UnexpectedEof` if there are too few bytes, `WouldBlock` if a non-blocking target is full.
    fn call(&mut self, from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: usize) -> io::Result<()>;

    /// Makes the copies of a batch, measured by `meter`.
    fn sample(
        &mut self,
        (from, to): (BorrowedFd<'_>, BorrowedFd<'_>),
        bytes: usize,
        batch: Timed,
        meter: Meter<'_>,
    ) -> io::Result<Timing> {
        // A default method gives each technique its own copy of the loop, so
        // the call inside it is dispatched statically.
        meter.time(to, batch, move || self.call(from, to, bytes))
    }
}

/// Moves all bytes by calls of `some`, which gets the number that is left and returns how many it has moved.
pub(crate) fn move_all(
    bytes: usize,
    mut some: impl FnMut(usize) -> io::Result<usize>,
) -> io::Result<()> {
    let mut left = bytes;
    while left > 0 {
        match some(left)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            moved => left -= moved,
        }
    }
    Ok(())
}
