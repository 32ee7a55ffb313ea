//! Unix: `writev(2)` and its like.

pub(crate) mod codes;
pub(crate) mod files;
#[cfg(all(test, target_os = "linux"))]
pub(crate) mod fork;
pub(crate) mod syscalls;
