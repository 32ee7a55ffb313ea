//! The system calls, each made once: no retry, no loop.
//!
//! # Safety
//!
//! `unsafe` for lists whose touching segments are merged: they go from [`merged`] to the kernel.
#![allow(unsafe_code)]

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::BorrowedFd;

use rustix::io::Errno;

use super::merged::merged;

/// `writev(2)`, or `write(2)` where there is one slice: the kernel need not fetch an array then.
///
/// Neighbours that touch in memory are one entry to the kernel.
///
/// `slices` must be within [`Limits`](crate::Limits): rustix would drop what is past `IOV_MAX`,
/// which counts as a short write, and the kernel would cut what is past the byte cap or refuse it.
///
/// Inline, so that a short write is not two more functions to enter and to leave.
#[inline(always)]
pub(crate) fn write_slices(fd: BorrowedFd<'_>, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    let written = match slices {
        [one] => rustix::io::write(fd, one),
        // SAFETY: `writev` hands the address of the list to the kernel, and reads nothing of it.
        many => unsafe { merged(many, |many| rustix::io::writev(fd, many)) },
    };
    written.map_err(refusal)
}

/// Out of line: else it is computed without a branch, and so for each call that succeeds, too.
#[cold]
#[inline(never)]
fn refusal(errno: Errno) -> io::Error {
    errno.into()
}

/// The same, but every slice is an entry: where it is known that no two touch, and for a record. (A driver
/// without lists takes each for a record of its own, and which they are must not depend on where they lie in
/// memory.)
#[inline(always)]
pub(crate) fn write_entries(fd: BorrowedFd<'_>, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    let written = match slices {
        [one] => rustix::io::write(fd, one),
        many => rustix::io::writev(fd, many),
    };
    written.map_err(refusal)
}

/// `pwritev(2)`, or `pwrite(2)` where there is one slice.
///
/// `slices` must be within [`Limits`](crate::Limits), as for [`write_slices`].
pub(crate) fn pwrite_slices(
    fd: BorrowedFd<'_>,
    slices: &[IoSlice<'_>],
    offset: u64,
) -> io::Result<usize> {
    let written = match slices {
        [one] => rustix::io::pwrite(fd, one, offset)?,
        // SAFETY: `pwritev` does as `writev` above.
        many => unsafe { merged(many, |many| rustix::io::pwritev(fd, many, offset)) }?,
    };
    Ok(written)
}

/// `pwritev2(2)` with these `RWF_` flags, at an offset or (Linux's -1) at the file's position.
///
/// Without flags it is [`pwrite_slices`] or [`write_slices`]: where `pwritev2` is not known they are.
/// `slices` must be within [`Limits`](crate::Limits) as for those.
pub(crate) fn write_slices_with(
    fd: BorrowedFd<'_>,
    slices: &[IoSlice<'_>],
    offset: Option<u64>,
    flags: u32,
) -> io::Result<usize> {
    match (flags, offset) {
        (0, None) => write_slices(fd, slices),
        (0, Some(offset)) => pwrite_slices(fd, slices, offset),
        #[cfg(target_os = "linux")]
        (flags, offset) => {
            let flags = rustix::io::ReadWriteFlags::from_bits_retain(flags);
            let offset = offset.unwrap_or(u64::MAX);
            Ok(rustix::io::pwritev2(fd, slices, offset, flags)?)
        }
        #[cfg(not(target_os = "linux"))]
        _ => Err(rustix::io::Errno::NOSYS.into()),
    }
}

/// `readv(2)`, or `read(2)` where there is one slice. 0 is the end of the file.
///
/// `slices` must be within [`Limits`](crate::Limits), as for [`write_slices`].
pub(crate) fn read_slices(fd: BorrowedFd<'_>, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
    let read = match slices {
        [one] => rustix::io::read(fd, &mut **one)?,
        many => rustix::io::readv(fd, many)?,
    };
    Ok(read)
}

/// `preadv(2)`, or `pread(2)` where there is one slice: the file's own position stays as it is.
pub(crate) fn read_slices_at(
    fd: BorrowedFd<'_>,
    slices: &mut [IoSliceMut<'_>],
    offset: u64,
) -> io::Result<usize> {
    let read = match slices {
        [one] => rustix::io::pread(fd, &mut **one, offset)?,
        many => rustix::io::preadv(fd, many, offset)?,
    };
    Ok(read)
}
