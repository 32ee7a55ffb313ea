//! Techniques that write a list of segments.

use std::io::{self, IoSlice};

use vectored::Gather;
use vectored_machine::Clock;
use vectored_machine::platform::fd::BorrowedFd;
use vectored_machine::platform::plain_calls::{Errno, retry_on_intr, write, writev};
use vectored_results::model::{Conditions, IovecSetup};

use crate::measure::sampler::{Lists, Staging, Timed, Timing};
use crate::measure::techniques::copies::copy_adaptively;
use crate::measure::techniques::reads::scatter;
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

/// The library chooses between copying and gathering, and the calls of a copy.
pub const ADAPTIVE: Technique = Technique {
    about: "the library's choice",
    usual: true,
    cost_ns: |costs| costs.copied_ns.min(costs.referenced_ns),
    write: Some(|model| {
        let mut gather = Gather::with_model(*model);
        Box::new(Gathering::new(move |fd, iovecs, _| {
            gather.write_all(fd, iovecs)?;
            Ok(())
        }))
    }),
    read: Some(scatter),
    copy: Some(|_| Box::new(copy_adaptively)),
    ..Technique::named("adaptive")
};

/// One `write`; after a short write, further calls for the rest.
///
/// Never inlined, nor are the corresponding functions of other techniques. A return after a system call can cost 60 ns if the
/// kernel's mitigations make returns expensive. A program that calls its C library pays that in every technique; techniques whose
/// call is inlined would seem faster.
#[inline(never)]
pub fn write_all(fd: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
    loop {
        match write(fd, bytes) {
            Ok(written) if written == bytes.len() => return Ok(()),
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

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

/// The refusal of `writev` and `readv`: on Windows, WriteFile and ReadFile take one buffer.
pub fn takes_lists(conditions: &Conditions) -> Option<&'static str> {
    let takes_lists = !cfg!(windows) || conditions.target.is_socket();
    (!takes_lists).then_some("is for sockets only")
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

/// A mover that fills an array of `iovec`, in every call or once per sample, and has a function write it, which gets the number of
/// its bytes.
struct Gathering<F> {
    send: F,
    total_bytes: usize,
    iovecs: Vec<IoSlice<'static>>,
}

impl<F: FnMut(BorrowedFd<'_>, &[IoSlice<'_>], usize) -> io::Result<()>> Gathering<F> {
    fn new(send: F) -> Self {
        Gathering {
            send,
            total_bytes: 0,
            iovecs: Vec::new(),
        }
    }
}

impl<F: FnMut(BorrowedFd<'_>, &[IoSlice<'_>], usize) -> io::Result<()>> Mover for Gathering<F> {
    fn prepare(&mut self, segments: &[&[u8]], _start_bytes: usize) {
        self.iovecs.reserve(segments.len());
        self.total_bytes = segments.iter().map(|segment| segment.len()).sum();
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let mut iovecs = recycled(std::mem::take(&mut self.iovecs));
        iovecs.extend(segments.iter().map(|segment| IoSlice::new(segment)));
        let outcome = (self.send)(fd, &iovecs, self.total_bytes);
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
        let Gathering {
            send, total_bytes, ..
        } = self;
        match batch.iovec_setup {
            IovecSetup::Timed => {
                // Not by `call`: it gives the array back after the system call, and functions that return then take longer.
                let mut turns = lists.in_turn();
                let mut iovecs = recycled(std::mem::take(&mut self.iovecs));
                let timing = batch.time(clock, fd, || {
                    iovecs.clear();
                    iovecs.extend(turns.next().iter().map(|segment| IoSlice::new(segment)));
                    send(fd, &iovecs, *total_bytes)
                });
                self.iovecs = recycled(iovecs);
                timing
            }
            IovecSetup::Once => {
                let iovecs: Vec<IoSlice<'_>> =
                    lists.segments().iter().map(|s| IoSlice::new(s)).collect();
                let mut turns = lists.turns_of(&iovecs);
                batch.time(clock, fd, move || send(fd, turns.next(), *total_bytes))
            }
        }
    }
}

/// Converts to an empty array with the same allocation, for slices of another lifetime. Collecting a vector's own iterator reuses
/// its memory.
fn recycled<'to>(mut iovecs: Vec<IoSlice<'_>>) -> Vec<IoSlice<'to>> {
    iovecs.clear();
    iovecs.into_iter().map(|_| IoSlice::new(&[])).collect()
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
            mover.prepare(lists.first(), 0);
            let memory = mover.iovecs.as_ptr().addr();
            mover.sample(null.as_fd(), &lists, batch, &clock).unwrap();
            assert_eq!(mover.iovecs.as_ptr().addr(), memory, "it is kept");
            let [list, next] = [addresses[0], addresses[0] + distance];
            assert_eq!(addresses, [list, next, list, next], "{iovec_setup:?}");
        }
    }
}
