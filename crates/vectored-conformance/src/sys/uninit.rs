//! Runs the functions for uninitialised memory on initialised memory.
//!
//! Only their contract says which bytes are initialised after an error. Here all bytes are, so a test can
//! read them whatever the functions did.
//!
//! # Safety
//!
//! `unsafe` for one cast to `MaybeUninit`, of a slice that only these functions get.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;

use vectored::TransferError;
use vectored::uninit::{read_exact_uninit, read_up_to_eof_uninit};

/// `read_exact_uninit` into initialised memory.
pub(crate) fn read_exact(fd: BorrowedFd<'_>, buf: &mut [u8]) -> Result<u64, TransferError> {
    check(buf, |buf| read_exact_uninit(fd, buf))
}

/// `read_up_to_eof_uninit` into initialised memory.
pub(crate) fn read_up_to_eof(fd: BorrowedFd<'_>, buf: &mut [u8]) -> Result<u64, TransferError> {
    check(buf, |buf| read_up_to_eof_uninit(fd, buf))
}

/// The number of bytes that `read` filled. Asserts that they are the first of the buffer.
fn check(
    buf: &mut [u8],
    read: impl FnOnce(&mut [MaybeUninit<u8>]) -> Result<&mut [u8], TransferError>,
) -> Result<u64, TransferError> {
    let start = buf.as_ptr();
    // SAFETY: `MaybeUninit<u8>` has the layout of `u8`. The new reference is made from the only one, and is
    // dead before that one is used again. A function could de-initialise bytes through it. The two functions
    // above are the only callers, and the functions that they call pass it to read(2) alone, which writes
    // bytes.
    let buf = unsafe { &mut *(std::ptr::from_mut(buf) as *mut [MaybeUninit<u8>]) };
    let filled = read(buf)?;
    assert!(
        filled.is_empty() || filled.as_ptr() == start,
        "the filled bytes are not at the start of the buffer"
    );
    Ok(filled.len() as u64)
}
