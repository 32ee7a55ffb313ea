//! The system calls. Each function makes one call, without a retry after `EINTR` or after a short call.
//!
//! All `slices` must be within [`Limits`](crate::limits::Limits). rustix drops entries above `IOV_MAX`, and the result
//! is a short write. The kernel cuts or refuses bytes above `MAX_CALL_BYTES`.
//!
//! Segments that are adjacent in memory are coalesced into one entry. If the kernel returns `EINVAL` for a coalesced
//! list, the original list is sent again. A driver that takes one value for each segment (eventfd(2)) may refuse two
//! joined values. A refused call has moved no bytes.
//!
//! # Safety
//!
//! The module uses `unsafe` for calls of libc that take addresses. rustix takes slices for these calls.
//!
//! - `writev(2)`, `pwritev(2)` and `sendmsg(2)` get coalesced entries, which are not slices.
//! - A call of a single entry gets its address, because no reference to the bytes may exist (`sys/span.rs`).
//!
//! For a list, rustix takes `IoSlice`s. Version 1.1.6 passes the address of the list on and reads no slice, but does
//! not guarantee this behaviour.
#![allow(unsafe_code)]

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

// On 32-bit Linux, `off_t` may have 32 bits. On all other systems, `off_t` has 64 bits.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
use libc::{off_t as off64_t, pread as pread64, pwrite as pwrite64};
#[cfg(any(target_os = "linux", target_os = "android"))]
use libc::{off64_t, pread64, pwrite64};
use rustix::io::Errno;
#[cfg(not(target_vendor = "apple"))]
use rustix::net::{SendAncillaryBuffer, SendFlags};

use crate::sys::coalesce::{EntryBuffer, any_adjoin, coalesce};
use crate::sys::span::Span;

/// `writev(2)`, or `write(2)` for one slice, because the kernel then reads no array. Adjacent segments are coalesced.
///
/// The function is inline, because two more calls of functions would take time.
#[inline(always)]
pub(crate) fn write_slices(fd: BorrowedFd<'_>, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    match slices {
        [one] => write_one(fd, one),
        many if any_adjoin(many) => write_coalesced(fd, many),
        many => rustix::io::writev(fd, many).map_err(refusal),
    }
}

/// `write(2)` of bytes of this process, without the function of libc.
///
/// libc's function returns after the system call, and the system call has cleared the processor's prediction of return
/// addresses. In a program with threads, libc's function also makes the call a cancellation point.
#[inline(always)]
pub(crate) fn write_bytes(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    rustix::io::write(fd, bytes).map_err(refusal)
}

#[inline(always)]
fn write_one(fd: BorrowedFd<'_>, one: &IoSlice<'_>) -> io::Result<usize> {
    // SAFETY: the call writes to no memory of this process. The entry's bytes are readable while the entry exists.
    // Memory that cannot be read causes `EFAULT`.
    moved(unsafe { libc::write(fd.as_raw_fd(), one.start().cast(), one.byte_len()) })
}

#[inline(always)]
fn moved(returned: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(returned).map_err(|_| last_error())
}

/// The function is out of line for the reason that [`refusal`] gives.
#[cold]
#[inline(never)]
fn last_error() -> io::Error {
    io::Error::last_os_error()
}

/// Writes a list with adjacent segments. The function is out of line because it needs 2 KiB of stack.
#[cold]
#[inline(never)]
fn write_coalesced(fd: BorrowedFd<'_>, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    let mut buffer = EntryBuffer::new();
    if let Some(entries) = coalesce(slices, &mut buffer) {
        let count = entries.len() as libc::c_int;
        // SAFETY: `entries` has `count` entries. By the invariant of `entries`, the memory of the entries is readable.
        // The call writes neither to the entries nor to their memory.
        let written = unsafe { libc::writev(fd.as_raw_fd(), entries.as_ptr(), count) };
        if let Some(result) = unless_invalid(written) {
            return result;
        }
    }
    rustix::io::writev(fd, slices).map_err(refusal)
}

/// Writes a list with adjacent segments at an offset. If `off_t` may have 32 bits, `pwrite_slices` passes the list
/// without coalescing.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[cold]
#[inline(never)]
fn pwrite_coalesced(fd: BorrowedFd<'_>, slices: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
    let mut buffer = EntryBuffer::new();
    if let Some(entries) = coalesce(slices, &mut buffer) {
        let count = entries.len() as libc::c_int;
        // An offset above `i64::MAX` becomes negative, and the call fails with `EINVAL`.
        let at = offset as libc::off_t;
        // SAFETY: the argument of `write_coalesced` applies.
        let written = unsafe { libc::pwritev(fd.as_raw_fd(), entries.as_ptr(), count, at) };
        if let Some(result) = unless_invalid(written) {
            return result;
        }
    }
    rustix::io::pwritev(fd, slices, offset).map_err(refusal)
}

