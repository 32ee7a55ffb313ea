//! Files that the system removes when they are closed, files that bypass the cache, and the eviction of files from the
//! cache.

use std::fs::File;
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;

use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_DELETE_ON_CLOSE, FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE,
};

use super::fd::{AsFd, BorrowedFd};
use super::plain_calls::OFlags;
use crate::model::DirectoryInfo;
use crate::platform::lacks;
use crate::sys::windows;

/// Creates a file under a random name in `directory`. The system removes the file when its last handle is closed, however the
/// process ends.
pub fn unnamed_file(directory: &Path, flags: OFlags) -> io::Result<File> {
    loop {
        let name = directory.join(format!(".vectored-{:016x}", fastrand::u64(..)));
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)
            .custom_flags(FILE_FLAG_DELETE_ON_CLOSE | flags.bits())
            .open(name);
        match file {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            outcome => return outcome,
        }
    }
}

/// Whether the file system has a limit, and what is known of the directory.
pub(crate) fn describe(directory: &Path) -> io::Result<(bool, DirectoryInfo)> {
    let (total_bytes, free_bytes, file_system) = windows::volume(directory)?;
    let info = DirectoryInfo {
        path: std::path::absolute(directory)?
            .to_string_lossy()
            .into_owned(),
        file_system: file_system.unwrap_or_else(|| "unknown".to_owned()),
        mount_options: None,
        free_bytes,
        // The usual cluster: Windows names no preferred size.
        st_blksize: 4096,
        read_ahead_kb: None,
    };
    Ok((total_bytes > 0, info))
}

/// A handle keeps the flags with which it was opened.
pub fn set_direct(_fd: BorrowedFd<'_>, direct: bool) -> io::Result<()> {
    if direct {
        Err(lacks("way to turn off the cache of an open file"))
    } else {
        Ok(())
    }
}

pub fn evict(_file: &File) -> io::Result<()> {
    Err(lacks("way to evict a file from the page cache"))
}

pub fn resident_bytes(_fd: BorrowedFd<'_>, _bytes: u64) -> io::Result<u64> {
    Err(lacks(
        "count of the bytes of a file that are in the page cache",
    ))
}

pub(crate) fn direct_alignment(_file: impl AsFd) -> Result<(u64, u64), String> {
    Err("this system does not report it".to_owned())
}
