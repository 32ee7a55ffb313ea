//! Detects a forked child of the process that made a ring.
//!
//! # Safety
//!
//! The mark is a byte in a page that the kernel fills with zeros in each forked child (`MADV_WIPEONFORK` of madvise(2),
//! since Linux 4.14). The byte is read as an atomic. Reading the byte is faster than the system call getpid(2). A
//! reused process number cannot cause a wrong answer. The page is unmapped when the mark is dropped, and is not used
//! later.
#![allow(unsafe_code)]

use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

const HERE: u8 = 1;

const NO_WIPED_PAGES: &str = "madvise(2) has no MADV_WIPEONFORK here (before Linux 4.14, gVisor, qemu-user), by which a ring knows a forked child";

/// A byte that is zero in a forked child.
pub(super) struct ProcessMark(NonNull<AtomicU8>);

// SAFETY: a mark owns its page, and any thread may read the page.
unsafe impl Send for ProcessMark {}

impl ProcessMark {
    pub(super) fn new() -> io::Result<ProcessMark> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: the kernel chooses the address of the new mapping.
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

    /// Returns false in a forked child.
    pub(super) fn is_here(&self) -> bool {
        self.byte().load(Relaxed) == HERE
    }

    fn byte(&self) -> &AtomicU8 {
        // SAFETY: the page is mapped until `self` is dropped. The address is aligned and not null. Zero is a valid
        // `AtomicU8`.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for ProcessMark {
    fn drop(&mut self) {
        // SAFETY: `new` mapped the page, and no reference to the page is left. If the call fails, the page stays
        // mapped.
        unsafe { libc::munmap(self.0.as_ptr().cast(), 1) };
    }
}
