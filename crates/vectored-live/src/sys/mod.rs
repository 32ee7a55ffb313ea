//! Memory that the kernel writes.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

pub(crate) struct Shared {
    at: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: the words are atomic, and the mapping lives as long as the value.
unsafe impl Send for Shared {}

impl Shared {
    pub(crate) fn map(fd: BorrowedFd<'_>, words: usize, is_written: bool) -> io::Result<Shared> {
        let protection =
            if is_written { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a new mapping, where the kernel likes.
        let at = unsafe {
            mmap(
                std::ptr::null_mut(),
                words * 8,
                protection,
                MapFlags::SHARED,
                fd,
                0,
            )?
        };
        let at = NonNull::new(at.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Shared { at, words })
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < self.words, "beyond the mapping");
        // SAFETY: within the mapping, which is aligned to pages.
        unsafe { self.at.add(index).as_ref() }
    }

    /// Reads a word. What the kernel wrote before the word is then visible.
    pub(crate) fn read(&self, index: usize) -> u64 {
        self.word(index).load(Ordering::Acquire)
    }

    /// Writes a word, after all earlier reads.
    pub(crate) fn write(&self, index: usize, value: u64) {
        self.word(index).store(value, Ordering::Release);
    }

    /// Copies words that the kernel may write meanwhile. If the kernel writes, another word says so, and the caller
    /// discards the copy.
    pub(crate) fn copy(&self, from: usize, into: &mut [u64]) {
        for (index, word) in into.iter_mut().enumerate() {
            *word = self.word(from + index).load(Ordering::Relaxed);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: nothing refers to the mapping any more. An error would leave the memory mapped.
        let _ = unsafe { munmap(self.at.as_ptr().cast(), self.words * 8) };
    }
}
