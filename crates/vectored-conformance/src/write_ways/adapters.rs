//! Makes a [`WriteFn`] of functions of other forms.

use std::io::{self, IoSlice};
use std::mem;

#[cfg(unix)]
use rustix::fs::FileType;
use vectored::bindings::BorrowedDescriptor;
use vectored::limits::{Limits, iov_max};
use vectored::{SegmentCursor, write_once};

use crate::outcome::Outcome;
use crate::way::WriteFn;

/// Adapts a function that writes whole lists. The function gets the rest of a list as another list.
pub fn whole_list(
    mut write_all: impl FnMut(BorrowedDescriptor<'_>, &[IoSlice<'_>]) -> Outcome + 'static,
) -> WriteFn {
    positional(move |fd, segments, _| write_all(fd, segments))
}

/// Adapts a function that writes whole lists at an offset. The list begins at offset 0 of the file.
pub fn positional(
    mut write_all_at: impl FnMut(BorrowedDescriptor<'_>, &[IoSlice<'_>], u64) -> Outcome + 'static,
) -> WriteFn {
    Box::new(move |fd, segments, cursor| {
        let all = SegmentCursor::new().remaining_bytes(segments);
        let offset = all - cursor.remaining_bytes(segments);
        let outcome = write_all_at(fd, &rest(segments, *cursor), offset);
        cursor.advance(segments, outcome.transferred as usize);
        outcome
    })
}

/// Writes a list record by record by `write_once`. Each record is as long as `write_once` takes here. If only a part
/// of a record was written, continues after this part.
pub(super) fn record_by_record(
    fd: BorrowedDescriptor<'_>,
    segments: &[IoSlice<'_>],
    cursor: &mut SegmentCursor,
) -> Outcome {
    drive_within(limits_of_a_record(fd), segments, cursor, |batch, _| {
        let outcome = Outcome::from(write_once(fd, batch));
        match (outcome.transferred, outcome.error) {
            (0, Some(error)) => Err(error),
            (bytes, _) => Ok(bytes as usize),
        }
    })
}

#[cfg(unix)]
pub(super) fn is_a(kind: FileType, fd: BorrowedDescriptor<'_>) -> bool {
    let stat = rustix::fs::fstat(fd);
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == kind)
}

#[cfg(unix)]
fn limits_of_a_record(fd: BorrowedDescriptor<'_>) -> Limits {
    let mut limits = Limits::default();
    if is_a(FileType::Fifo, fd) {
        limits.bytes = libc::PIPE_BUF;
    }
    limits
}

/// The record has at most 1 MiB: for a handle, records are copied.
#[cfg(windows)]
fn limits_of_a_record(_: BorrowedDescriptor<'_>) -> Limits {
    Limits {
        bytes: 1 << 20,
        ..Limits::default()
    }
}

/// Writes a list like a program that makes the system calls itself.
#[cfg(unix)]
pub(super) fn by_hand(
    fd: BorrowedDescriptor<'_>,
    segments: &[IoSlice<'_>],
    cursor: &mut SegmentCursor,
) -> Outcome {
    drive(segments, cursor, |batch, _| {
        Ok(rustix::io::writev(fd, batch)?)
    })
}

/// Passes batch after batch to `call`, with the number of bytes left in the list.
pub fn drive(
    segments: &[IoSlice<'_>],
    cursor: &mut SegmentCursor,
    call: impl FnMut(&[IoSlice<'_>], u64) -> io::Result<usize>,
) -> Outcome {
    drive_within(Limits::default(), segments, cursor, call)
}

fn drive_within(
    limits: Limits,
    segments: &[IoSlice<'_>],
    cursor: &mut SegmentCursor,
    mut call: impl FnMut(&[IoSlice<'_>], u64) -> io::Result<usize>,
) -> Outcome {
    let mut scratch = Vec::new();
    let at_first = cursor.remaining_bytes(segments);
    let error = loop {
        let batch = cursor.batch(segments, limits, &mut scratch);
        if batch.is_empty() {
            break None;
        }
        // A longer batch would be shortened by rustix, and refused by the kernel.
        assert!(batch.len() <= iov_max(), "{} slices", batch.len());
        assert!(
            batch.iter().all(|slice| !slice.is_empty()),
            "an empty slice"
        );
        match call(batch, cursor.remaining_bytes(segments)) {
            Ok(0) => break Some(io::ErrorKind::WriteZero.into()),
            Ok(bytes) => cursor.advance(segments, bytes),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break Some(error),
        }
    };
    Outcome {
        transferred: at_first - cursor.remaining_bytes(segments),
        error,
    }
}

/// The segments from the cursor on; the first segment is cut.
pub(super) fn rest<'a>(segments: &'a [IoSlice<'_>], from: SegmentCursor) -> Vec<IoSlice<'a>> {
    let mut offset = from.offset();
    let after = segments[from.segment()..].iter();
    after
        .map(|segment| IoSlice::new(&segment[mem::take(&mut offset)..]))
        .collect()
}