/// Returns the result of a C function, which is negative for an error. Returns `None` for `EINVAL`.
fn unless_invalid(returned: libc::ssize_t) -> Option<io::Result<usize>> {
    match moved(returned) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => None,
        result => Some(result),
    }
}

/// If this function were inline, the compiler would compute the error without a branch, even for each successful call.
#[cold]
#[inline(never)]
fn refusal(errno: Errno) -> io::Error {
    errno.into()
}

/// Writes a list without coalescing: a list without adjacent segments, or a record.
///
/// A driver that supports no lists takes each segment as a record. So the records must not depend on the positions of
/// the segments in memory.
#[inline(always)]
pub(crate) fn write_entries(fd: BorrowedFd<'_>, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    match slices {
        [one] => write_one(fd, one),
        many => rustix::io::writev(fd, many).map_err(refusal),
    }
}

/// `sendmsg(2)`, or `send(2)` for one slice, without `SIGPIPE`. Only for sockets.
///
/// Adjacent segments are coalesced, unless `may_adjoin` is false. A list above the limits fails with `EMSGSIZE`.
///
/// On Linux 6.18, `send` took 1 to 5 % less time than `write`. `sendmsg` of two slices took 0 to 2 % less time than
/// `writev`. `pwritev2` with `RWF_NOSIGNAL` took up to 2 % more time.
#[cfg(not(target_vendor = "apple"))]
#[inline(always)]
pub(crate) fn send_slices(
    fd: BorrowedFd<'_>,
    slices: &[IoSlice<'_>],
    may_adjoin: bool,
) -> io::Result<usize> {
    match slices {
        [one] => {
            let (start, flags) = (one.start().cast(), libc::MSG_NOSIGNAL);
            // SAFETY: the argument of `write_one` applies.
            moved(unsafe { libc::send(fd.as_raw_fd(), start, one.byte_len(), flags) })
        }
        many if may_adjoin && any_adjoin(many) => send_coalesced(fd, many),
        many => send_list(fd, many).map_err(refusal),
    }
}

/// `send(2)` of bytes of this process, without `SIGPIPE`. Only for sockets.
#[cfg(not(target_vendor = "apple"))]
#[inline(always)]
pub(crate) fn send_bytes(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    rustix::net::send(fd, bytes, SendFlags::NOSIGNAL).map_err(refusal)
}

#[cfg(not(target_vendor = "apple"))]
#[inline(always)]
fn send_list(fd: BorrowedFd<'_>, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
    let mut none = SendAncillaryBuffer::default();
    rustix::net::sendmsg(fd, slices, &mut none, SendFlags::NOSIGNAL)
}

#[cfg(not(target_vendor = "apple"))]
#[cold]
#[inline(never)]
fn send_coalesced(fd: BorrowedFd<'_>, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    let mut buffer = EntryBuffer::new();
    if let Some(entries) = coalesce(slices, &mut buffer) {
        // SAFETY: a `msghdr` of zeros is valid: no address, no list, no ancillary data, no flags.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = entries.as_ptr().cast_mut();
        // The type of the count differs between systems. The count is at most 128.
        message.msg_iovlen = entries.len() as _;
        // SAFETY: `message` exists until the call has returned, and has `msg_iovlen` entries. By the invariant of
        // `entries`, their memory is readable. The call writes neither to the entries nor to their memory.
        let sent = unsafe { libc::sendmsg(fd.as_raw_fd(), &message, libc::MSG_NOSIGNAL) };
        if let Some(result) = unless_invalid(sent) {
            return result;
        }
    }
    send_list(fd, slices).map_err(refusal)
}

/// Apple's systems have no `MSG_NOSIGNAL`. The standard library sets `SO_NOSIGPIPE` on each socket that it makes.
#[cfg(target_vendor = "apple")]
#[inline(always)]
pub(crate) fn send_slices(
    fd: BorrowedFd<'_>,
    slices: &[IoSlice<'_>],
    may_adjoin: bool,
) -> io::Result<usize> {
    if may_adjoin { write_slices(fd, slices) } else { write_entries(fd, slices) }
}

#[cfg(target_vendor = "apple")]
#[inline(always)]
pub(crate) fn send_bytes(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    write_bytes(fd, bytes)
}

/// `pwritev(2)`, or `pwrite(2)` for one slice.
pub(crate) fn pwrite_slices(
    fd: BorrowedFd<'_>,
    slices: &[IoSlice<'_>],
    offset: u64,
) -> io::Result<usize> {
    match slices {
        [one] => {
            // An offset above `i64::MAX` becomes negative, and the call fails with `EINVAL`.
            let at = offset as off64_t;
            // SAFETY: the argument of `write_one` applies.
            moved(unsafe { pwrite64(fd.as_raw_fd(), one.start().cast(), one.byte_len(), at) })
        }
        #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
        many if any_adjoin(many) => pwrite_coalesced(fd, many, offset),
        many => rustix::io::pwritev(fd, many, offset).map_err(refusal),
    }
}

/// `pwritev2(2)` with `RWF_` flags, at an offset or at the file's position. Linux takes the offset -1 for the position.
///
/// Without flags, the function calls [`pwrite_slices`] or [`write_slices`], because old kernels have no `pwritev2`.
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

/// `readv(2)`, or `read(2)` for one slice. 0 is the end of the file.
pub(crate) fn read_slices(fd: BorrowedFd<'_>, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
    match slices {
        [one] => {
            let (to, bytes) = (one.start().cast_mut().cast(), one.byte_len());
            // SAFETY: the call writes only to the bytes of the entry, which are borrowed exclusively while the entry
            // exists.
            moved(unsafe { libc::read(fd.as_raw_fd(), to, bytes) })
        }
        many => rustix::io::readv(fd, many).map_err(refusal),
    }
}

/// `preadv(2)`, or `pread(2)` for one slice. The file's position does not change.
pub(crate) fn read_slices_at(
    fd: BorrowedFd<'_>,
    slices: &mut [IoSliceMut<'_>],
    offset: u64,
) -> io::Result<usize> {
    match slices {
        [one] => {
            let (to, bytes) = (one.start().cast_mut().cast(), one.byte_len());
            let at = offset as off64_t;
            // SAFETY: the argument of `read_slices` applies.
            moved(unsafe { pread64(fd.as_raw_fd(), to, bytes, at) })
        }
        many => rustix::io::preadv(fd, many, offset).map_err(refusal),
    }
}

/// `read(2)` into memory that may be uninitialized. Returns the filled part at the start of `free`.
pub(crate) fn read_uninit<'b>(
    fd: BorrowedFd<'_>,
    free: &'b mut [MaybeUninit<u8>],
) -> io::Result<&'b mut [u8]> {
    let (filled, _) = rustix::io::read(fd, free)?;
    Ok(filled)
}

/// Writes all of `slices` in one call, each slice as one entry.
#[inline(always)]
pub(crate) fn write_record(fd: BorrowedFd<'_>, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    write_entries(fd, slices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    /// Miri reads the memory by the pointers of the entries, like the kernel.
    #[test]
    fn adjoining_segments_of_one_array_may_be_read_by_their_coalesced_entries() {
        let data = *b"0123456789abcdefg";
        let mut segments: Vec<_> = data[..16].chunks(4).map(IoSlice::new).collect();
        segments.push(IoSlice::new(b"apart"));
        let name = format!("vectored-coalesced-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let file = std::fs::File::create(&path).unwrap();
        assert_eq!(write_slices(file.as_fd(), &segments).unwrap(), 21);
        assert_eq!(std::fs::read(&path).unwrap(), b"0123456789abcdefapart");
        // Miri does not support `pwritev`.
        if !cfg!(miri) {
            assert_eq!(pwrite_slices(file.as_fd(), &segments, 2).unwrap(), 21);
            assert_eq!(std::fs::read(&path).unwrap(), b"010123456789abcdefapart");
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn an_error_of_a_coalesced_call_is_passed_on() {
        let data = *b"01234567";
        let segments = [IoSlice::new(&data[..4]), IoSlice::new(&data[4..])];
        let closed = std::fs::File::open("/dev/null").unwrap();
        let error = write_slices(closed.as_fd(), &segments).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EBADF));
        let offset = i64::MAX as u64 + 1;
        let null = std::fs::File::create("/dev/null").unwrap();
        let error = pwrite_slices(null.as_fd(), &segments, offset).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    }
}
