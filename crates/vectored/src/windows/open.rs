//! Opens files for lists of pages.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::BorrowedHandle;
use std::path::Path;

use windows_sys::Win32::Storage::FileSystem::{FILE_FLAG_NO_BUFFERING, FILE_FLAG_OVERLAPPED};

use super::page_rules::PageRules;
use super::sys::pages::page_bytes;
use crate::sys::files;

/// Opens a file with `options`, past the cache and for overlapped calls, as `WriteFileGather` demands.
///
/// It sets the [custom flags](OpenOptionsExt::custom_flags) of `options` to `FILE_FLAG_OVERLAPPED |
/// FILE_FLAG_NO_BUFFERING`; `options` keeps them. `Read` and `Write` of such a `File` fail, since it has no position. The
/// functions at an offset work, for [aligned](crate::files::DirectAlignment) lists.
///
/// # Errors
///
/// The errors of [`OpenOptions::open`].
pub fn open_unbuffered(path: impl AsRef<Path>, options: &mut OpenOptions) -> io::Result<File> {
    options
        .custom_flags(FILE_FLAG_OVERLAPPED | FILE_FLAG_NO_BUFFERING)
        .open(path)
}

/// The conditions of a file on its lists.
pub(super) fn rules_of(file: BorrowedHandle<'_>) -> io::Result<PageRules> {
    let mode = files::mode(file)?;
    let missing = match (mode.is_overlapped, mode.is_unbuffered) {
        (true, true) => {
            return Ok(PageRules {
                page_bytes: page_bytes(),
                sector_bytes: files::sector_bytes(file)? as usize,
            });
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
