//! Lists that are written and read without a handle: nothing is copied.

use std::os::fd::BorrowedFd;

use libc::{c_int, iovec, size_t, ssize_t};
use vectored::bindings::{RawList, RawListMut};
use vectored::files::{read_exact_at, read_up_to_eof_at, write_all_at};
use vectored::{
    SegmentCursor, read_exact, read_up_to_eof, resume_read, resume_write, write_all, write_once,
};

use crate::cursor::{keep, position, vectored_cursor};
use crate::entry::{Failure, descriptor, object, transfer};

/// Writes all segments in order, and returns the number of their bytes. Nothing is copied.
///
/// Errors (-1 and errno, with the bytes written before in `*done`):
///
/// EAGAIN: a non-blocking descriptor is full, or the SO_SNDTIMEO of a socket has passed. If you expect EAGAIN, use
/// `vectored_resume_write`. The same call would write the first `*done` bytes again: advance a cursor by `*done`, and
/// continue with `vectored_resume_write`.
///
/// EBADF: `fd` is negative, or not open for writing.
///
/// EFAULT: `iov` is NULL and `iovcnt` is not 0; no byte is written. Or the kernel cannot read the memory of a segment of
/// 1 byte or more, for example because its `iov_base` is NULL; some bytes may be written then.
///
/// EINVAL: a segment has more than SSIZE_MAX bytes, or the descriptor is a socket that keeps messages apart (SOCK_DGRAM,
/// SOCK_SEQPACKET) and the list is not exactly one message: use `vectored_write_once`. No byte is written.
///
/// EIO: a call wrote no byte and returned no error.
///
/// EPIPE (if SIGPIPE is ignored), ENOSPC, and all other errors of write(2), but never EINTR.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_write_all(
    fd: c_int,
    iov: *const iovec,
    iovcnt: size_t,
    done: *mut size_t,
) -> ssize_t {
    // SAFETY: the caller promises the list, and that `done` is null or can be written.
    unsafe {
        write(done, fd, iov, iovcnt, |fd, list| {
            Ok(write_all(fd, list.slices()?)?)
        })
    }
}

/// Writes from `cursor` to the end of the list, and returns the number of bytes of this call.
///
/// Writes like `vectored_write_all`, but can be resumed: on success and on error, `cursor` has moved by exactly the bytes
/// that were written. After EAGAIN, wait with poll(2) until the descriptor is ready, and call the function again with the
/// same list and cursor. If the cursor is at the end of the list, the function returns 0 without a system call.
///
/// Errors: as `vectored_write_all`; EFAULT if `cursor` is NULL; EINVAL if the cursor is outside of the list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_resume_write(
    fd: c_int,
    iov: *const iovec,
    iovcnt: size_t,
    cursor: *mut vectored_cursor,
    done: *mut size_t,
) -> ssize_t {
    // SAFETY: the caller promises the list and the cursor, and that `done` is null or can be written.
    unsafe {
        write(done, fd, iov, iovcnt, |fd, list| {
            resumed(object(cursor)?, list, |at| {
                Ok(resume_write(fd, list.slices()?, at)?)
            })
        })
    }
}

/// Writes all segments in order into a file at `offset`, and returns the number of their bytes. The file's own position is neither used
/// nor moved.
///
/// To resume after an error, write the rest of the list at `offset` + `*done`. `vectored_cursor_advance` finds the
/// segment and the byte at which the rest begins. Pass a copy of the array from that byte on, since no function takes
/// both a cursor and an offset. Or move the file's position by lseek(2), and call `vectored_resume_write`. Through a
/// descriptor with O_APPEND, Linux appends whatever the offset is ("BUGS" of pwrite(2)).
///
/// Errors: as `vectored_write_all`; EINVAL if `offset` is negative, or if the last byte would lie at or past the largest
/// offset; ESPIPE on a pipe or socket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_pwrite_all(
    fd: c_int,
    iov: *const iovec,
    iovcnt: size_t,
    offset: i64,
    done: *mut size_t,
) -> ssize_t {
    // SAFETY: the caller promises the list, and that `done` is null or can be written.
    unsafe {
        write(done, fd, iov, iovcnt, |fd, list| {
            Ok(write_all_at(fd, list.slices()?, place(offset)?)?)
        })
    }
}

