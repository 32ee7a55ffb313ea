//! Functions that read into all segments of a list without copying.

use std::io::{self, IoSliceMut};

use crate::cursor::SegmentCursor;
use crate::descriptor::{AsDescriptor, BorrowedDescriptor};
use crate::error::TransferError;
use crate::runs::RunPolicy;
use crate::sys;
use crate::sys::limits::{Limits, end_within_files};
use crate::transfer::message_sockets::refuse_reading_messages;
use crate::transfer::read_loop::{AtEof, Receiver};
use crate::transfer::unvectored::ListCalls;

/// Reads into all of `segments` in order until they are full, and returns the number of bytes.
///
/// A system call is `readv(2)`, or `read(2)` if one segment is left. A call asks for at most
/// [`iov_max`](crate::limits::iov_max) segments and [`MAX_CALL_BYTES`](crate::limits::MAX_CALL_BYTES). A longer list
/// takes several calls. A list also takes several calls if a call fills only a part of the list. If all segments are
/// empty, no system call is made.
///
/// No call asks for more bytes than the list holds, so further bytes stay in the stream. The array of slices is neither
/// reordered nor shortened.
///
/// Each list costs a getsockopt(2) ([why](crate::write_once#messages)). For many short records of one stream, a
/// [`ScatterReader`](crate::ScatterReader) is faster.
///
/// # Errors
///
/// The first error other than `EINTR`, which is retried. The error has the number of bytes that were read before. These
/// bytes are in the first segments. The contents of the remaining segments are unspecified.
///
/// - [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the file or stream ends before the list is full;
///   [`read_up_to_eof`] succeeds in this case;
/// - [`WouldBlock`](io::ErrorKind::WouldBlock) if the descriptor is non-blocking and empty, or if the timeout
///   `SO_RCVTIMEO` of a socket has passed; [`resume_read`] can resume the transfer;
/// - [`InvalidInput`](io::ErrorKind::InvalidInput), before any byte, if the descriptor is a socket
///   that keeps messages apart ([details](crate::write_once#messages));
/// - the errors that read(2) lists.
///
/// # Examples
///
/// ```
/// use std::io::{IoSliceMut, Write};
/// use vectored::read_exact;
///
/// # fn main() -> std::io::Result<()> {
/// let (reader, mut writer) = std::io::pipe()?;
/// writer.write_all(b"\x05\x00hello and more")?;
///
/// let (mut header, mut payload) = ([0; 2], [0; 5]);
/// let mut segments = [IoSliceMut::new(&mut header), IoSliceMut::new(&mut payload)];
/// assert_eq!(read_exact(&reader, &mut segments)?, 7);
/// assert_eq!((header, &payload), ([5, 0], b"hello"));
/// # Ok(())
/// # }
/// ```
pub fn read_exact(
    fd: impl AsDescriptor,
    segments: &mut [IoSliceMut<'_>],
) -> Result<u64, TransferError> {
    resume_read(fd, segments, &mut SegmentCursor::new())
}

/// Reads into `segments` from `cursor` on until they are full, and advances the cursor.
///
/// Use this function to resume a [`read_exact`] after an error, usually [`WouldBlock`](io::ErrorKind::WouldBlock). Wait
/// until the descriptor is ready, then call `resume_read` again with the same list and cursor. The result and the
/// errors count only the bytes of one call of `resume_read`. If the cursor is at the end of the list, the function
/// returns `Ok(0)` without a system call.
pub fn resume_read(
    fd: impl AsDescriptor,
    segments: &mut [IoSliceMut<'_>],
    cursor: &mut SegmentCursor,
) -> Result<u64, TransferError> {
    read(fd, segments, cursor, None, AtEof::Fail)
}

/// Reads into `segments` in order until they are full or the file ends, and returns the number of bytes read.
///
/// The function is [`read_exact`], except that the end of the file is no error. A result below the length of the list
/// means that the file ended. (A single `readv(2)` may return fewer bytes even before the end of the file.)
pub fn read_up_to_eof(
    fd: impl AsDescriptor,
    segments: &mut [IoSliceMut<'_>],
) -> Result<u64, TransferError> {
    read(fd, segments, &mut SegmentCursor::new(), None, AtEof::Stop)
}

/// Reads into all of `segments` from byte `offset` of a file on until they are full, and returns the number of bytes.
///
/// The function reads like [`read_exact`], but by `preadv(2)` or `pread(2)`. The position of the descriptor is neither
/// used nor changed, so several threads can read one file.
///
/// # Errors
///
/// The errors of [`read_exact`], and:
///
/// - [`InvalidInput`](io::ErrorKind::InvalidInput), before any byte, if the list would end after the
///   largest file offset, `i64::MAX`, even if the file is shorter;
/// - `ESPIPE` if the descriptor cannot seek (a pipe, a socket).
pub fn read_exact_at(
    fd: impl AsDescriptor,
    segments: &mut [IoSliceMut<'_>],
    offset: u64,
) -> Result<u64, TransferError> {
    let cursor = &mut SegmentCursor::new();
    read(fd, segments, cursor, Some(offset), AtEof::Fail)
}

/// Reads into `segments` from byte `offset` of a file on until they are full or the file ends.
///
/// The function is [`read_exact_at`], except that the end of the file is no error. Returns the number of bytes read,
/// which is 0 if the file ends at or before `offset`.
pub fn read_up_to_eof_at(
    fd: impl AsDescriptor,
    segments: &mut [IoSliceMut<'_>],
    offset: u64,
) -> Result<u64, TransferError> {
    let cursor = &mut SegmentCursor::new();
    read(fd, segments, cursor, Some(offset), AtEof::Stop)
}

fn read(
    fd: impl AsDescriptor,
    segments: &mut [IoSliceMut<'_>],
    cursor: &mut SegmentCursor,
    offset: Option<u64>,
    at_eof: AtEof,
) -> Result<u64, TransferError> {
    let source = source(fd.as_descriptor(), segments, offset)?;
    receive_directly(segments, cursor, Limits::default(), at_eof, source)
}

/// Returns the system calls that read from `offset` of a file, or from a stream.
///
/// Before the first call, getsockopt(2) tells whether the descriptor is a socket that keeps messages apart. The check
/// of writes waits for a short call. A read cannot wait: a call that cuts a message loses the rest, and neither read(2)
/// nor readv(2) reports the loss.
///
/// getsockopt(2) is the cheapest check: fstat(2) takes longer, and recvmsg(2) reports the cut too late. The answer is
/// not cached, because a descriptor number may be reused.
pub(crate) fn source<'fd>(
    fd: BorrowedDescriptor<'fd>,
    segments: &[IoSliceMut<'_>],
    offset: Option<u64>,
) -> Result<impl FnMut(&mut [IoSliceMut<'_>]) -> io::Result<usize> + use<'fd>, TransferError> {
    if let Some(offset) = offset {
        end_within_files(SegmentCursor::new().bytes_left_in(segments), offset)
            .map_err(|error| TransferError::reading(0, error))?;
    }
    let (mut at, mut may_keep_messages) = (offset, offset.is_none());
    let mut calls = ListCalls::default();
    Ok(move |slices: &mut [IoSliceMut<'_>]| {
        if may_keep_messages {
            refuse_reading_messages(fd)?;
            may_keep_messages = false;
        }
        let read = calls.read(slices, fd, |slices| match at {
            None => sys::syscalls::read_slices(fd, slices),
            Some(at) => sys::syscalls::read_slices_at(fd, slices, at),
        })?;
        at = at.map(|at| at + read as u64);
        Ok(read)
    })
}

pub(crate) fn receive_directly(
    segments: &mut [IoSliceMut<'_>],
    cursor: &mut SegmentCursor,
    limits: Limits,
    at_eof: AtEof,
    source: impl FnMut(&mut [IoSliceMut<'_>]) -> io::Result<usize>,
) -> Result<u64, TransferError> {
    let rules = RunPolicy::new(0, limits);
    Receiver::new().receive_all(segments, cursor, rules, at_eof, source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::reads::check_read_against_model;
    use crate::testing::{Answer, any_limits, any_script, any_sizes};
    use proptest::prelude::*;

    fn check(sizes: &[usize], script: &[Answer], limits: Limits) {
        for (is_exact, at_eof) in [(true, AtEof::Fail), (false, AtEof::Stop)] {
            check_read_against_model(
                sizes,
                script,
                limits,
                is_exact,
                |segments, cursor, source| {
                    receive_directly(segments, cursor, limits, at_eof, |slices| {
                        source.call(slices)
                    })
                },
            );
        }
    }

    proptest! {
        #[test]
        fn any_list_is_filled_from_any_source_in_order_and_counted(
            sizes in any_sizes(), script in any_script(), limits in any_limits()
        ) {
            check(&sizes, &script, limits);
        }
    }

    #[test]
    #[should_panic(expected = "reported 6 bytes of 5")]
    fn a_read_that_reports_more_than_it_was_asked_for_is_not_believed() {
        let mut bytes = [0; 5];
        let mut segments = [IoSliceMut::new(&mut bytes)];
        let cursor = &mut SegmentCursor::new();
        let limits = Limits::default();
        let _ = receive_directly(&mut segments, cursor, limits, AtEof::Fail, |_| Ok(6));
    }
}
