//! Shared mappings of a part of a file.
//!
//! # Safety
//!
//! A reference into a mapping needs memory that nobody changes meanwhile. The files that are measured have no name, so no other
//! process has them open, and a technique makes no other call while it uses a mapping. The kernel kills the process with `SIGBUS` if
//! a mapping is touched beyond the end of its file, or where a full file system has no block: memory safety is not violated.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::BorrowedFd;

use memmap2::{Mmap, MmapMut, MmapOptions};

pub fn map_to_write(fd: BorrowedFd<'_>, place: u64, bytes: usize) -> io::Result<MmapMut> {
    // SAFETY: see above.
    unsafe { MmapOptions::new().offset(place).len(bytes).map_mut(&fd) }
}

pub fn map_to_read(fd: BorrowedFd<'_>, place: u64, bytes: usize) -> io::Result<Mmap> {
    // SAFETY: see above.
    unsafe { MmapOptions::new().offset(place).len(bytes).map(&fd) }
}
