//! The functions that read into memory without content, on memory that has some.
//!
//! What they filled before an error is known to be initialised only by their promise. Here all of it
//! is beforehand, so that it can be looked at whatever they do.
//!
//! # Safety
//!
//! `unsafe` for one cast to `MaybeUninit`, of a slice that goes to these functions alone.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;

use vectored::{TransferError, read_exact_uninit, read_up_to_eof_uninit};

/// `read_exact_uninit` into initialised memory.
pub(crate) fn read_exact(fd: BorrowedFd<'_>, buf: &mut [u8]) -> Result<u64, TransferError> {
    check(buf, |buf| read_exact_uninit(fd, buf))
}

/// `read_up_to_eof_uninit` into initialised memory.
pub(crate) fn read_up_to_eof(fd: BorrowedFd<'_>, buf: &mut [u8]) -> Result<u64, TransferError> {
    check(buf, |buf| read_up_to_eof_uninit(fd, buf))
}

/// The bytes that it filled, which must be the first of the buffer.
fn check(
    buf: &mut [u8],
    read: impl FnOnce(&mut [MaybeUninit<u8>]) -> Result<&mut [u8], TransferError>,
) -> Result<u64, TransferError> {
    let start = buf.as_ptr();
    // SAFETY: `MaybeUninit<u8>` has the layout of `u8`, and the new reference is made from the only
    // one and gone before that is used again. Through it bytes could be de-initialised; the two
    // functions above are the only callers, and what they call hands it to read(2), which writes
    // bytes, and to nothing else.
    let buf = unsafe { &mut *(std::ptr::from_mut(buf) as *mut [MaybeUninit<u8>]) };
    let filled = read(buf)?;
    assert!(
        filled.is_empty() || filled.as_ptr() == start,
        "not its start"
    );
    Ok(filled.len() as u64)
}
