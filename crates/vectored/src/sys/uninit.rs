//! A buffer of uninitialised memory that reads fill from its start.
//!
//! # Safety
//!
//! `unsafe` for one cast of the filled part, which is initialised.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// Invariant: the first `filled` bytes of `buf` are initialised.
pub(crate) struct Filling<'b> {
    buf: &'b mut [MaybeUninit<u8>],
    filled: usize,
}

impl<'b> Filling<'b> {
    pub(crate) fn new(buf: &'b mut [MaybeUninit<u8>]) -> Filling<'b> {
        Filling { buf, filled: 0 }
    }

    /// Lets `read` fill up to `most` of the next bytes, and returns the number of filled bytes. `read` gets a slice,
    /// and returns the initialised part at the start of the slice.
    pub(crate) fn fill(
        &mut self,
        most: usize,
        read: impl FnOnce(&mut [MaybeUninit<u8>]) -> io::Result<&mut [u8]>,
    ) -> io::Result<usize> {
        let free = &mut self.buf[self.filled..];
        let len = free.len().min(most);
        let start = free.as_ptr().addr();
        let initialised = read(&mut free[..len])?;
        // The bytes of a `&[u8]` are initialised. The assertion shows that they are bytes of the buffer.
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
        // SAFETY: the pointer is made from a `&'b mut` slice, which `self` owned and which is not
        // used again, so the new reference is the only one for `'b`. `MaybeUninit<u8>` has the
        // layout of `u8`, and by the invariant all of these bytes are initialised.
        unsafe { &mut *(filled as *mut [u8]) }
    }
}