/// Writes all segments in exactly one system call, or fails: for lines of a log with several writers (O_APPEND), records
/// of up to PIPE_BUF bytes on a pipe with several writers, and messages on a SOCK_DGRAM or SOCK_SEQPACKET socket.
///
/// Empty segments do not count. If all segments are empty, the function returns 0 without a system call: send an empty
/// message with send(2).
///
/// Errors: as `vectored_write_all`, and
///
/// EINVAL: the list has more than IOV_MAX segments, more than 0x7ffff000 bytes, or on a pipe more than PIPE_BUF bytes. No
/// byte is written.
///
/// EIO: the call was short, and `*done` bytes of the record are written. No second call is made, and the first cannot
/// be undone. Causes are a full disk, a non-blocking stream socket, and a signal during a long write.
///
/// EOPNOTSUPP: the driver takes no lists. Copy the record into one segment. No byte is written.
///
/// After EAGAIN no byte is written: try the whole record again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_write_once(
    fd: c_int,
    iov: *const iovec,
    iovcnt: size_t,
    done: *mut size_t,
) -> ssize_t {
    // SAFETY: the caller promises the list, and that `done` is null or can be written.
    unsafe {
        write(done, fd, iov, iovcnt, |fd, list| {
            Ok(write_once(fd, list.slices()?)?)
        })
    }
}

/// Reads into all segments in order until they are full, and returns the number of their bytes. Bytes after the list stay in the stream.
///
/// Errors (-1 and errno). The first `*done` bytes of the list are read then, and the content of the rest is unspecified:
///
/// ENODATA: the file or stream ended before the list was full. If `*done` is 0, no byte of the list was there, as after
/// the last record of a stream. If an early end is no error, use `vectored_read_up_to_eof`.
///
/// EAGAIN: a non-blocking descriptor is empty, or the SO_RCVTIMEO of a socket has passed. To continue, advance a cursor
/// by `*done`, and call `vectored_resume_read`.
///
/// EINVAL: the descriptor is a socket that keeps messages apart (use recvmsg(2)), or a segment has more than SSIZE_MAX bytes.
///
/// EBADF: `fd` is negative, or not open for reading.
///
/// EFAULT: `iov` is NULL and `iovcnt` is not 0, or `iov_base` of a segment of 1 byte or more is NULL; no byte is read. Or the
/// kernel cannot write to the memory of a segment.
///
/// ENOMEM: there is no memory for a copy of the array `iov`. No byte is read.
///
/// All other errors of read(2), but never EINTR.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_read_exact(
    fd: c_int,
    iov: *const iovec,
    iovcnt: size_t,
    done: *mut size_t,
) -> ssize_t {
    // SAFETY: the caller promises the list, and that `done` is null or can be written.
    unsafe {
        read(done, fd, iov, iovcnt, |fd, list| {
            Ok(read_exact(fd, list.slices())?)
        })
    }
}

/// Reads from `cursor` on until the segments are full, and returns the number of bytes of this call.
///
/// Reads like `vectored_read_exact`, but can be resumed: on success and on error, `cursor` has moved by exactly the bytes
/// that were read.
///
/// Errors: as `vectored_read_exact`; EFAULT if `cursor` is NULL; EINVAL if the cursor is outside of the list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_resume_read(
    fd: c_int,
    iov: *const iovec,
    iovcnt: size_t,
    cursor: *mut vectored_cursor,
    done: *mut size_t,
) -> ssize_t {
    // SAFETY: the caller promises the list and the cursor, and that `done` is null or can be written.
    unsafe {
        read(done, fd, iov, iovcnt, |fd, list| {
            let cursor = object(cursor)?;
            let mut at = position(cursor, |at| list.contains(at))?;
            let read = resume_read(fd, list.slices(), &mut at);
            keep(cursor, at);
            Ok(read?)
        })
    }
}

