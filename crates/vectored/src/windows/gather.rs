//! Opens files for lists of pages, and moves such lists by one call after another.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut};
use std::ops::Deref;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsHandle, BorrowedHandle};
use std::path::Path;

use windows_sys::Win32::Storage::FileSystem::{FILE_FLAG_NO_BUFFERING, FILE_FLAG_OVERLAPPED};

use super::page_rules::{PageRules, next_call_bytes};
use super::sys::{Elements, page_bytes};
use crate::error::TransferError;
use crate::sys::files;

/// Opens a file with `options`, without buffering and for overlapped calls, as `WriteFileGather` requires.
///
/// The function sets the [custom flags](OpenOptionsExt::custom_flags) of `options` to `FILE_FLAG_OVERLAPPED |
/// FILE_FLAG_NO_BUFFERING`. These flags stay set in `options`. `Read` and `Write` of the `File` fail, because the file
/// has no position. The functions at an offset accept [aligned](crate::files::DirectAlignment) lists.
///
/// # Errors
///
/// The errors of [`OpenOptions::open`].
pub fn open_unbuffered(path: impl AsRef<Path>, options: &mut OpenOptions) -> io::Result<File> {
    options
        .custom_flags(FILE_FLAG_OVERLAPPED | FILE_FLAG_NO_BUFFERING)
        .open(path)
}

/// Writes all of `segments` in order into a file at `offset` by `WriteFileGather`, without buffering, and returns the
/// number of bytes.
///
/// The list and the file must meet the [conditions](crate::windows). One call takes at most 16,384 pages. The file's
/// position is not used. If the list ends after the end of the file, the file grows. Empty segments are skipped.
///
/// # Errors
///
/// - [`InvalidInput`](io::ErrorKind::InvalidInput), before any byte, with a message that names the violated condition;
/// - [`WriteZero`](io::ErrorKind::WriteZero) if a call wrote only a part of its bytes and returned no error;
/// - the errors of `WriteFileGather`, with the number of bytes that earlier calls wrote.
pub fn write_file_gather(
    file: impl AsHandle,
    segments: &[IoSlice<'_>],
    offset: u64,
) -> Result<u64, TransferError> {
    let file = file.as_handle();
    let page_bytes = checked(file, segments, offset).map_err(|e| TransferError::new(0, e))?;
    let elements = Elements::to_write(segments, page_bytes);
    let bytes = move_pages(file, &elements, page_bytes, offset)
        .map_err(|(bytes, error)| TransferError::new(bytes, error))?;
    if bytes < elements.bytes() {
        let message = format!(
            "WriteFileGather wrote {bytes} of {} bytes",
            elements.bytes()
        );
        let short = io::Error::new(io::ErrorKind::WriteZero, message);
        return Err(TransferError::new(bytes, short));
    }
    Ok(bytes)
}

/// Reads a file from byte `offset` on into `segments` by `ReadFileScatter`, without buffering, until they are full or
/// the file ends. Returns the number of bytes.
///
/// The conditions are the conditions of [`write_file_gather`]. The end of the file is no error.
pub fn read_file_scatter(
    file: impl AsHandle,
    segments: &mut [IoSliceMut<'_>],
    offset: u64,
) -> Result<u64, TransferError> {
    let file = file.as_handle();
    let page_bytes = checked(file, segments, offset).map_err(|e| TransferError::reading(0, e))?;
    let elements = Elements::to_read(segments, page_bytes);
    move_pages(file, &elements, page_bytes, offset)
        .map_err(|(bytes, error)| TransferError::reading(bytes, error))
}

/// Returns the size of a page if the file and the list meet the conditions.
fn checked<S: Deref<Target = [u8]>>(
    file: BorrowedHandle<'_>,
    segments: &[S],
    offset: u64,
) -> io::Result<usize> {
    let mode = files::mode(file)?;
    let missing = match (mode.is_overlapped, mode.is_unbuffered) {
        (true, true) => {
            let rules = PageRules {
                page_bytes: page_bytes(),
                sector_bytes: files::sector_bytes(file)? as usize,
            };
            return rules.check(segments, offset).map(|()| rules.page_bytes);
        }
        (false, true) => "FILE_FLAG_OVERLAPPED",
        (true, false) => "FILE_FLAG_NO_BUFFERING",
        (false, false) => "FILE_FLAG_OVERLAPPED and FILE_FLAG_NO_BUFFERING",
    };
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!(
            "the file is not open with {missing}: open it by vectored::windows::open_unbuffered"
        ),
    ))
}

/// Moves bytes until the first short call. An error has the number of bytes moved before.
fn move_pages(
    file: BorrowedHandle<'_>,
    elements: &Elements<'_>,
    page_bytes: usize,
    offset: u64,
) -> Result<u64, (u64, io::Error)> {
    let mut moved = 0;
    while moved < elements.bytes() {
        let bytes = next_call_bytes(elements.bytes() - moved, page_bytes);
        // All earlier calls moved whole pages.
        let first = (moved / page_bytes as u64) as usize;
        let now = elements.call(file, first, bytes, offset + moved);
        let now = now.map_err(|error| (moved, error))?;
        moved += now as u64;
        if now < bytes {
            break;
        }
    }
    Ok(moved)
}
