//! Makes a list from an array of `iovec`, and documents what the caller must guarantee.

#![allow(unsafe_code)]

use std::io::{self, IoSlice, IoSliceMut};

use libc::iovec;

use super::list::{RawList, RawListMut};
use crate::sys::span::are_objects;
use crate::sys::{codes, raw};

impl<'s> RawList<'s> {
    /// The list of the `count` entries at `iov`. A null `iov` with a `count` of 0 is an empty list.
    ///
    /// # Safety
    ///
    /// While the result lives:
    ///
    /// - The `count` entries at `iov`, if any, are aligned, can be read, and do not change.
    /// - If the list is written, this process can read the bytes of each segment. The bytes may change during
    ///   the write. If the bytes change, it is unspecified whether old or new bytes are written.
    ///
    /// # Errors
    ///
    /// `EFAULT` if `iov` is null and `count` is not 0. `EINVAL` if the array has more than `isize::MAX`
    /// bytes.
    #[inline(always)]
    pub unsafe fn new<'a>(iov: *const iovec, count: usize) -> io::Result<RawList<'a>> {
        // SAFETY: the caller guarantees that the entries can be read, and dereferences no segment of the result
        // of `slices`. The other methods read lengths and addresses by `Span`, and make no reference to the bytes
        // of a segment.
        unsafe { raw::list(iov, count) }.map(|segments| RawList { segments })
    }

    /// Returns the list for a writing function of this crate. The writing functions make no reference to the
    /// bytes of a segment.
    ///
    /// # Safety
    ///
    /// The caller dereferences no segment. Other threads may change the bytes, and the address of an empty
    /// segment may be null.
    ///
    /// # Errors
    ///
    /// `EINVAL` if a segment has more than `isize::MAX` bytes or ends beyond the last address. writev(2)
    /// returns `EINVAL` too.
    pub unsafe fn slices(self) -> io::Result<&'s [IoSlice<'s>]> {
        if are_objects(self.segments) {
            Ok(self.segments)
        } else {
            Err(io::Error::from_raw_os_error(codes::EINVAL))
        }
    }
}

impl<'s> RawListMut<'s> {
    /// The list of the `count` entries at `iov`. A null `iov` with a `count` of 0 is an empty list.
    ///
    /// The array is copied, because a read needs an exclusive borrow of the list, and threads may share the
    /// array.
    ///
    /// # Safety
    ///
    /// - The `count` entries at `iov`, if any, are aligned and can be read.
    /// - While the result lives, the bytes of each segment can be read and written.
    /// - No two segments overlap.
    ///
    /// # Errors
    ///
    /// - `EFAULT` if `iov` is null and `count` is not 0, or if a segment that is not empty has a null
    ///   address.
    /// - `EINVAL` if the array or a segment has more than `isize::MAX` bytes.
    /// - `ENOMEM` if there is no memory for the copy.
    pub unsafe fn new<'a>(iov: *const iovec, count: usize) -> io::Result<RawListMut<'a>> {
        // SAFETY: the caller guarantees what `raw::list_mut` requires.
        unsafe { raw::list_mut(iov, count) }.map(|segments| RawListMut { segments })
    }

    /// Returns the list for a reading function of this crate.
    ///
    /// # Safety
    ///
    /// The caller dereferences no segment: the bytes may be uninitialised.
    pub unsafe fn slices(&mut self) -> &mut [IoSliceMut<'s>] {
        &mut self.segments
    }
}

#[cfg(test)]
mod tests;
