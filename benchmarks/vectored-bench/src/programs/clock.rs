//! The CPU time of the calling thread.

use rustix::time::{ClockId, clock_gettime};

/// User and system time of the calling thread, in ns.
pub fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
