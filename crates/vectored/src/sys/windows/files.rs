//! The kind of a descriptor, and its properties.
//!
//! # Safety
//!
//! `unsafe` for calls that write their answers to local variables.
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

/// Windows documents no number of bytes that a pipe keeps in one piece, so no record is refused for its length.
pub(crate) const PIPE_BUF: usize = MAX_CALL_BYTES;

impl OpenFile {
    /// Always `Some`.
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

/// Always `None`: the sizes of the two directions of a pipe are asked for by other means.
pub(crate) fn pipe_bytes(_descriptor: BorrowedDescriptor<'_>) -> Option<usize> {
    None
}

/// Always true: no call that leaves a copy to the file system is made.
pub(crate) fn is_without_copies(_descriptor: BorrowedDescriptor<'_>) -> bool {
    true
}

/// Whether a copy of a file to itself writes at a place that it reads later. Always true: the places are not compared.
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
    // SAFETY: the call writes to `answer` alone.
    let is_known = unsafe { GetFileInformationByHandle(handle.as_raw_handle(), &mut answer) } != 0;
    let index = (u64::from(answer.nFileIndexHigh) << 32) | u64::from(answer.nFileIndexLow);
    is_known.then_some((answer.dwVolumeSerialNumber.into(), index))
}

/// Whether a call on the handle may have an offset: pipes ignore it.
pub(super) fn has_offsets(handle: BorrowedHandle<'_>) -> bool {
    kind(handle) != FileKind::Fifo
}

/// Whether the descriptor is a pipe. Called for records of more than `PIPE_BUF` bytes: Windows has no such records.
pub(crate) fn is_fifo(descriptor: BorrowedDescriptor<'_>) -> io::Result<bool> {
    Ok(match descriptor {
        BorrowedDescriptor::Handle(handle) => kind(handle) == FileKind::Fifo,
        BorrowedDescriptor::Socket(_) => false,
    })
}

/// The type of a socket that keeps messages apart; `None` for stream sockets and handles.
pub(crate) fn message_socket(descriptor: BorrowedDescriptor<'_>) -> Option<&'static str> {
    match descriptor {
        BorrowedDescriptor::Handle(_) => None,
        BorrowedDescriptor::Socket(socket) => sockets::message_type(socket),
    }
}

/// The alignments of memory and of offsets that `FILE_FLAG_NO_BUFFERING` demands: both are the volume's sector. `None`
/// if the descriptor is not a file.
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
    // SAFETY: the call writes to `result`, and to `answer` at most its size. The query has ended when the call returns:
    // queries of a volume are synchronous.
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
    // SAFETY: the call writes to `result`, and to `answer` at most its size. The query has ended when the call returns: the
    // answer is in the file object, so no driver is asked.
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
