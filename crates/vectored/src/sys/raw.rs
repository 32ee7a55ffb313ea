//! Views arrays of `iovec` from another language as lists.
//!
//! # Safety
//!
//! The module uses `unsafe` to view an array of `iovec` as an array of `IoSlice` or `IoSliceMut`, which have the same
//! layout.

#![allow(unsafe_code)]

use std::io::{self, IoSlice, IoSliceMut};

use libc::iovec;

/// Views an array of `iovec` as a list. The segments may have any length and any address.
///
/// # Safety
///
/// If `count` is not 0, the `count` entries at `iov` are aligned, are readable for `'a`, and do not change. During
/// `'a`, all code that uses the list reads lengths and addresses by [`Span`](super::span::Span), and makes no reference
/// to the bytes of a segment.
#[inline(always)]
pub(crate) unsafe fn list<'a>(iov: *const iovec, count: usize) -> io::Result<&'a [IoSlice<'a>]> {
    // SAFETY: the caller keeps the contract.
    let entries = unsafe { entries(iov, count) }?;
    // SAFETY: `IoSlice` is guaranteed to have the layout of `iovec`. An `IoSlice` holds an address and a length, not a
    // reference.
    Ok(unsafe { std::slice::from_raw_parts(entries.as_ptr().cast(), entries.len()) })
}

/// Copies an array of `iovec` to a list for a read.
///
/// The list is a copy, because a read borrows the list exclusively, and C may share the array between threads.
///
/// # Errors
///
/// The errors of [`list`]; `EFAULT` if a segment that is not empty has a null address; `EINVAL` if a segment has more
/// than `isize::MAX` bytes; `ENOMEM` if the copy cannot be allocated.
///
/// # Safety
///
/// If `count` is not 0, the `count` entries at `iov` are aligned and readable. The bytes of each segment are readable
/// and writable for `'a`, and no two segments overlap.
pub(crate) unsafe fn list_mut<'a>(
    iov: *const iovec,
    count: usize,
) -> io::Result<Vec<IoSliceMut<'a>>> {
    // SAFETY: the caller keeps the contract.
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
        // SAFETY: `IoSliceMut` is guaranteed to have the layout of `iovec`. The caller promises that the bytes are
        // writable for `'a`. An empty segment may have any address except null.
        list.push(unsafe { std::mem::transmute::<iovec, IoSliceMut<'a>>(entry) });
    }
    Ok(list)
}

/// # Safety
///
/// If `count` is not 0, the `count` entries at `iov` are aligned, are readable for `'a`, and do not change.
#[inline(always)]
unsafe fn entries<'a>(iov: *const iovec, count: usize) -> io::Result<&'a [iovec]> {
    if count == 0 {
        return Ok(&[]);
    }
    if iov.is_null() {
        return Err(refusal(libc::EFAULT));
    }
    // A negative number of C becomes a large `size_t`.
    if count > isize::MAX as usize / size_of::<iovec>() {
        return Err(refusal(libc::EINVAL));
    }
    // SAFETY: the caller keeps the contract. The array has at most `isize::MAX` bytes.
    Ok(unsafe { std::slice::from_raw_parts(iov, count) })
}

#[cold]
#[inline(never)]
fn refusal(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}
