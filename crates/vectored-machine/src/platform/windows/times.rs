//! Clocks.

use std::sync::OnceLock;
use std::time::Instant;

pub(crate) use crate::sys::windows::thread_cpu_ns;

pub const CLOCK: &str = "QueryPerformanceCounter";

/// Wall time since the first reading.
pub(crate) fn monotonic_ns() -> u64 {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    // 64 bits hold 584 years.
    BEGAN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}
