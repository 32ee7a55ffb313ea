//! Makes a list of an array of `iovec`, and says what the caller promises.

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
    /// - the `count` entries at `iov`, if any, are aligned, can be read, and do not change;
    /// - if the list is written, this process can read the bytes of each segment. If the bytes change meanwhile, it is
    ///   unspecified whether old or new bytes are written.
    ///
    /// # Errors
    ///
    /// `EFAULT` if `iov` is null and `count` is not 0, and `EINVAL` if the array has more than `isize::MAX` bytes.
    #[inline(always)]
    pub unsafe fn new<'a>(iov: *const iovec, count: usize) -> io::Result<RawList<'a>> {
        // SAFETY: the caller's promise about the entries, and about what `slices` returns. The other methods read lengths
        // and addresses by `Span`, and make no reference to the bytes of a segment.
        unsafe { raw::list(iov, count) }.map(|segments| RawList { segments })
    }

    /// The list, for a writing function of this crate. No such function makes a reference to the bytes of a segment.
    ///
    /// # Safety
    ///
    /// The caller dereferences no segment: the bytes may change, and an empty segment may be at null.
    ///
    /// # Errors
    ///
    /// `EINVAL`, as of writev(2), if a segment has more than `isize::MAX` bytes or ends beyond the last address.
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
    /// The array is copied: a list is borrowed exclusively while it is read into, but a caller may share the array
    /// between threads.
    ///
    /// # Safety
    ///
    /// The `count` entries at `iov`, if any, are aligned and can be read. As long as the result lives, the bytes of each
    /// segment can be read and written, and no two segments overlap.
    ///
    /// # Errors
    ///
    /// `EFAULT` if `iov` is null and `count` is not 0, or if a segment that is not empty has a null address; `EINVAL` if the
    /// array or a segment has more than `isize::MAX` bytes; `ENOMEM` if there is no memory for the copy.
    pub unsafe fn new<'a>(iov: *const iovec, count: usize) -> io::Result<RawListMut<'a>> {
        // SAFETY: the caller's promise.
        unsafe { raw::list_mut(iov, count) }.map(|segments| RawListMut { segments })
    }

    /// The list, for a reading function of this crate.
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
