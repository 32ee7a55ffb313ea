//! Techniques that read into an array of `iovec`, filled in every call or once per
//! sample.

use std::io::{self, IoSliceMut};

use vectored_machine::platform::fd::BorrowedFd;
use vectored_results::model::IovecSetup;

use crate::measure::sampler::interface::Timing;
use crate::measure::sampler::meter::{Meter, Timed};
use crate::measure::techniques::read_mover::ReadMover;

/// A technique that reads into the segments of an `iovec` array and leaves the
/// array unchanged.
pub trait Scattering {
    /// See [`ReadMover::prepare`].
    fn prepare(&mut self, _segments: &[&mut [u8]]) {}

    /// See [`ReadMover::call`].
    fn receive(&mut self, fd: BorrowedFd<'_>, iovecs: &mut [IoSliceMut<'_>]) -> io::Result<()>;
}

/// A mover that fills the array, in every call or once per sample, and passes it to a [`Scattering`].
pub struct WithArray<S> {
    scattering: S,
    iovecs: Vec<IoSliceMut<'static>>,
}

impl<S> WithArray<S> {
    pub fn new(scattering: S) -> Self {
        WithArray {
            scattering,
            iovecs: Vec::new(),
        }
    }
}

impl<S: Scattering> ReadMover for WithArray<S> {
    fn prepare(&mut self, segments: &[&mut [u8]], _start_bytes: usize) {
        self.iovecs.reserve(segments.len());
        self.scattering.prepare(segments);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()> {
        let mut iovecs = recycled(std::mem::take(&mut self.iovecs));
        iovecs.extend(segments.iter_mut().map(|segment| IoSliceMut::new(segment)));
        let outcome = self.scattering.receive(fd, &mut iovecs);
        self.iovecs = recycled(iovecs);
        outcome
    }

    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &mut [Vec<&mut [u8]>],
        batch: Timed,
        meter: Meter<'_>,
    ) -> io::Result<(Timing, Vec<u32>)> {
        let segments = &mut lists[0][..];
        let timing = match batch.iovec_setup {
            IovecSetup::Timed => meter.time(fd, batch, move || self.call(fd, segments)),
            IovecSetup::Once => {
                let mut iovecs: Vec<IoSliceMut<'_>> =
                    segments.iter_mut().map(|s| IoSliceMut::new(s)).collect();
                meter.time(fd, batch, move || self.scattering.receive(fd, &mut iovecs))
            }
        }?;
        Ok((timing, vec![batch.all_calls() - 1]))
    }
}

/// Converts to an empty array with the same allocation, for slices of another
/// lifetime. Collecting a vector's own iterator reuses its memory.
fn recycled<'to>(mut iovecs: Vec<IoSliceMut<'_>>) -> Vec<IoSliceMut<'to>> {
    iovecs.clear();
    iovecs
        .into_iter()
        .map(|_| IoSliceMut::new(&mut []))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use vectored_machine::FakeClock;

    use super::*;

    /// A scattering that notes the size of the first segment, and swaps it with the second one. An array that is
    /// filled again is in the old order.
    #[derive(Default)]
    struct Swapping(Vec<usize>);

    impl Scattering for Swapping {
        fn receive(
            &mut self,
            _fd: BorrowedFd<'_>,
            iovecs: &mut [IoSliceMut<'_>],
        ) -> io::Result<()> {
            self.0.push(iovecs[0].len());
            iovecs.swap(0, 1);
            Ok(())
        }
    }

    #[test]
    fn the_array_is_filled_in_each_call_or_once() {
        let null = std::fs::File::open("/dev/null").unwrap();
        let clock = FakeClock::default();
        for (iovec_setup, sizes) in [
            (IovecSetup::Timed, [1, 1, 1, 1]),
            (IovecSetup::Once, [1, 2, 1, 2]),
        ] {
            let batch = Timed {
                iovec_setup,
                ..Timed::calls(4)
            };
            let (mut one, mut other) = ([0; 1], [0; 2]);
            let mut lists = [vec![&mut one[..], &mut other[..]]];
            let mut mover = WithArray::new(Swapping::default());
            let meter = Meter { clock: &clock };
            let (_, last) = mover
                .sample(null.as_fd(), &mut lists, batch, meter)
                .unwrap();
            assert_eq!(last, [3]);
            assert_eq!(mover.scattering.0, sizes, "{iovec_setup:?}");
        }
    }
}
