//! The techniques themselves, as a program would write them by hand.

use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;

use rustix::io::{Errno, retry_on_intr, write, writev};
use vectored::{CostModel, Gather, write_all_vectored};

use super::clock::Clock;
use super::sampler::{Contender, Timing};
use crate::model::Technique;

/// Moves a list of segments through a descriptor: one technique.
///
/// # Implementer notes
///
/// `call` moves all bytes of all segments, in order, or fails; what it fills
/// in for that (an iovec array, a staging buffer) is part of the technique and
/// is timed. What a program would allocate once belongs into `prepare`.
pub trait Mover {
    /// Makes room for the working memory that `call` needs; what is copied
    /// into starts `start_bytes` into its allocation, which changes from round
    /// to round. Not timed.
    fn prepare(&mut self, segments: &[&[u8]], start_bytes: usize);

    /// Moves all segments once.
    ///
    /// # Errors
    ///
    /// What the kernel said; `WouldBlock` when a non-blocking target is full.
    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()>;

    /// Times `batch.calls` calls, after one that is not timed if it is asked
    /// for.
    ///
    /// # Errors
    ///
    /// Those of `call`.
    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        segments: &[&[u8]],
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<Timing> {
        // A default method, so that each technique has its own copy of the
        // loop and the call inside it costs no dispatch.
        time_calls(batch, clock, || self.call(fd, segments))
    }
}

/// The loop of every sample.
#[inline]
pub(super) fn time_calls(
    batch: Timed,
    clock: &dyn Clock,
    mut call: impl FnMut() -> io::Result<()>,
) -> io::Result<Timing> {
    // The CPU's clock is read before the untimed call: it costs a system call,
    // and between that call and the timed ones it would give a thread at the
    // other end a start of some percent.
    let cpu_ns = clock.thread_cpu_ns();
    if batch.untimed_first {
        call()?;
    }
    let began_ns = clock.now_ns();
    for _ in 0..batch.calls {
        call()?;
    }
    let ended_ns = clock.now_ns();
    let cpu_ns = clock.thread_cpu_ns() - cpu_ns;
    Ok(Timing {
        elapsed_ns: ended_ns - began_ns,
        cpu_ns: cpu_ns * u64::from(batch.calls) / u64::from(batch.all_calls()),
    })
}

/// The calls of one sample.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// How many are timed: at least 1.
    pub calls: u32,
    /// Whether one that is not timed goes before them.
    pub untimed_first: bool,
}

impl Timed {
    /// How many there are with the one that is not timed.
    pub fn all_calls(self) -> u32 {
        self.calls + u32::from(self.untimed_first)
    }
}

/// The mover of a contender on a target with this cost model. The floors are
/// given one segment that holds all bytes.
pub fn movers(contender: Contender, model: &CostModel) -> Box<dyn Mover> {
    match contender {
        Contender::Floor | Contender::FloorAgain => Box::new(WriteEach),
        Contender::Technique(Technique::WriteEach) => Box::new(WriteEach),
        Contender::Technique(Technique::CopyThenWrite) => Box::new(CopyThenWrite::default()),
        Contender::Technique(Technique::Writev) => Box::new(Writev::default()),
        Contender::Technique(Technique::Adaptive) => Box::new(Adaptive::new(*model)),
        Contender::Technique(Technique::ReadEach | Technique::ReadThenSplit | Technique::Readv) => {
            panic!("{contender} does not write")
        }
    }
}

struct WriteEach;

impl Mover for WriteEach {
    fn prepare(&mut self, _segments: &[&[u8]], _start_bytes: usize) {}

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        for segment in segments {
            write_all(fd, segment)?;
        }
        Ok(())
    }
}

#[derive(Default)]
struct CopyThenWrite {
    staging: Vec<u8>,
    start_bytes: usize,
}

impl Mover for CopyThenWrite {
    fn prepare(&mut self, segments: &[&[u8]], start_bytes: usize) {
        self.start_bytes = start_bytes;
        self.staging.resize(start_bytes + total_bytes(segments), 0);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let staging = &mut self.staging[self.start_bytes..];
        let mut free = &mut *staging;
        for segment in segments {
            let (place, rest) = free.split_at_mut(segment.len());
            place.copy_from_slice(segment);
            free = rest;
        }
        write_all(fd, staging)
    }
}

#[derive(Default)]
struct Writev {
    iovecs: Vec<IoSlice<'static>>,
    iov_max: usize,
    total_bytes: usize,
}

