//! Clocks, real and in tests.

use std::cell::Cell;
use std::rc::Rc;

use crate::platform::times;

/// A source of time. Real runs use [`MonotonicClock`], tests a [`FakeClock`].
pub trait Clock {
    /// Wall time since a fixed moment, in ns. Monotonic.
    fn now_ns(&self) -> u64;

    /// CPU time of the calling thread, in ns.
    fn thread_cpu_ns(&self) -> u64;
}

/// `CLOCK_MONOTONIC` and `CLOCK_THREAD_CPUTIME_ID`, see `clock_gettime(2)`; on Windows `QueryPerformanceCounter` and
/// `GetThreadTimes`, which counts in steps of milliseconds.
///
/// The kernel may offer the first clock without a system call (vDSO). Each reading of the second clock makes a system call.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonotonicClock;

impl Clock for MonotonicClock {
    fn now_ns(&self) -> u64 {
        times::monotonic_ns()
    }

    fn thread_cpu_ns(&self) -> u64 {
        times::thread_cpu_ns()
    }
}

/// A clock that moves only by [`FakeClock::advance`]. Clones share the time.
#[derive(Clone, Debug, Default)]
pub struct FakeClock {
    now_ns: Rc<Cell<u64>>,
}

impl FakeClock {
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
