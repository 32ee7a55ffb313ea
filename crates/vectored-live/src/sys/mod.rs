//! Memory that the kernel writes, and a command that waits before it runs: all `unsafe`.
#![allow(unsafe_code)]

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Words of 8 bytes that are shared with the kernel.
pub(crate) struct Shared {
    at: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: the words are atomic, and the mapping lives as long as the value.
unsafe impl Send for Shared {}

impl Shared {
    /// Maps the values of an array.
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

    /// A word, with all that the kernel wrote before it.
    pub(crate) fn read(&self, index: usize) -> u64 {
        self.word(index).load(Ordering::Acquire)
    }

    /// Writes a word, after all reads before it.
    pub(crate) fn write(&self, index: usize, value: u64) {
        self.word(index).store(value, Ordering::Release);
    }

    /// Copies words. The kernel may write them meanwhile: then the copy is of no use, which another word tells.
    pub(crate) fn copy(&self, from: usize, into: &mut [u64]) {
        for (index, word) in into.iter_mut().enumerate() {
            *word = self.word(from + index).load(Ordering::Relaxed);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: nothing refers to it any more. An error would leave it mapped.
        let _ = unsafe { munmap(self.at.as_ptr().cast(), self.words * 8) };
    }
}

/// Makes a command wait, before it runs its program, until the writer is dropped. The reader has its number, in 4 bytes, from
/// the moment when it waits.
pub(crate) fn hold(command: &mut Command) -> io::Result<(PipeReader, PipeWriter)> {
    let (mut waits, go) = io::pipe()?;
    let (number, mut tells) = io::pipe()?;
    let own_go = go.as_raw_fd();
    let held = move || {
        // SAFETY: the copy of the child, without which it hears that the parent has ended. Nothing uses it there.
        unsafe { rustix::io::close(own_go) };
        tells.write_all(&std::process::id().to_ne_bytes())?;
        let mut one = [0];
        match waits.read(&mut one)? {
            1 => Ok(()),
            _ => Err(io::ErrorKind::Interrupted.into()),
        }
    };
    // SAFETY: after the fork it writes and reads pipes, and allocates nothing.
    unsafe {
        command.pre_exec({
            let mut held = held;
            move || held()
        })
    };
    Ok((number, go))
}
