//! Clocks.

use rustix::time::{ClockId, Timespec, clock_gettime};

pub const CLOCK: &str = "CLOCK_MONOTONIC";

pub(crate) fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

pub(crate) fn thread_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

fn nanoseconds(time: Timespec) -> u64 {
    // Both clocks start at zero and never reach the year 2554.
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
