//! What a technique is, and how a sample of it is timed.

use std::io;
use std::os::fd::BorrowedFd;

use crate::measure::sampling::clock::Clock;
use crate::measure::sampling::lists::Lists;
use crate::measure::sampling::sampler::Timing;
use crate::measure::write::fsync::synced;
use crate::model::IovecSetup;

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

    /// Times `batch.calls` calls, each of the list whose turn it is, after one
    /// that is not timed if it is asked for.
    ///
    /// # Errors
    ///
    /// Those of `call`.
    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &Lists<'_>,
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<Timing> {
        // A default method, so that each technique has its own copy of the
        // loop and the call inside it costs no dispatch.
        let mut turns = lists.in_turn();
        time_calls(fd, batch, clock, || self.call(fd, turns.next()))
    }
}

/// Times a sample, however its calls are made: what a [`Mover`] calls that has
/// a `sample` of its own, since it opens something that lasts for many calls.
///
/// # Errors
///
/// Those of `call`.
#[inline]
pub fn time_calls(
    fd: BorrowedFd<'_>,
    batch: Timed,
    clock: &dyn Clock,
    call: impl FnMut() -> io::Result<()>,
) -> io::Result<Timing> {
    match batch.fsync {
        false => time(batch, clock, call),
        true => time(batch, clock, synced(fd, call)),
    }
}

/// The loop of every sample.
#[inline]
fn time(
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
    /// When an array of `iovec` is filled.
    pub iovec_setup: IovecSetup,
    /// Whether an `fsync(2)` follows each call, as a part of it.
    pub fsync: bool,
}

impl Timed {
    /// How many there are with the one that is not timed.
    pub fn all_calls(self) -> u32 {
        self.calls + u32::from(self.untimed_first)
    }
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
                iovec_setup: IovecSetup::Timed,
                fsync: false,
            };
            let lists = Lists::one(vec![b"list"]);
            let timing = NotingMover(&clock).sample(null.as_fd(), &lists, timed, &clock);
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
}