impl Mover for Writev {
    fn prepare(&mut self, segments: &[&[u8]], _start_bytes: usize) {
        self.iovecs.reserve(segments.len());
        self.iov_max = vectored::iov_max();
        self.total_bytes = total_bytes(segments);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let mut iovecs = recycled(std::mem::take(&mut self.iovecs));
        iovecs.extend(segments.iter().map(|segment| IoSlice::new(segment)));
        let outcome = if iovecs.len() <= self.iov_max {
            writev_all(fd, &iovecs, self.total_bytes)
        } else {
            iovecs
                .chunks(self.iov_max)
                .try_for_each(|chunk| writev_all(fd, chunk, chunk.iter().map(|s| s.len()).sum()))
        };
        self.iovecs = recycled(iovecs);
        outcome
    }
}

struct Adaptive {
    gather: Gather,
    iovecs: Vec<IoSlice<'static>>,
}

impl Adaptive {
    fn new(model: CostModel) -> Self {
        Adaptive {
            gather: Gather::new(model),
            iovecs: Vec::new(),
        }
    }
}

impl Mover for Adaptive {
    fn prepare(&mut self, segments: &[&[u8]], _start_bytes: usize) {
        self.iovecs.reserve(segments.len());
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let mut iovecs = recycled(std::mem::take(&mut self.iovecs));
        iovecs.extend(segments.iter().map(|segment| IoSlice::new(segment)));
        let outcome = self.gather.write_all(fd, &iovecs);
        self.iovecs = recycled(iovecs);
        outcome?;
        Ok(())
    }
}

fn total_bytes(segments: &[&[u8]]) -> usize {
    segments.iter().map(|segment| segment.len()).sum()
}

/// One `write`; the rest of a short one in further calls.
///
/// Never inlined, nor is [`writev_all`]: a return after a system call can cost
/// 60 ns where the kernel's mitigations make returns dear. A program that calls
/// its C library pays that for every technique; if only some techniques had
/// their call inlined, they would seem faster for it.
#[inline(never)]
fn write_all(fd: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
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

/// One `writev`; the rest of a short one by the library's loop.
#[inline(never)]
fn writev_all(fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>], total_bytes: usize) -> io::Result<()> {
    let written = retry_on_intr(|| writev(fd, iovecs))?;
    if written < total_bytes {
        let mut rest: Vec<IoSlice<'_>> = iovecs.iter().map(|s| IoSlice::new(s)).collect();
        let mut rest = rest.as_mut_slice();
        IoSlice::advance_slices(&mut rest, written);
        write_all_vectored(fd, rest)?;
    }
    Ok(())
}

/// An empty array with the same allocation, for slices of another lifetime.
/// Collecting a vector's own iterator reuses its memory.
fn recycled<'to>(mut iovecs: Vec<IoSlice<'_>>) -> Vec<IoSlice<'to>> {
    iovecs.clear();
    iovecs.into_iter().map(|_| IoSlice::new(&[])).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::os::fd::AsFd;

    use super::*;

    /// A clock that notes when it is read, a nanosecond a reading.
    #[derive(Default)]
    struct NotingClock {
        notes: RefCell<Vec<&'static str>>,
    }

    impl NotingClock {
        fn note(&self, what: &'static str) -> u64 {
            self.notes.borrow_mut().push(what);
            self.notes.borrow().len() as u64
        }
    }

    impl Clock for NotingClock {
        fn now_ns(&self) -> u64 {
            self.note("now")
        }

        fn thread_cpu_ns(&self) -> u64 {
            100 * self.note("cpu")
        }
    }

    struct NotingMover<'a>(&'a NotingClock);

    impl Mover for NotingMover<'_> {
        fn prepare(&mut self, _segments: &[&[u8]], _start_bytes: usize) {}

        fn call(&mut self, _fd: BorrowedFd<'_>, _segments: &[&[u8]]) -> io::Result<()> {
            self.0.note("call");
            Ok(())
        }
    }

    #[test]
    fn the_untimed_call_goes_first_and_only_the_others_are_timed() {
        let null = std::fs::File::open("/dev/null").unwrap();
        let sample = |untimed_first| {
            let clock = NotingClock::default();
            let timed = Timed {
                calls: 2,
                untimed_first,
            };
            let timing = NotingMover(&clock).sample(null.as_fd(), &[], timed, &clock);
            (clock.notes.into_inner().join(" "), timing.unwrap())
        };
        let (notes, timing) = sample(true);
        assert_eq!(notes, "cpu call now call call now cpu");
        assert_eq!(timing.elapsed_ns, 3);
        // 600 ns for three calls: two of them.
        assert_eq!(timing.cpu_ns, 400);
        let (notes, timing) = sample(false);
        assert_eq!(notes, "cpu now call call now cpu");
        assert_eq!(timing.cpu_ns, 500);
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
