//! The system calls of Unix.

pub(crate) mod codes;
pub(crate) mod files;
#[cfg(all(test, target_os = "linux"))]
pub(crate) mod fork;
pub(crate) mod syscalls;
