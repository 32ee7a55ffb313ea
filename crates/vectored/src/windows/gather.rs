//! Moves lists of pages call by call, and waits for each call by an event.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::windows::io::{AsHandle, BorrowedHandle};

use super::open::rules_of;
use super::page_rules::{PageCall, next_call};
use super::sys::calls::{Direction, Elements};
use crate::error::TransferError;

/// Writes all of `segments` in order into a file at `offset` by `WriteFileGather`, past the cache, and returns the
/// number of bytes.
///
/// The segments are pages, the file is open for them, and the offset and the number of bytes are multiples of the sector:
/// the [conditions](crate::windows). One call takes at most 16,384 pages. The file's position is not used. If the list
/// ends behind the end of the file, the file grows.
///
/// Empty segments are left out. If all are empty, no call is made.
///
/// # Errors
///
/// - [`InvalidInput`](io::ErrorKind::InvalidInput) before any byte, with a message that names the condition that is not
///   met;
/// - [`WriteZero`](io::ErrorKind::WriteZero) if a call wrote fewer bytes than it was given, without an error;
/// - the errors of `WriteFileGather`, with the bytes of the calls before.
pub fn write_file_gather(
    file: impl AsHandle,
    segments: &[IoSlice<'_>],
    offset: u64,
) -> Result<u64, TransferError> {
    let error = |transferred, error| TransferError::new(transferred, error);
    let file = file.as_handle();
    let rules = rules_of(file).map_err(|e| error(0, e))?;
    rules.check(segments, offset).map_err(|e| error(0, e))?;
    let elements = Elements::to_write(segments, rules.page_bytes);
    let moved = move_pages(file, Direction::Write, &elements, rules.page_bytes, offset);
    moved
        .result
        .map(|()| moved.bytes)
        .map_err(|e| error(moved.bytes, e))
        .and_then(|bytes| {
            if bytes == elements.bytes() {
                Ok(bytes)
            } else {
                let short = format!(
                    "WriteFileGather wrote {bytes} of {} bytes",
                    elements.bytes()
                );
                Err(error(
                    bytes,
                    io::Error::new(io::ErrorKind::WriteZero, short),
                ))
            }
        })
}

/// Reads a file from byte `offset` into `segments` by `ReadFileScatter`, past the cache, until they are full or the file
/// ends, and returns the number of bytes.
///
/// The conditions are the same as for [`write_file_gather`]. The end of the file is no error.
pub fn read_file_scatter(
    file: impl AsHandle,
    segments: &mut [IoSliceMut<'_>],
    offset: u64,
) -> Result<u64, TransferError> {
    let file = file.as_handle();
    let error = |transferred, error| TransferError::reading(transferred, error);
    let rules = rules_of(file).map_err(|e| error(0, e))?;
    rules.check(segments, offset).map_err(|e| error(0, e))?;
    let elements = Elements::to_read(segments, rules.page_bytes);
    let moved = move_pages(file, Direction::Read, &elements, rules.page_bytes, offset);
    moved
        .result
        .map(|()| moved.bytes)
        .map_err(|e| error(moved.bytes, e))
}

/// The bytes that were moved until the list ended, a call failed, or a call moved less than it was asked to.
struct Moved {
    bytes: u64,
    result: io::Result<()>,
}

fn move_pages(
    file: BorrowedHandle<'_>,
    direction: Direction,
    elements: &Elements<'_>,
    page_bytes: usize,
    offset: u64,
) -> Moved {
    let mut moved = Moved {
        bytes: 0,
        result: Ok(()),
    };
    let mut first = 0;
    while moved.bytes < elements.bytes() {
        let PageCall { pages, bytes } = next_call(elements.bytes() - moved.bytes, page_bytes);
        match elements.call(file, direction, first, bytes, offset + moved.bytes) {
            Ok(now) => {
                moved.bytes += now as u64;
                if now < bytes {
                    break;
                }
            }
            Err(error) => {
                moved.result = Err(error);
                break;
            }
        }
        first += pages;
    }
    moved
}
