//! The CPUs that a thread may use.

use std::io;

use crate::sys::windows;

/// Whether a thread can be pinned to a CPU.
pub(crate) const CAN_PIN: bool = true;

/// The CPUs that this process may use, of the first 64. Pinning a thread does not reduce them.
pub(crate) fn allowed() -> Vec<usize> {
    windows::allowed_cpus()
}

pub(crate) fn current() -> usize {
    windows::current_cpu()
}

/// Pins this thread to a CPU.
pub fn pin(cpu: usize) -> io::Result<()> {
    windows::pin(cpu)
}
