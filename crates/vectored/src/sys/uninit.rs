//! A buffer of uninitialized memory that reads fill from its start.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// Invariant: the first `filled` bytes of `buf` are initialized.
pub(crate) struct Filling<'b> {
    buf: &'b mut [MaybeUninit<u8>],
    filled: usize,
}

impl<'b> Filling<'b> {
    pub(crate) fn new(buf: &'b mut [MaybeUninit<u8>]) -> Filling<'b> {
        Filling { buf, filled: 0 }
    }

    /// Calls `read` with up to `most` free bytes, and returns the number of filled bytes. `read` returns the
    /// initialized part at the start of its argument.
    pub(crate) fn fill(
        &mut self,
        most: usize,
        read: impl FnOnce(&mut [MaybeUninit<u8>]) -> io::Result<&mut [u8]>,
    ) -> io::Result<usize> {
        let free = &mut self.buf[self.filled..];
        let len = free.len().min(most);
        let start = free.as_ptr().addr();
        let initialised = read(&mut free[..len])?;
        // The bytes of a `&[u8]` are initialized. The assertion shows that the bytes belong to the buffer.
        assert!(
            initialised.as_ptr().addr() == start && initialised.len() <= len,
            "a read reported other bytes than those it was given"
        );
        let bytes = initialised.len();
        self.filled += bytes;
        Ok(bytes)
    }

    pub(crate) fn into_filled(self) -> &'b mut [u8] {
        let filled: *mut [MaybeUninit<u8>] = ptr::from_mut(&mut self.buf[..self.filled]);
        // SAFETY: the pointer comes from a `&'b mut` slice that `self` owned and that is not used again. So the new
        // reference is the only reference for `'b`. `MaybeUninit<u8>` has the layout of `u8`. By the invariant, all
        // bytes are initialized.
        unsafe { &mut *(filled as *mut [u8]) }
    }
}
