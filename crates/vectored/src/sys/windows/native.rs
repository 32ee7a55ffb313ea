//! One read or write of one buffer, by the calls of NT.
//!
//! `NtWriteFile` and `NtReadFile` are what `WriteFile` and `ReadFile` call. This module calls them directly, since some
//! handles are open for overlapped I/O, such as the pipes of `std::process`: on these, `WriteFile` and `ReadFile` return
//! before the kernel is done with the memory. The standard library calls NT for the same reason.
//!
//! # Safety
//!
//! `unsafe` for the two calls. The kernel uses the memory of a call until the call ends, and these functions return later.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle};
use std::ptr;

use windows_sys::Wdk::Storage::FileSystem::{NtReadFile, NtWriteFile};
use windows_sys::Win32::Foundation::{
    NTSTATUS, RtlNtStatusToDosError, STATUS_BUFFER_OVERFLOW, STATUS_END_OF_FILE, STATUS_PENDING,
    STATUS_PIPE_BROKEN,
};
use windows_sys::Win32::System::IO::{IO_STATUS_BLOCK, IO_STATUS_BLOCK_0};

use super::event::Event;

/// Writes up to `len` bytes at `offset`, or at the file's position.
///
/// # Safety
///
/// `len` bytes can be read at `from` until the function returns.
pub(crate) unsafe fn write(
    handle: BorrowedHandle<'_>,
    from: *const u8,
    len: usize,
    offset: Option<u64>,
) -> io::Result<usize> {
    let call = Call::new(offset)?;
    // SAFETY: `call` and the memory of the caller outlive the call: `end` waits for it. The event is set by no other call.
    let status = unsafe {
        NtWriteFile(
            handle.as_raw_handle(),
            call.event.raw(),
            None,
            ptr::null(),
            call.result.get(),
            from.cast(),
            call_bytes(len),
            call.offset(),
            ptr::null(),
        )
    };
    let (status, bytes) = call.end(status);
    match status {
        0.. => Ok(bytes),
        failed => Err(error(failed)),
    }
}

/// Reads up to `len` bytes at `offset`, or at the file's position. 0 is the end of the file. The returned number of bytes
/// at `to` is initialised then.
///
/// # Safety
///
/// `len` bytes can be written at `to` until the function returns.
pub(crate) unsafe fn read(
    handle: BorrowedHandle<'_>,
    to: *mut u8,
    len: usize,
    offset: Option<u64>,
) -> io::Result<usize> {
    let call = Call::new(offset)?;
    // SAFETY: as in `write`.
    let status = unsafe {
        NtReadFile(
            handle.as_raw_handle(),
            call.event.raw(),
            None,
            ptr::null(),
            call.result.get(),
            to.cast(),
            call_bytes(len),
            call.offset(),
            ptr::null(),
        )
    };
    let (status, bytes) = call.end(status);
    match status {
        // The rest of a longer message stays in the pipe.
        0.. | STATUS_BUFFER_OVERFLOW => Ok(bytes),
        // The other end of a pipe is closed. The standard library also calls that the end of the file.
        STATUS_END_OF_FILE | STATUS_PIPE_BROKEN => Ok(0),
        failed => Err(error(failed)),
    }
}

/// The memory that the kernel uses until a call ends.
struct Call {
    event: Event,
    /// Written by the kernel.
    result: UnsafeCell<IO_STATUS_BLOCK>,
    offset: Option<i64>,
}

impl Call {
    /// An offset past `i64::MAX` is an error.
    fn new(offset: Option<u64>) -> io::Result<Call> {
        let offset = offset.map(i64::try_from).transpose();
        Ok(Call {
            event: Event::take()?,
            result: UnsafeCell::new(IO_STATUS_BLOCK {
                Anonymous: IO_STATUS_BLOCK_0 {
                    Status: STATUS_PENDING,
                },
                Information: 0,
            }),
            offset: offset.map_err(|_| io::Error::from_raw_os_error(super::codes::EINVAL))?,
        })
    }

    fn offset(&self) -> *const i64 {
        self.offset.as_ref().map_or(ptr::null(), ptr::from_ref)
    }

    /// Waits until the kernel is done, and returns the status and the number of bytes.
    ///
    /// The block is taken by reference: the kernel has the address of `result`, so a call must not move before it has ended.
    fn end(&self, status: NTSTATUS) -> (NTSTATUS, usize) {
        // SAFETY: the block is initialised, and the kernel writes a status and a number to it. The block is read volatile,
        // since the compiler does not know of the kernel's write.
        let read = || unsafe { self.result.get().read_volatile() };
        if status != STATUS_PENDING {
            // An error that is known at once leaves the block as it was: no bytes.
            return (status, read().Information);
        }
        // SAFETY: the kernel has set the status, and no pointer.
        let status = || unsafe { read().Anonymous.Status };
        self.event.wait(|| status() != STATUS_PENDING);
        (status(), read().Information)
    }
}

/// The length of one call, which is short if a buffer has more than 4 GiB. (No transfer gives more than
/// [`MAX_CALL_BYTES`](crate::limits::MAX_CALL_BYTES).)
fn call_bytes(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

pub(crate) fn error(status: NTSTATUS) -> io::Error {
    // SAFETY: the function takes and returns a number.
    let code = unsafe { RtlNtStatusToDosError(status) };
    io::Error::from_raw_os_error(code as i32)
}
