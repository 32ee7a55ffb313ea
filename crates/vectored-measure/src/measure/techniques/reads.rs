//! Techniques that read into a list of segments.

use std::io::{self, IoSliceMut};

use vectored_machine::Clock;
use vectored_machine::platform::fd::BorrowedFd;
use vectored_machine::platform::plain_calls::{readv, retry_on_intr};
use vectored_results::model::IovecSetup;

use crate::measure::sampler::{Staging, Timed, Timing};
use crate::measure::techniques::plain::{read_exact, takes_lists};
use crate::measure::techniques::{ReadMover, Technique};

pub const READ_EACH: Technique = Technique {
    about: "one call for each segment",
    usual: true,
    cost_ns: |costs| costs.each_ns,
    read: Some(|_| {
        Box::new(|fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]| {
            segments
                .iter_mut()
                .try_for_each(|segment| read_exact(fd, segment))
        })
    }),
    ..Technique::named("read-each")
};

pub const READ_THEN_SPLIT: Technique = Technique {
    about: "one call into one buffer, then copies",
    usual: true,
    cost_ns: |costs| costs.copied_ns,
    read: Some(|_| Box::new(ReadThenSplit(Staging::default()))),
    ..Technique::named("read-then-split")
};

pub const READV: Technique = Technique {
    about: "one call for the whole list",
    usual: true,
    refuses: takes_lists,
    cost_ns: |costs| costs.referenced_ns,
    read: Some(|_| {
        let iov_max = vectored::limits::iov_max();
        Box::new(Scattering::new(move |fd, iovecs, bytes| {
            if iovecs.len() <= iov_max {
                return readv_exact(fd, iovecs, bytes);
            }
            iovecs.chunks_mut(iov_max).try_for_each(|chunk| {
                let bytes = chunk.iter().map(|s| s.len()).sum();
                readv_exact(fd, chunk, bytes)
            })
        }))
    }),
    ..Technique::named("readv")
};

struct ReadThenSplit(Staging);

impl ReadMover for ReadThenSplit {
    fn prepare(&mut self, segments: &[&mut [u8]], start_bytes: usize) {
        let total_bytes = segments.iter().map(|segment| segment.len()).sum();
        self.0.prepare(start_bytes, total_bytes);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()> {
        let staging = self.0.buffer();
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

/// One `readv`; after a short call, the library reads the rest. The array is unchanged afterwards.
#[inline(never)]
fn readv_exact(
    fd: BorrowedFd<'_>,
    iovecs: &mut [IoSliceMut<'_>],
    total_bytes: usize,
) -> io::Result<()> {
    let count = retry_on_intr(|| readv(fd, iovecs))?;
    if count < total_bytes {
        read_rest(fd, iovecs, count)?;
    }
    Ok(())
}

/// Reads the rest with a second array, since advancing through an array changes the array.
#[cold]
fn read_rest(fd: BorrowedFd<'_>, iovecs: &mut [IoSliceMut<'_>], count: usize) -> io::Result<()> {
    let mut rest: Vec<IoSliceMut<'_>> = iovecs.iter_mut().map(|s| IoSliceMut::new(s)).collect();
    let mut rest = rest.as_mut_slice();
    IoSliceMut::advance_slices(&mut rest, count);
    vectored::read_exact(fd, rest)?;
    Ok(())
}

/// A mover that fills an array of `iovec`, in every call or once per sample, and calls a function that reads into the
/// array. The function gets the number of bytes of the array, and leaves the array unchanged.
pub struct Scattering<F>(F);

impl<F: FnMut(BorrowedFd<'_>, &mut [IoSliceMut<'_>], usize) -> io::Result<()>> Scattering<F> {
    pub fn new(receive: F) -> Self {
        Scattering(receive)
    }
}

impl<F: FnMut(BorrowedFd<'_>, &mut [IoSliceMut<'_>], usize) -> io::Result<()>> ReadMover
    for Scattering<F>
{
    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &mut [Vec<&mut [u8]>],
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<(Timing, Vec<u32>)> {
        let Scattering(receive) = self;
        let segments = &mut lists[0][..];
        let bytes = segments.iter().map(|segment| segment.len()).sum();
        let timing = match batch.iovec_setup {
            IovecSetup::Timed => {
                let mut spare = recycled(segments.iter_mut().map(|s| IoSliceMut::new(s)).collect());
                batch.time(clock, fd, move || {
                    let mut iovecs = recycled(std::mem::take(&mut spare));
                    iovecs.extend(segments.iter_mut().map(|s| IoSliceMut::new(s)));
                    let outcome = receive(fd, &mut iovecs, bytes);
                    spare = recycled(iovecs);
                    outcome
                })
            }
            IovecSetup::Once => {
                let mut iovecs: Vec<IoSliceMut<'_>> =
                    segments.iter_mut().map(|s| IoSliceMut::new(s)).collect();
                batch.time(clock, fd, move || receive(fd, &mut iovecs, bytes))
            }
        }?;
        Ok((timing, vec![batch.all_calls() - 1]))
    }
}

/// Converts to an empty array with the same allocation, for slices of another lifetime. Collecting a vector's own iterator
/// reuses the memory of the vector.
fn recycled<'to>(mut iovecs: Vec<IoSliceMut<'_>>) -> Vec<IoSliceMut<'to>> {
    iovecs.clear();
    let emptied = iovecs.into_iter().map(|_| IoSliceMut::new(&mut []));
    emptied.collect()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use vectored_machine::FakeClock;

    use super::*;

    #[test]
    fn the_array_is_filled_in_each_call_or_once() {
        let null = std::fs::File::open("/dev/null").unwrap();
        let clock = FakeClock::default();
        // Swapped entries are in the old order if the array is filled again.
        for (iovec_setup, expected) in [
            (IovecSetup::Timed, [1, 1, 1, 1]),
            (IovecSetup::Once, [1, 2, 1, 2]),
        ] {
            let batch = Timed {
                iovec_setup,
                ..Timed::calls(4)
            };
            let (mut one, mut other) = ([0; 1], [0; 2]);
            let mut lists = [vec![&mut one[..], &mut other[..]]];
            let mut sizes = Vec::new();
            let mut mover = Scattering::new(|_, iovecs, _| {
                sizes.push(iovecs[0].len());
                iovecs.swap(0, 1);
                Ok(())
            });
            let sampled = mover.sample(null.as_fd(), &mut lists, batch, &clock);
            assert_eq!(sampled.unwrap().1, [3]);
            assert_eq!(sizes, expected, "{iovec_setup:?}");
        }
    }
}
