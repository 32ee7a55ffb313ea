//! Programs of C that write a list: `c_callers.c`, built by `cc` when it is needed.
//!
//! # Safety
//!
//! The declarations stand in `c_callers.c`, which is compiled from the text that this file includes.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

use libc::{iovec, size_t, ssize_t};
use vectored_capi::vectored_gather;

use super::compiled;

const SOURCE: &str = include_str!("c_callers.c");

/// The folder of `vectored.h`.
const INCLUDE: &str = concat!(
    "-I",
    env!("CARGO_MANIFEST_DIR"),
    "/../../crates/vectored-capi/include"
);

/// `struct caller`.
#[repr(C)]
struct Opaque {
    _private: [u8; 0],
}

/// `struct library`.
#[repr(C)]
struct Functions {
    gather_new: extern "C" fn() -> *mut vectored_gather,
    gather_free: unsafe extern "C" fn(*mut vectored_gather),
    gather_write: unsafe extern "C" fn(
        *mut vectored_gather,
        c_int,
        *const iovec,
        size_t,
        *mut size_t,
    ) -> ssize_t,
}

const FUNCTIONS: Functions = Functions {
    gather_new: vectored_capi::vectored_gather_new,
    gather_free: vectored_capi::vectored_gather_free,
    gather_write: vectored_capi::vectored_gather_write_all,
};

type Open = unsafe extern "C" fn(c_int, *const Functions, c_int, size_t) -> *mut Opaque;
type Send = unsafe extern "C" fn(*mut Opaque, c_int, *const iovec, size_t) -> c_int;

/// `enum technique`.
#[derive(Clone, Copy, Debug)]
pub enum How {
    /// `vectored_gather_write_all`.
    Gather = 0,
    /// A loop of `writev`.
    Writev = 1,
    /// `fwrite` for each segment, then `fflush`.
    Fwrite = 2,
}

/// The functions of the program.
#[derive(Clone, Copy, Debug)]
pub struct CCallers {
    open: Open,
    send: Send,
    close: unsafe extern "C" fn(*mut Opaque),
}

impl CCallers {
    /// Compiles and loads the program.
    ///
    /// # Errors
    ///
    /// If there is no `cc`; otherwise the errors that `cc` prints.
    pub fn build() -> Result<CCallers, String> {
        let library = compiled::build("c-callers", SOURCE, &[INCLUDE])?;
        // SAFETY: the types equal the definitions in `SOURCE`.
        unsafe {
            Ok(CCallers {
                open: library.function(c"caller_open")?,
                send: library.function(c"caller_send")?,
                close: library.function(c"caller_close")?,
            })
        }
    }

    /// A caller that writes lists of up to `most` segments to a descriptor.
    ///
    /// # Errors
    ///
    /// If there is no memory or no descriptor left.
    pub fn open(&self, how: How, fd: BorrowedFd<'_>, most: usize) -> io::Result<CCaller> {
        // SAFETY: the functions belong to the library, as its header declares them, and are copied.
        let caller = unsafe { (self.open)(how as c_int, &FUNCTIONS, fd.as_raw_fd(), most) };
        match NonNull::new(caller) {
            Some(caller) => Ok(CCaller {
                caller,
                most,
                functions: *self,
            }),
            None => Err(io::Error::last_os_error()),
        }
    }
}

/// A caller for a descriptor.
pub struct CCaller {
    caller: NonNull<Opaque>,
    most: usize,
    functions: CCallers,
}

impl CCaller {
    /// Writes a list.
    ///
    /// # Errors
    ///
    /// The errors of the system call.
    ///
    /// # Panics
    ///
    /// If the list has more segments than [`CCallers::open`] was told.
    pub fn send(&mut self, fd: BorrowedFd<'_>, list: &[IoSlice<'_>]) -> io::Result<()> {
        assert!(list.len() <= self.most);
        // SAFETY: the caller is open. An `IoSlice` is guaranteed to have the layout of `iovec`, and C only reads.
        let error = unsafe {
            (self.functions.send)(
                self.caller.as_ptr(),
                fd.as_raw_fd(),
                list.as_ptr().cast(),
                list.len(),
            )
        };
        match error {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

impl Drop for CCaller {
    fn drop(&mut self) {
        // SAFETY: it is open, and not used again.
        unsafe { (self.functions.close)(self.caller.as_ptr()) }
    }
}
