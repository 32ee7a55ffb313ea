//! Views arrays of `iovec` from another language as lists.
//!
//! # Safety
//!
//! `unsafe` for views of an array of `iovec` as an array of `IoSlice` or `IoSliceMut`, which have the same layout.

#![allow(unsafe_code)]

use std::io::{self, IoSlice, IoSliceMut};

use libc::iovec;

/// An array of `iovec` as a list, whose segments may be of any length and at any address.
///
/// # Safety
///
/// The `count` entries at `iov`, if any, are aligned, can be read for `'a`, and do not change. Code that uses the list
/// for `'a` reads lengths and addresses by [`Span`](super::span::Span), and makes no reference to the bytes of a
/// segment.
#[inline(always)]
pub(crate) unsafe fn list<'a>(iov: *const iovec, count: usize) -> io::Result<&'a [IoSlice<'a>]> {
    // SAFETY: the caller's promise.
    let entries = unsafe { entries(iov, count) }?;
    // SAFETY: `IoSlice` is guaranteed to have the layout of `iovec`. It holds no reference, but an address and a length.
    Ok(unsafe { std::slice::from_raw_parts(entries.as_ptr().cast(), entries.len()) })
}

/// A copy of an array of `iovec` as a list to read into.
///
/// A copy, since the list is borrowed exclusively while it is read into, and C may share the array between threads.
///
/// # Errors
///
/// The errors of [`list`]; `EFAULT` if a segment that is not empty has a null address; `EINVAL` if a segment has more
/// than `isize::MAX` bytes; `ENOMEM` if there is no memory for the copy.
///
/// # Safety
///
/// The `count` entries at `iov`, if any, are aligned and can be read. The bytes of each segment can be read and written for
/// `'a`, and no two segments overlap.
pub(crate) unsafe fn list_mut<'a>(
    iov: *const iovec,
    count: usize,
) -> io::Result<Vec<IoSliceMut<'a>>> {
    // SAFETY: the caller's promise.
    let entries = unsafe { entries(iov, count) }?;
    let mut list = Vec::new();
    if list.try_reserve_exact(count).is_err() {
        return Err(refusal(libc::ENOMEM));
    }
    for entry in entries {
        let mut entry = *entry;
        match (entry.iov_base.is_null(), entry.iov_len) {
            (true, 0) => entry.iov_base = std::ptr::dangling_mut::<u8>().cast(),
            (true, _) => return Err(refusal(libc::EFAULT)),
            (false, len)
                if len > isize::MAX as usize
                    || entry.iov_base.addr().checked_add(len).is_none() =>
            {
                return Err(refusal(libc::EINVAL));
            }
            (false, _) => {}
        }
        // SAFETY: `IoSliceMut` is guaranteed to have the layout of `iovec`. The bytes are the caller's to write for `'a`, by
        // its promise. An empty segment may be at any address but null.
        list.push(unsafe { std::mem::transmute::<iovec, IoSliceMut<'a>>(entry) });
    }
    Ok(list)
}

/// # Safety
///
/// The `count` entries at `iov`, if any, are aligned and can be read for `'a`, and do not change.
#[inline(always)]
unsafe fn entries<'a>(iov: *const iovec, count: usize) -> io::Result<&'a [iovec]> {
    if count == 0 {
        return Ok(&[]);
    }
    if iov.is_null() {
        return Err(refusal(libc::EFAULT));
    }
    // A negative number in C is as large when it is converted to a `size_t`.
    if count > isize::MAX as usize / size_of::<iovec>() {
        return Err(refusal(libc::EINVAL));
    }
    // SAFETY: the caller's promise, and the array has at most `isize::MAX` bytes.
    Ok(unsafe { std::slice::from_raw_parts(iov, count) })
}

#[cold]
#[inline(never)]
fn refusal(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}
