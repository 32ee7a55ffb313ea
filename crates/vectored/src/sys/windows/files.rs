//! The kind and the properties of a descriptor.
#![allow(unsafe_code)]

use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle};
use std::ptr;

use windows_sys::Wdk::Storage::FileSystem::{
    FILE_MODE_INFORMATION, FILE_NO_INTERMEDIATE_BUFFERING, FILE_SYNCHRONOUS_IO_ALERT,
    FILE_SYNCHRONOUS_IO_NONALERT, FileFsSizeInformation, FileModeInformation,
    NtQueryInformationFile, NtQueryVolumeInformationFile,
};
use windows_sys::Wdk::System::SystemServices::FILE_FS_SIZE_INFORMATION;
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_TYPE_CHAR, FILE_TYPE_DISK, FILE_TYPE_PIPE,
    GetFileInformationByHandle, GetFileType,
};
use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;

use super::{native, sockets};
use crate::descriptor::borrowed::BorrowedDescriptor;
use crate::sys::limits::MAX_CALL_BYTES;
use crate::sys::open_file::{CopyEnd, FileKind, OpenFile};

/// Windows documents no number of bytes that a pipe keeps together, so no record is refused because of its length.
pub(crate) const PIPE_BUF: usize = MAX_CALL_BYTES;

impl OpenFile {
    pub(crate) fn describe(descriptor: BorrowedDescriptor<'_>) -> Option<OpenFile> {
        Some(match descriptor {
            BorrowedDescriptor::Handle(handle) => OpenFile {
                kind: kind(handle),
                is_direct: mode(handle).is_ok_and(|mode| mode.is_unbuffered),
            },
            BorrowedDescriptor::Socket(_) => OpenFile {
                kind: FileKind::Socket,
                is_direct: false,
            },
        })
    }
}

impl CopyEnd {
    pub(crate) fn describe(descriptor: BorrowedDescriptor<'_>) -> io::Result<CopyEnd> {
        let (kind, file) = match descriptor {
            BorrowedDescriptor::Socket(_) => (FileKind::Socket, None),
            BorrowedDescriptor::Handle(handle) => match kind(handle) {
                FileKind::Regular => (FileKind::Regular, volume_and_index(handle)),
                other => (other, None),
            },
        };
        Ok(CopyEnd {
            kind,
            file,
            bytes: 0,
            is_null: false,
        })
    }
}

/// Returns `None`: other calls of Windows report the sizes of the two directions of a pipe.
pub(crate) fn pipe_bytes(_descriptor: BorrowedDescriptor<'_>) -> Option<usize> {
    None
}

/// Returns true: on Windows, this crate makes no call that lets the file system copy.
pub(crate) fn is_without_copies(_descriptor: BorrowedDescriptor<'_>) -> bool {
    true
}

/// Returns whether a copy of a file to itself would read its own output. The result is always true, because the
/// positions are not compared.
pub(crate) fn is_written_ahead(
    _from: BorrowedDescriptor<'_>,
    _to: BorrowedDescriptor<'_>,
    _bytes: u64,
) -> io::Result<bool> {
    Ok(true)
}

fn kind(handle: BorrowedHandle<'_>) -> FileKind {
    // SAFETY: the call takes an open handle and returns a number.
    match unsafe { GetFileType(handle.as_raw_handle()) } {
        FILE_TYPE_DISK => FileKind::Regular,
        FILE_TYPE_CHAR => FileKind::Character,
        FILE_TYPE_PIPE => FileKind::Fifo,
        _ => FileKind::Other,
    }
}

fn volume_and_index(handle: BorrowedHandle<'_>) -> Option<(u64, u64)> {
    let mut answer = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the call writes only to `answer`.
    let is_known = unsafe { GetFileInformationByHandle(handle.as_raw_handle(), &mut answer) } != 0;
    let index = (u64::from(answer.nFileIndexHigh) << 32) | u64::from(answer.nFileIndexLow);
    is_known.then_some((answer.dwVolumeSerialNumber.into(), index))
}

/// Returns whether a call on the handle may have an offset. Pipes ignore offsets.
pub(super) fn has_offsets(handle: BorrowedHandle<'_>) -> bool {
    kind(handle) != FileKind::Fifo
}

/// Returns whether the descriptor is a pipe. The caller asks only about records above `PIPE_BUF`, which do not occur on
/// Windows.
pub(crate) fn is_fifo(descriptor: BorrowedDescriptor<'_>) -> io::Result<bool> {
    Ok(match descriptor {
        BorrowedDescriptor::Handle(handle) => kind(handle) == FileKind::Fifo,
        BorrowedDescriptor::Socket(_) => false,
    })
}

/// Returns the type of a socket that keeps messages apart. Returns `None` for stream sockets and handles.
pub(crate) fn message_socket(descriptor: BorrowedDescriptor<'_>) -> Option<&'static str> {
    match descriptor {
        BorrowedDescriptor::Handle(_) => None,
        BorrowedDescriptor::Socket(socket) => sockets::message_type(socket),
    }
}

/// Returns the alignments of memory and offsets for `FILE_FLAG_NO_BUFFERING`. Both alignments are the sector size of
/// the volume. Returns `None` if the descriptor is not a file.
pub(crate) fn direct_alignment(
    descriptor: BorrowedDescriptor<'_>,
) -> io::Result<Option<(u32, u32)>> {
    match descriptor {
        BorrowedDescriptor::Handle(handle) if kind(handle) == FileKind::Regular => {
            let sector = sector_bytes(handle)?;
            Ok(Some((sector, sector)))
        }
        _ => Ok(None),
    }
}

pub(crate) fn sector_bytes(handle: BorrowedHandle<'_>) -> io::Result<u32> {
    let mut answer = FILE_FS_SIZE_INFORMATION::default();
    let mut result = IO_STATUS_BLOCK::default();
    // SAFETY: the call writes to `result`, and writes at most the size of `answer` to `answer`. Queries of a volume are
    // synchronous, so the query has ended when the call returns.
    let status = unsafe {
        NtQueryVolumeInformationFile(
            handle.as_raw_handle(),
            &mut result,
            ptr::from_mut(&mut answer).cast(),
            size_of_val(&answer) as u32,
            FileFsSizeInformation,
        )
    };
    match status {
        0.. => Ok(answer.BytesPerSector),
        failed => Err(native::error(failed)),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HandleMode {
    /// `FILE_FLAG_OVERLAPPED`.
    pub(crate) is_overlapped: bool,
    /// `FILE_FLAG_NO_BUFFERING`.
    pub(crate) is_unbuffered: bool,
}

pub(crate) fn mode(handle: BorrowedHandle<'_>) -> io::Result<HandleMode> {
    let mut answer = FILE_MODE_INFORMATION::default();
    let mut result = IO_STATUS_BLOCK::default();
    // SAFETY: the call writes to `result`, and writes at most the size of `answer` to `answer`. The result is in the
    // file object, so the query has ended when the call returns.
    let status = unsafe {
        NtQueryInformationFile(
            handle.as_raw_handle(),
            &mut result,
            ptr::from_mut(&mut answer).cast(),
            size_of_val(&answer) as u32,
            FileModeInformation,
        )
    };
    match status {
        0.. => Ok(HandleMode {
            is_overlapped: answer.Mode & (FILE_SYNCHRONOUS_IO_ALERT | FILE_SYNCHRONOUS_IO_NONALERT)
                == 0,
            is_unbuffered: answer.Mode & FILE_NO_INTERMEDIATE_BUFFERING != 0,
        }),
        failed => Err(native::error(failed)),
    }
}
