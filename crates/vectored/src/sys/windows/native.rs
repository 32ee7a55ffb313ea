//! One read or write of one buffer, by the NT calls `NtWriteFile` and `NtReadFile`.
//!
//! `WriteFile` and `ReadFile` are not used because some handles are open for overlapped I/O, for example the pipes of
//! `std::process`. On these handles, `WriteFile` and `ReadFile` return while the kernel still uses the memory. The
//! standard library calls NT for the same reason.
//!
//! # Safety
//!
//! The module uses `unsafe` for the NT calls. The kernel uses the memory of a call until the call ends. The functions
//! return after the end of the call.
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
/// `len` bytes at `from` must be readable until the function returns.
pub(crate) unsafe fn write(
    handle: BorrowedHandle<'_>,
    from: *const u8,
    len: usize,
    offset: Option<u64>,
) -> io::Result<usize> {
    let call = Call::new(offset)?;
    // SAFETY: `end` waits for the call, so `call` and the caller's memory outlive the call. No other call sets the
    // event.
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

/// Reads up to `len` bytes at `offset`, or at the file's position. Returns the number of initialized bytes at `to`. 0
/// is the end of the file.
///
/// # Safety
///
/// `len` bytes at `to` must be writable until the function returns.
pub(crate) unsafe fn read(
    handle: BorrowedHandle<'_>,
    to: *mut u8,
    len: usize,
    offset: Option<u64>,
) -> io::Result<usize> {
    let call = Call::new(offset)?;
    // SAFETY: `end` waits for the call, so `call` and the caller's memory outlive the call. No other call sets the
    // event.
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
        // `STATUS_BUFFER_OVERFLOW` means that the message is longer. The rest of the message stays in the pipe.
        0.. | STATUS_BUFFER_OVERFLOW => Ok(bytes),
        // `STATUS_PIPE_BROKEN` means that the other end of a pipe is closed. The standard library also returns the end
        // of the file.
        STATUS_END_OF_FILE | STATUS_PIPE_BROKEN => Ok(0),
        failed => Err(error(failed)),
    }
}

/// The memory that the kernel uses until the call ends.
struct Call {
    event: Event,
    /// The kernel writes this block.
    result: UnsafeCell<IO_STATUS_BLOCK>,
    offset: Option<i64>,
}

impl Call {
    /// Fails for an offset above `i64::MAX`.
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

    /// Waits until the call has ended, and returns the status and the number of bytes.
    ///
    /// `end` takes `self` by reference, because the kernel has the address of `result`. The call must not move before
    /// its end.
    fn end(&self, status: NTSTATUS) -> (NTSTATUS, usize) {
        // SAFETY: the block is initialized. The kernel writes a status and a number to the block. The read is volatile,
        // because the compiler does not know about the write of the kernel.
        let read = || unsafe { self.result.get().read_volatile() };
        if status != STATUS_PENDING {
            // An immediate error does not change the block, so the number of bytes is 0.
            return (status, read().Information);
        }
        // SAFETY: the kernel writes the status to this union, and no pointer.
        let status = || unsafe { read().Anonymous.Status };
        self.event.wait(|| status() != STATUS_PENDING);
        (status(), read().Information)
    }
}

/// Returns the length of one call. A buffer above 4 GiB makes the call short. (No transfer passes more than
/// [`MAX_CALL_BYTES`](crate::limits::MAX_CALL_BYTES).)
fn call_bytes(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

pub(crate) fn error(status: NTSTATUS) -> io::Error {
    // SAFETY: the function takes and returns a number.
    let code = unsafe { RtlNtStatusToDosError(status) };
    io::Error::from_raw_os_error(code as i32)
}
