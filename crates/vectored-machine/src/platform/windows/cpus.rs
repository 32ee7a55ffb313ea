//! The CPUs that a thread may use.

use std::io;

use crate::sys::windows;

pub(crate) const CAN_PIN: bool = true;

/// The CPUs that this process may use, of the first 64. Pinning a thread does not reduce them.
pub fn allowed() -> Vec<usize> {
    windows::allowed_cpus()
}

pub(crate) fn current() -> usize {
    windows::current_cpu()
}

pub fn pin(cpu: usize) -> io::Result<()> {
    windows::pin(cpu)
}