/// Reads into the segments in order until they are full or the file ends, and returns the number of bytes read. If that
/// is less than the length of the list, the file or stream has ended.
///
/// Errors: as `vectored_read_exact`, without ENODATA.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_read_up_to_eof(
    fd: c_int,
    iov: *const iovec,
    iovcnt: size_t,
    done: *mut size_t,
) -> ssize_t {
    // SAFETY: the caller promises the list, and that `done` is null or can be written.
    unsafe {
        read(done, fd, iov, iovcnt, |fd, list| {
            Ok(read_up_to_eof(fd, list.slices())?)
        })
    }
}

/// Reads into all segments in order from `offset` of a file on, and returns the number of their bytes. The file's own position is neither
/// used nor moved.
///
/// Errors: as `vectored_read_exact`; EINVAL if `offset` is negative, or if the list would end past the largest offset;
/// ESPIPE on a pipe or socket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_pread_exact(
    fd: c_int,
    iov: *const iovec,
    iovcnt: size_t,
    offset: i64,
    done: *mut size_t,
) -> ssize_t {
    // SAFETY: the caller promises the list, and that `done` is null or can be written.
    unsafe {
        read(done, fd, iov, iovcnt, |fd, list| {
            Ok(read_exact_at(fd, list.slices(), place(offset)?)?)
        })
    }
}

/// Reads like `vectored_pread_exact` until the segments are full or the file ends. Returns the number of bytes read: 0 if
/// the file ends at or before `offset`.
///
/// Errors: as `vectored_pread_exact`, without ENODATA.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_pread_up_to_eof(
    fd: c_int,
    iov: *const iovec,
    iovcnt: size_t,
    offset: i64,
    done: *mut size_t,
) -> ssize_t {
    // SAFETY: the caller promises the list, and that `done` is null or can be written.
    unsafe {
        read(done, fd, iov, iovcnt, |fd, list| {
            Ok(read_up_to_eof_at(fd, list.slices(), place(offset)?)?)
        })
    }
}

/// An offset of C.
///
/// # Errors
///
/// `EINVAL` if the offset is negative, as for pwrite(2).
pub(crate) fn place(offset: i64) -> Result<u64, Failure> {
    u64::try_from(offset).map_err(|_| Failure::with_code(libc::EINVAL))
}

/// Runs a write from the position of a cursor of C. On success and on error, the cursor moves by the written bytes.
#[inline]
pub(crate) fn resumed(
    cursor: &mut vectored_cursor,
    list: RawList<'_>,
    write: impl FnOnce(&mut SegmentCursor) -> Result<u64, Failure>,
) -> Result<u64, Failure> {
    let mut at = position(cursor, |at| list.contains(at))?;
    let written = write(&mut at);
    keep(cursor, at);
    written
}

/// Runs a write of a list of C, as [`transfer`].
///
/// # Safety
///
/// The promises of [`transfer`] and [`RawList::new`].
#[inline(always)]
pub(crate) unsafe fn write(
    done: *mut size_t,
    fd: c_int,
    iov: *const iovec,
    iovcnt: size_t,
    write: impl FnOnce(BorrowedFd<'_>, RawList<'_>) -> Result<u64, Failure>,
) -> ssize_t {
    // SAFETY: the caller's promises.
    unsafe { transfer(done, || write(descriptor(fd)?, RawList::new(iov, iovcnt)?)) }
}

/// Runs a read into a list of C, as [`transfer`].
///
/// # Safety
///
/// The promises of [`transfer`] and [`RawListMut::new`].
#[inline(always)]
pub(crate) unsafe fn read(
    done: *mut size_t,
    fd: c_int,
    iov: *const iovec,
    iovcnt: size_t,
    read: impl FnOnce(BorrowedFd<'_>, &mut RawListMut<'_>) -> Result<u64, Failure>,
) -> ssize_t {
    // SAFETY: the caller's promises.
    unsafe {
        transfer(done, || {
            read(descriptor(fd)?, &mut RawListMut::new(iov, iovcnt)?)
        })
    }
}
