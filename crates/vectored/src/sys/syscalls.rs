//! The system calls: no retry after a short call or `EINTR`, no loop.
//!
//! Neighbours that touch in memory are one entry to the kernel. If it answers `EINVAL` to such a list, the list
//! is tried again as it was: a driver that takes values may be handed each segment by itself (eventfd(2)), and
//! refuses what two of them are together. A call that is refused has moved nothing.
//!
//! # Safety
//!
//! `unsafe` for `writev(2)`, `pwritev(2)` and `sendmsg(2)` of entries that cover several segments, which are no slices.
#![allow(unsafe_code)]

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;
#[cfg(not(target_vendor = "apple"))]
use rustix::net::{SendAncillaryBuffer, SendFlags};

use super::coalesce::{MAX_ENTRIES, any_adjoin, coalesce};

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
        many if any_adjoin(many) => return write_coalesced(fd, many),
        many => rustix::io::writev(fd, many),
    };
    written.map_err(refusal)
}

/// Writes a list of which some segments touch.
///
/// By libc, since rustix takes slices, which the entries are not. (Its version 1.1.6 hands their address to the
/// kernel and reads none of them, but does not promise it.)
///
/// Out of line, for the room on the stack.
#[cold]
#[inline(never)]
fn write_coalesced(fd: BorrowedFd<'_>, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    let mut room = [const { MaybeUninit::uninit() }; MAX_ENTRIES];
    if let Some(entries) = coalesce(slices, &mut room) {
        let count = entries.len() as libc::c_int;
        // SAFETY: there are `count` entries. Each names segments that follow one another without a gap, which
        // are borrowed until the call is over, so all of it may be read. The call writes to neither.
        let written = unsafe { libc::writev(fd.as_raw_fd(), entries.as_ptr(), count) };
        if let Some(result) = unless_invalid(written) {
            return result;
        }
    }
    rustix::io::writev(fd, slices).map_err(refusal)
}

/// The same at an offset. (Elsewhere `off_t` may have 32 bits, and the list goes as it is.)
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[cold]
#[inline(never)]
fn pwrite_coalesced(fd: BorrowedFd<'_>, slices: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
    let mut room = [const { MaybeUninit::uninit() }; MAX_ENTRIES];
    if let Some(entries) = coalesce(slices, &mut room) {
        let count = entries.len() as libc::c_int;
        // An offset past `i64::MAX` is negative then, and `EINVAL`.
        let at = offset as libc::off_t;
        // SAFETY: as in `write_coalesced`.
        let written = unsafe { libc::pwritev(fd.as_raw_fd(), entries.as_ptr(), count, at) };
        if let Some(result) = unless_invalid(written) {
            return result;
        }
    }
    rustix::io::pwritev(fd, slices, offset).map_err(refusal)
}

/// The answer of a C function that returned this, which is negative for an error; `None` for `EINVAL`.
fn unless_invalid(returned: libc::ssize_t) -> Option<io::Result<usize>> {
    match usize::try_from(returned) {
        Ok(bytes) => Some(Ok(bytes)),
        Err(_) => {
            let error = io::Error::last_os_error();
            (error.raw_os_error() != Some(libc::EINVAL)).then_some(Err(error))
        }
    }
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

/// `sendmsg(2)`, or `send(2)` where there is one slice, without `SIGPIPE`: for sockets alone.
///
/// Neighbours that touch in memory are one entry to the kernel, unless `may_adjoin` is false.
/// `slices` must be within [`Limits`](crate::Limits), as for [`write_slices`]: a longer list is `EMSGSIZE`.
///
/// On Linux 6.18 `send` took 1 to 5 % less time than `write`, and `sendmsg` of two slices 0 to 2 % less than
/// `writev`; `pwritev2` with `RWF_NOSIGNAL` took up to 2 % more.
#[cfg(not(target_vendor = "apple"))]
#[inline(always)]
pub(crate) fn send_slices(
    fd: BorrowedFd<'_>,
    slices: &[IoSlice<'_>],
    may_adjoin: bool,
) -> io::Result<usize> {
    let sent = match slices {
        [one] => rustix::net::send(fd, one, SendFlags::NOSIGNAL),
        many if may_adjoin && any_adjoin(many) => return send_coalesced(fd, many),
        many => send_list(fd, many),
    };
    sent.map_err(refusal)
}

#[cfg(not(target_vendor = "apple"))]
#[inline(always)]
fn send_list(fd: BorrowedFd<'_>, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
    let mut none = SendAncillaryBuffer::default();
    rustix::net::sendmsg(fd, slices, &mut none, SendFlags::NOSIGNAL)
}

/// Sends a list of which some segments touch.
///
/// By libc, for the reason that [`write_coalesced`] gives.
#[cfg(not(target_vendor = "apple"))]
#[cold]
#[inline(never)]
fn send_coalesced(fd: BorrowedFd<'_>, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    let mut room = [const { MaybeUninit::uninit() }; MAX_ENTRIES];
    if let Some(entries) = coalesce(slices, &mut room) {
        // SAFETY: all zeros is a `msghdr`: no address, no list, no ancillary data, no flags.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = entries.as_ptr().cast_mut();
        // The type of the count differs between systems; there are at most `MAX_ENTRIES`.
        message.msg_iovlen = entries.len() as _;
        // SAFETY: `message` and the entries live until the call is over. There are `msg_iovlen` entries. Each
        // names segments that follow one another without a gap, which are borrowed until then, so all of it may
        // be read. The call writes to neither.
        let sent = unsafe { libc::sendmsg(fd.as_raw_fd(), &message, libc::MSG_NOSIGNAL) };
        if let Some(result) = unless_invalid(sent) {
            return result;
        }
    }
    send_list(fd, slices).map_err(refusal)
}

/// There is no `MSG_NOSIGNAL` here: the standard library sets `SO_NOSIGPIPE` on each socket that it makes.
#[cfg(target_vendor = "apple")]
#[inline(always)]
pub(crate) fn send_slices(
    fd: BorrowedFd<'_>,
    slices: &[IoSlice<'_>],
    may_adjoin: bool,
) -> io::Result<usize> {
    match may_adjoin {
        true => write_slices(fd, slices),
        false => write_entries(fd, slices),
    }
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
        #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
        many if any_adjoin(many) => return pwrite_coalesced(fd, many, offset),
        many => rustix::io::pwritev(fd, many, offset)?,
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    /// Miri reads what the kernel would, by the pointers that it is handed.
    #[test]
    fn touching_segments_of_one_array_may_be_read_by_the_entries_they_are_merged_to() {
        let data = *b"0123456789abcdefg";
        let mut segments: Vec<_> = data[..16].chunks(4).map(IoSlice::new).collect();
        segments.push(IoSlice::new(b"apart"));
        let name = format!("vectored-merged-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let file = std::fs::File::create(&path).unwrap();
        assert_eq!(write_slices(file.as_fd(), &segments).unwrap(), 21);
        assert_eq!(std::fs::read(&path).unwrap(), b"0123456789abcdefapart");
        // Miri knows no `pwritev`.
        if !cfg!(miri) {
            assert_eq!(pwrite_slices(file.as_fd(), &segments, 2).unwrap(), 21);
            assert_eq!(std::fs::read(&path).unwrap(), b"010123456789abcdefapart");
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn an_error_of_a_merged_call_is_passed_on() {
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
