//! Techniques that take an array of `iovec`, filled in every call or once per
//! sample.

use std::io::{self, IoSlice};

use vectored_machine::platform::fd::BorrowedFd;
use vectored_results::model::IovecSetup;

use crate::measure::sampler::interface::Timing;
use crate::measure::sampler::lists::Lists;
use crate::measure::sampler::meter::{Meter, Timed};
use crate::measure::techniques::write_mover::Mover;

/// A technique that writes the segments of an `iovec` array.
pub trait Gathering {
    /// See [`Mover::prepare`].
    fn prepare(&mut self, _segments: &[&[u8]]) {}

    /// See [`Mover::call`].
    fn send(&mut self, fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>]) -> io::Result<()>;
}

/// A mover that fills the array, in every call or once per sample, and passes it to a [`Gathering`].
pub struct WithArray<G> {
    pub(super) gathering: G,
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
        meter: Meter<'_>,
    ) -> io::Result<Timing> {
        match batch.iovec_setup {
            IovecSetup::Timed => {
                // Not by `call`, whose array goes back after the system call: functions that return then take longer.
                let mut turns = lists.in_turn();
                let mut iovecs = recycled(std::mem::take(&mut self.iovecs));
                let timing = meter.time(fd, batch, || {
                    iovecs.clear();
                    iovecs.extend(turns.next().iter().map(|segment| IoSlice::new(segment)));
                    self.gathering.send(fd, &iovecs)
                });
                self.iovecs = recycled(iovecs);
                timing
            }
            IovecSetup::Once => {
                let iovecs: Vec<IoSlice<'_>> =
                    lists.segments().iter().map(|s| IoSlice::new(s)).collect();
                let mut turns = lists.turns_of(&iovecs);
                meter.time(fd, batch, move || self.gathering.send(fd, turns.next()))
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
    use std::os::fd::AsFd;

    use vectored_machine::FakeClock;

    use super::*;

    /// A gathering that notes the address of each array that it is given.
    #[derive(Default)]
    struct Addresses(Vec<usize>);

    impl Gathering for Addresses {
        fn send(&mut self, _fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>]) -> io::Result<()> {
            self.0.push(iovecs.as_ptr().addr());
            Ok(())
        }
    }

    #[test]
    fn the_array_is_filled_in_each_call_or_once_for_all_lists() {
        let null = std::fs::File::open("/dev/null").unwrap();
        let lists = Lists::several(vec![b"a", b"bc", b"d", b"ef"], 2);
        let clock = FakeClock::default();
        for iovec_setup in [IovecSetup::Timed, IovecSetup::Once] {
            let batch = Timed {
                iovec_setup,
                ..Timed::calls(4)
            };
            // Once: an array for each list, one after the other. Timed: the same array for both lists.
            let distance = match iovec_setup {
                IovecSetup::Timed => 0,
                IovecSetup::Once => 2 * size_of::<IoSlice<'_>>(),
            };
            let mut mover = WithArray::new(Addresses::default());
            mover.prepare(lists.first(), 0);
            let meter = Meter { clock: &clock };
            mover.sample(null.as_fd(), &lists, batch, meter).unwrap();
            let addresses = mover.gathering.0;
            let [list, next] = [addresses[0], addresses[0] + distance];
            assert_eq!(addresses, [list, next, list, next], "{iovec_setup:?}");
        }
    }

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
