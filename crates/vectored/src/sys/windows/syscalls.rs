//! The system calls with the interface of `unix/syscalls.rs`. Each function makes one call, without a retry.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;

use super::{codes, files, handles, sockets};
use crate::descriptor::borrowed::BorrowedDescriptor;

/// Writes a list. `WSASend` takes the list for a socket. For a handle, short segments are copied together for one call.
///
/// `slices` must be within [`Limits`](crate::limits::Limits).
pub(crate) fn write_slices(
    descriptor: BorrowedDescriptor<'_>,
    slices: &[IoSlice<'_>],
) -> io::Result<usize> {
    match descriptor {
        BorrowedDescriptor::Handle(handle) => handles::write_list(handle, slices, None),
        BorrowedDescriptor::Socket(socket) => sockets::send(socket, slices, true),
    }
}

/// Like [`write_slices`], for a list without adjacent segments.
pub(crate) fn write_entries(
    descriptor: BorrowedDescriptor<'_>,
    slices: &[IoSlice<'_>],
) -> io::Result<usize> {
    send_slices(descriptor, slices, false)
}

/// Like [`write_slices`]: Windows has no `SIGPIPE`.
pub(crate) fn send_slices(
    descriptor: BorrowedDescriptor<'_>,
    slices: &[IoSlice<'_>],
    may_adjoin: bool,
) -> io::Result<usize> {
    match descriptor {
        BorrowedDescriptor::Handle(handle) => handles::write_list(handle, slices, None),
        BorrowedDescriptor::Socket(socket) => sockets::send(socket, slices, may_adjoin),
    }
}

/// Writes all of `slices` in one call. For a handle, the slices are copied into one buffer.
pub(crate) fn write_record(
    descriptor: BorrowedDescriptor<'_>,
    slices: &[IoSlice<'_>],
) -> io::Result<usize> {
    match descriptor {
        BorrowedDescriptor::Handle(handle) => handles::write_record(handle, slices),
        BorrowedDescriptor::Socket(socket) => sockets::send(socket, slices, false),
    }
}

/// Writes a list at an offset, as [`write_slices`] does for a handle.
pub(crate) fn pwrite_slices(
    descriptor: BorrowedDescriptor<'_>,
    slices: &[IoSlice<'_>],
    offset: u64,
) -> io::Result<usize> {
    match descriptor {
        BorrowedDescriptor::Handle(handle) if files::has_offsets(handle) => {
            handles::write_list(handle, slices, Some(offset))
        }
        _ => Err(io::Error::from_raw_os_error(codes::ESPIPE)),
    }
}

/// Reads into a list, as the counterpart of [`write_slices`]. 0 is the end of the file.
pub(crate) fn read_slices(
    descriptor: BorrowedDescriptor<'_>,
    slices: &mut [IoSliceMut<'_>],
) -> io::Result<usize> {
    match descriptor {
        BorrowedDescriptor::Handle(handle) => handles::read_list(handle, slices, None),
        BorrowedDescriptor::Socket(socket) => sockets::receive(socket, slices),
    }
}

pub(crate) fn read_slices_at(
    descriptor: BorrowedDescriptor<'_>,
    slices: &mut [IoSliceMut<'_>],
    offset: u64,
) -> io::Result<usize> {
    match descriptor {
        BorrowedDescriptor::Handle(handle) if files::has_offsets(handle) => {
            handles::read_list(handle, slices, Some(offset))
        }
        _ => Err(io::Error::from_raw_os_error(codes::ESPIPE)),
    }
}

/// Reads into memory that may be uninitialized. Returns the filled part at the start of `free`.
pub(crate) fn read_uninit<'b>(
    descriptor: BorrowedDescriptor<'_>,
    free: &'b mut [MaybeUninit<u8>],
) -> io::Result<&'b mut [u8]> {
    match descriptor {
        BorrowedDescriptor::Handle(handle) => handles::read_uninit(handle, free),
        BorrowedDescriptor::Socket(socket) => sockets::receive_uninit(socket, free),
    }
}
