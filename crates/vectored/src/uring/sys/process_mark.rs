//! Whether this is still the process that made a ring.
//!
//! # Safety
//!
//! A page of memory that the kernel empties in each forked child (`MADV_WIPEONFORK` of madvise(2), since Linux 4.14)
//! holds a byte, which is read as an atomic. To read the byte costs less than getpid(2), which is a system call, and a
//! process of the same number does not deceive the mark. The page is unmapped when the mark is dropped, and not used
//! after that.
#![allow(unsafe_code)]

use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

const HERE: u8 = 1;

const NO_WIPED_PAGES: &str = "madvise(2) has no MADV_WIPEONFORK here (before Linux 4.14, gVisor, qemu-user), by which a ring knows a forked child";

/// A byte of memory that a forked child does not inherit.
pub(super) struct ProcessMark(NonNull<AtomicU8>);

// SAFETY: it owns its page, which any thread may read.
unsafe impl Send for ProcessMark {}

impl ProcessMark {
    pub(super) fn new() -> io::Result<ProcessMark> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let page = unsafe { libc::mmap(ptr::null_mut(), 1, access, kind, -1, 0) };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mark = ProcessMark(NonNull::new(page.cast()).expect("a mapping"));
        // SAFETY: the page was mapped above.
        if unsafe { libc::madvise(page, 1, libc::MADV_WIPEONFORK) } != 0 {
            let error = io::Error::last_os_error();
            return Err(match error.raw_os_error() {
                Some(libc::EINVAL) => io::Error::new(io::ErrorKind::Unsupported, NO_WIPED_PAGES),
                _ => error,
            });
        }
        mark.byte().store(HERE, Relaxed);
        Ok(mark)
    }

    /// Whether this process made the mark: false in a forked child.
    pub(super) fn is_here(&self) -> bool {
        self.byte().load(Relaxed) == HERE
    }

    fn byte(&self) -> &AtomicU8 {
        // SAFETY: the page is mapped while `self` lives, is never null or misaligned, and zero is an `AtomicU8`.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for ProcessMark {
    fn drop(&mut self) {
        // SAFETY: the page was mapped by `new`, and no reference to it is left. A failure would leave it mapped.
        unsafe { libc::munmap(self.0.as_ptr().cast(), 1) };
    }
}
