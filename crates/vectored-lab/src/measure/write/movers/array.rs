//! Techniques that take an array of `iovec`, filled in every call or once per
//! sample.

use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;

use crate::measure::sampling::clock::Clock;
use crate::measure::sampling::lists::Lists;
use crate::measure::sampling::sampler::Timing;
use crate::measure::write::mover::{Mover, Timed, time_calls};
use crate::model::IovecSetup;

/// A technique that writes the segments of an `iovec` array.
pub trait Gathering {
    /// See [`Mover::prepare`].
    fn prepare(&mut self, segments: &[&[u8]]);

    /// See [`Mover::call`].
    fn send(&mut self, fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>]) -> io::Result<()>;
}

/// Fills the array, in every call or once per sample, and passes it to a
/// [`Gathering`].
pub struct WithArray<G> {
    gathering: G,
    iovecs: Vec<IoSlice<'static>>,
}

impl<G> WithArray<G> {
    pub fn new(gathering: G) -> Self {
        WithArray {
            gathering,
            iovecs: Vec::new(),
        }
    }
}

impl<G: Gathering> Mover for WithArray<G> {
    fn prepare(&mut self, segments: &[&[u8]], _start_bytes: usize) {
        self.iovecs.reserve(segments.len());
        self.gathering.prepare(segments);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let mut iovecs = recycled(std::mem::take(&mut self.iovecs));
        iovecs.extend(segments.iter().map(|segment| IoSlice::new(segment)));
        let outcome = self.gathering.send(fd, &iovecs);
        self.iovecs = recycled(iovecs);
        outcome
    }

    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &Lists<'_>,
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<Timing> {
        match batch.iovec_setup {
            IovecSetup::Timed => {
                let mut turns = lists.in_turn();
                time_calls(fd, batch, clock, || self.call(fd, turns.next()))
            }
            IovecSetup::Once => {
                let iovecs: Vec<IoSlice<'_>> =
                    lists.segments().iter().map(|s| IoSlice::new(s)).collect();
                let mut turns = lists.turns_of(&iovecs);
                time_calls(fd, batch, clock, || self.gathering.send(fd, turns.next()))
            }
        }
    }
}

/// Converts to an empty array with the same allocation, for slices of another
/// lifetime. Collecting a vector's own iterator reuses its memory.
fn recycled<'to>(mut iovecs: Vec<IoSlice<'_>>) -> Vec<IoSlice<'to>> {
    iovecs.clear();
    iovecs.into_iter().map(|_| IoSlice::new(&[])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recycled_arrays_keep_their_memory() {
        let bytes = [1, 2, 3];
        let iovecs = vec![IoSlice::new(&bytes); 1000];
        let memory = iovecs.as_ptr().addr();
        let again: Vec<IoSlice<'static>> = recycled(iovecs);
        assert!(again.is_empty());
        assert!(again.capacity() >= 1000);
        assert_eq!(again.as_ptr().addr(), memory);
    }
}
