//! The calls of Win32, and the memory that the kernel uses meanwhile.

pub(crate) mod calls;
pub(crate) mod completion;
pub(crate) mod pages;
