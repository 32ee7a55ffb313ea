//! Writes a whole list at an offset in a file, without the file's position.

use std::io::{self, IoSlice};

use crate::cursor::SegmentCursor;
use crate::descriptor::{AsDescriptor, BorrowedDescriptor};
use crate::error::TransferError;
use crate::sys;
use crate::sys::limits::{Limits, end_within_files};
use crate::transfer::unvectored::ListCalls;
use crate::write::all::send_all_referenced;

/// Writes all of `segments` in order into a file at `offset`, and returns the number of bytes.
///
/// The function writes like [`write_all`](crate::write_all), but by `pwritev(2)`, or by `pwrite(2)` if one segment is
/// left. The file's position is neither used nor moved, so threads may share the descriptor. If several calls are
/// needed, each call begins where the last call ended. A gap after the end of the file reads as zeros.
///
/// If the descriptor was opened with `O_APPEND`, Linux appends the data *whatever the offset is* ("BUGS" of pwrite(2)).
/// On Windows, a call at an offset moves the position.
///
/// # Errors
///
/// The errors of [`write_all`](crate::write_all), and:
///
/// - [`InvalidInput`](io::ErrorKind::InvalidInput), before any byte, if the offset of the last byte would be 2⁶³ − 1 or
///   more, which is too large for a file;
/// - `ESPIPE` ([`NotSeekable`](io::ErrorKind::NotSeekable)) on a pipe or socket, before any byte.
///
/// After an error, the rest of the list belongs at `offset` + [`transferred`](crate::TransferError::transferred).
///
/// # Examples
///
/// ```
/// use std::io::{IoSlice, Seek};
/// use vectored::files::write_all_at;
///
/// # fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("vectored-doc-at-{}", std::process::id()));
/// std::fs::write(&path, b"0123456789")?;
/// let mut file = std::fs::File::options().write(true).open(&path)?;
/// write_all_at(&file, &[IoSlice::new(b"ab"), IoSlice::new(b"cd")], 3)?;
/// assert_eq!(std::fs::read(&path)?, b"012abcd789");
/// assert_eq!(file.stream_position()?, 0);
/// # std::fs::remove_file(&path)
/// # }
/// ```
pub fn write_all_at(
    fd: impl AsDescriptor,
    segments: &[IoSlice<'_>],
    offset: u64,
) -> Result<u64, TransferError> {
    let fd = fd.as_descriptor();
    check_end(segments, offset)?;
    send_all_referenced(
        segments,
        &mut SegmentCursor::new(),
        Limits::default(),
        || Ok(()),
        into_file(fd, offset),
    )
}

pub(crate) fn into_file(
    fd: BorrowedDescriptor<'_>,
    offset: u64,
) -> impl FnMut(&[IoSlice<'_>]) -> io::Result<usize> {
    let (mut calls, mut next) = (ListCalls::default(), offset);
    move |slices| {
        let written = calls.write(slices, fd, |slices| {
            sys::syscalls::pwrite_slices(fd, slices, next)
        })?;
        next += written as u64;
        Ok(written)
    }
}

pub(crate) fn check_end(segments: &[IoSlice<'_>], offset: u64) -> Result<(), TransferError> {
    end_within_files(SegmentCursor::new().bytes_left_in(segments), offset)
        .map_err(|error| TransferError::new(0, error))
}
