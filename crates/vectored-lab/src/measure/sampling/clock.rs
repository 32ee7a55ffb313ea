//! The clock that times all samples.

use std::cell::Cell;
use std::rc::Rc;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// A source of time. Real runs use [`MonotonicClock`], tests a [`FakeClock`].
pub trait Clock {
    /// Wall time since a fixed moment, in ns. Monotonic.
    fn now_ns(&self) -> u64;

    /// CPU time of the calling thread, in ns.
    fn thread_cpu_ns(&self) -> u64;
}

/// `CLOCK_MONOTONIC` and `CLOCK_THREAD_CPUTIME_ID`, see `clock_gettime(2)`.
///
/// The first is read without a system call if the kernel offers that (vDSO);
/// the second always costs a system call.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonotonicClock;

impl Clock for MonotonicClock {
    fn now_ns(&self) -> u64 {
        nanoseconds(clock_gettime(ClockId::Monotonic))
    }

    fn thread_cpu_ns(&self) -> u64 {
        nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
    }
}

/// A clock that moves only by [`FakeClock::advance`]. Clones share the time.
#[derive(Clone, Debug, Default)]
pub struct FakeClock {
    now_ns: Rc<Cell<u64>>,
}

impl FakeClock {
    /// Moves the clock forward.
    pub fn advance(&self, by_ns: u64) {
        self.now_ns.set(self.now_ns.get() + by_ns);
    }
}

impl Clock for FakeClock {
    fn now_ns(&self) -> u64 {
        self.now_ns.get()
    }

    fn thread_cpu_ns(&self) -> u64 {
        self.now_ns.get()
    }
}

fn nanoseconds(time: Timespec) -> u64 {
    // Both clocks start at zero and never reach the year 2554.
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
