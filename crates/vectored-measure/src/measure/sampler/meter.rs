//! The loop that times the calls of a sample.

use std::io;

use vectored_machine::Clock;
use vectored_machine::platform::fd::BorrowedFd;
use vectored_machine::platform::plain_calls;
use vectored_results::model::IovecSetup;

use crate::measure::sampler::interface::Timing;

fn time_synced(
    fd: BorrowedFd<'_>,
    batch: Timed,
    clock: &dyn Clock,
    mut call: Box<dyn FnMut() -> io::Result<()> + '_>,
) -> io::Result<Timing> {
    time(batch, clock, || {
        call()?;
        plain_calls::retry_on_intr(|| plain_calls::fsync(fd))?;
        Ok(())
    })
}

#[inline(always)]
fn time(
    batch: Timed,
    clock: &dyn Clock,
    mut call: impl FnMut() -> io::Result<()>,
) -> io::Result<Timing> {
    // The CPU clock is read before the untimed call, since the reading makes a system call. Between the untimed call and
    // the timed calls, this system call would give a thread at the other end a head start of some percent.
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

#[derive(Clone, Copy, Debug)]
pub struct Timed {
    pub calls: u32,
    pub untimed_first: bool,
    /// When an array of `iovec` is filled.
    pub iovec_setup: IovecSetup,
    pub fsync: bool,
    /// Transfers in flight: at least 1; always 1 for synchronous techniques.
    pub queue_depth: u32,
}

impl Timed {
    pub const fn calls(calls: u32) -> Self {
        Timed {
            calls,
            untimed_first: false,
            iovec_setup: IovecSetup::Timed,
            fsync: false,
            queue_depth: 1,
        }
    }

    /// Makes and times the calls. A technique calls this in its own `sample` if the technique sets up a resource that
    /// lasts for many calls.
    #[inline(always)]
    pub fn time(
        self,
        clock: &dyn Clock,
        fd: BorrowedFd<'_>,
        call: impl FnMut() -> io::Result<()>,
    ) -> io::Result<Timing> {
        if self.fsync {
            // The box moves `call` away, so the state of `call` stays in registers in the loop of samples.
            time_synced(fd, self, clock, Box::new(call))
        } else {
            time(self, clock, call)
        }
    }

    /// Number of untimed calls that precede the timed calls. With several transfers in flight, these calls fill the queue,
    /// so that the queue is full when the clock starts.
    pub fn calls_before(self) -> u32 {
        match self.queue_depth {
            0 | 1 => u32::from(self.untimed_first),
            depth => depth,
        }
    }

    /// Number of untimed calls that follow, so that the queue is full until the clock stops.
    pub fn calls_after(self) -> u32 {
        self.queue_depth.saturating_sub(1)
    }

    pub fn all_calls(self) -> u32 {
        self.calls_before() + self.calls + self.calls_after()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::os::fd::AsFd;

    use super::*;

    /// A clock that notes each reading and advances 1 ns per note.
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

    #[test]
    fn the_untimed_call_precedes_the_timed_ones() {
        let null = std::fs::File::open("/dev/null").unwrap();
        let sample = |untimed_first| {
            let clock = NotingClock::default();
            let timed = Timed {
                untimed_first,
                ..Timed::calls(2)
            };
            let timing = timed.time(&clock, null.as_fd(), || {
                clock.note("call");
                Ok(())
            });
            (clock.notes.into_inner().join(" "), timing.unwrap())
        };
        let (notes, timing) = sample(true);
        assert_eq!(notes, "cpu call now call call now cpu");
        assert_eq!(timing.elapsed_ns, 3);
        // 600 ns for three calls; two calls count.
        assert_eq!(timing.cpu_ns, 400);
        let (notes, timing) = sample(false);
        assert_eq!(notes, "cpu now call call now cpu");
        assert_eq!(timing.cpu_ns, 500);
    }
}
