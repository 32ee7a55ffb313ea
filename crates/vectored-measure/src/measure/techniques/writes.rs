//! Techniques that write a list of segments.

use std::io::{self, IoSlice};

use vectored_machine::Clock;
use vectored_machine::platform::fd::BorrowedFd;
use vectored_machine::platform::plain_calls::{retry_on_intr, writev};
use vectored_results::model::IovecSetup;

use crate::measure::sampler::{Lists, Staging, Timed, Timing};
use crate::measure::techniques::plain::{takes_lists, write_all};
use crate::measure::techniques::{Mover, Technique};

pub const WRITE_EACH: Technique = Technique {
    about: "one call for each segment",
    usual: true,
    cost_ns: |costs| costs.each_ns,
    write: Some(|_| {
        Box::new(|fd: BorrowedFd<'_>, segments: &[&[u8]]| {
            segments
                .iter()
                .try_for_each(|segment| write_all(fd, segment))
        })
    }),
    ..Technique::named("write-each")
};

pub const COPY_THEN_WRITE: Technique = Technique {
    about: "copy into one buffer, then one call",
    usual: true,
    cost_ns: |costs| costs.copied_ns,
    write: Some(|_| Box::new(CopyThenWrite(Staging::default()))),
    ..Technique::named("copy-then-write")
};

pub const WRITEV: Technique = Technique {
    about: "one call for the whole list",
    usual: true,
    refuses: takes_lists,
    cost_ns: |costs| costs.referenced_ns,
    write: Some(|_| {
        let iov_max = vectored::limits::iov_max();
        Box::new(Gathering::new(move |fd, iovecs, bytes| {
            if iovecs.len() <= iov_max {
                return writev_all(fd, iovecs, bytes);
            }
            iovecs
                .chunks(iov_max)
                .try_for_each(|chunk| writev_all(fd, chunk, chunk.iter().map(|s| s.len()).sum()))
        }))
    }),
    ..Technique::named("writev")
};

struct CopyThenWrite(Staging);

impl Mover for CopyThenWrite {
    fn prepare(&mut self, segments: &[&[u8]], start_bytes: usize) {
        let total_bytes = segments.iter().map(|segment| segment.len()).sum();
        self.0.prepare(start_bytes, total_bytes);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let staging = self.0.buffer();
        let mut free = &mut *staging;
        for segment in segments {
            let (place, rest) = free.split_at_mut(segment.len());
            place.copy_from_slice(segment);
            free = rest;
        }
        write_all(fd, staging)
    }
}

/// One `writev`; after a short call, the library's loop writes the rest. Never inlined: see [`write_all`].
#[inline(never)]
fn writev_all(fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>], total_bytes: usize) -> io::Result<()> {
    let written = retry_on_intr(|| writev(fd, iovecs))?;
    if written < total_bytes {
        write_rest(fd, iovecs, written)?;
    }
    Ok(())
}

#[cold]
fn write_rest(fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>], written: usize) -> io::Result<()> {
    let mut rest = iovecs.to_vec();
    let mut rest = rest.as_mut_slice();
    IoSlice::advance_slices(&mut rest, written);
    vectored::write_all(fd, rest)?;
    Ok(())
}

/// A mover that fills an array of `iovec`, in every call or once per sample, and calls a function that writes the array.
/// The function gets the number of bytes of the array.
pub struct Gathering<F>(F);

impl<F: FnMut(BorrowedFd<'_>, &[IoSlice<'_>], usize) -> io::Result<()>> Gathering<F> {
    pub fn new(send: F) -> Self {
        Gathering(send)
    }
}

impl<F: FnMut(BorrowedFd<'_>, &[IoSlice<'_>], usize) -> io::Result<()>> Mover for Gathering<F> {
    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &Lists<'_>,
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<Timing> {
        let Gathering(send) = self;
        let bytes = lists.first().iter().map(|segment| segment.len()).sum();
        // The memory of the array is touched before the clock starts.
        let mut iovecs: Vec<IoSlice<'_>> =
            lists.segments().iter().map(|s| IoSlice::new(s)).collect();
        match batch.iovec_setup {
            IovecSetup::Timed => {
                let mut turns = lists.in_turn();
                batch.time(clock, fd, || {
                    iovecs.clear();
                    iovecs.extend(turns.next().iter().map(|segment| IoSlice::new(segment)));
                    send(fd, &iovecs, bytes)
                })
            }
            IovecSetup::Once => {
                let mut turns = lists.turns_of(&iovecs);
                batch.time(clock, fd, move || send(fd, turns.next(), bytes))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use vectored_machine::FakeClock;

    use super::*;

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
            let mut addresses = Vec::new();
            let mut mover = Gathering::new(|_, iovecs, bytes| {
                assert_eq!(bytes, 3);
                addresses.push(iovecs.as_ptr().addr());
                Ok(())
            });
            mover.sample(null.as_fd(), &lists, batch, &clock).unwrap();
            let [list, next] = [addresses[0], addresses[0] + distance];
            assert_eq!(addresses, [list, next, list, next], "{iovec_setup:?}");
        }
    }
}
