//! The `evbuffer` of libevent, event2/buffer.h.
//!
//! # Safety
//!
//! `unsafe` for calling C. A buffer is an opaque pointer. It is made and freed here, and used by one thread.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

use super::library::Library;

/// The file name, with the ABI version of every libevent 2.1.
const NAME: &std::ffi::CStr = c"libevent_core-2.1.so.7";

type Raw = *mut c_void;

/// The functions that are used.
#[derive(Clone, Copy, Debug)]
pub struct Evbuffers {
    new: unsafe extern "C" fn() -> Raw,
    free: unsafe extern "C" fn(Raw),
    length: unsafe extern "C" fn(Raw) -> usize,
    add: unsafe extern "C" fn(Raw, *const c_void, usize) -> c_int,
    add_reference: AddReference,
    write: unsafe extern "C" fn(Raw, c_int) -> c_int,
}

type AddReference = unsafe extern "C" fn(
    Raw,
    *const c_void,
    usize,
    Option<unsafe extern "C" fn(*const c_void, usize, *mut c_void)>,
    *mut c_void,
) -> c_int;

impl Evbuffers {
    /// Loads libevent.
    ///
    /// # Errors
    ///
    /// Why it cannot be loaded.
    pub fn load() -> Result<Self, String> {
        let library = Library::load(NAME)?;
        // SAFETY: the types equal event2/buffer.h.
        unsafe {
            Ok(Evbuffers {
                new: library.function(c"evbuffer_new")?,
                free: library.function(c"evbuffer_free")?,
                length: library.function(c"evbuffer_get_length")?,
                add: library.function(c"evbuffer_add")?,
                add_reference: library.function(c"evbuffer_add_reference")?,
                write: library.function(c"evbuffer_write")?,
            })
        }
    }
}

/// How segments are added to a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adding {
    /// `evbuffer_add`, which copies.
    Copy,
    /// `evbuffer_add_reference`, which does not copy.
    Reference,
}

/// A buffer.
#[derive(Debug)]
pub struct Evbuffer {
    functions: Evbuffers,
    raw: NonNull<c_void>,
}

impl Evbuffer {
    /// An empty buffer.
    ///
    /// # Errors
    ///
    /// If there is no memory.
    pub fn new(functions: Evbuffers) -> io::Result<Self> {
        // SAFETY: the function has no preconditions.
        let raw = NonNull::new(unsafe { (functions.new)() });
        let raw = raw.ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Evbuffer { functions, raw })
    }

    /// Adds all segments and writes until the buffer is empty. It is also empty after an error.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    pub fn send(
        &mut self,
        fd: BorrowedFd<'_>,
        segments: &[&[u8]],
        adding: Adding,
    ) -> io::Result<()> {
        let outcome = self.add(segments, adding).and_then(|()| self.write_all(fd));
        if outcome.is_err() {
            // References must not outlive the segments.
            let functions = self.functions;
            *self = Evbuffer::new(functions)?;
        }
        outcome
    }

    fn add(&mut self, segments: &[&[u8]], adding: Adding) -> io::Result<()> {
        let raw = self.raw.as_ptr();
        for segment in segments {
            let start = segment.as_ptr().cast();
            let outcome = match adding {
                // SAFETY: the buffer lives, and that number of bytes can be read.
                Adding::Copy => unsafe { (self.functions.add)(raw, start, segment.len()) },
                // SAFETY: as above; that the bytes live until they are written
                // or the buffer is freed is seen to by `send`, which borrows
                // them and leaves nothing in the buffer.
                Adding::Reference => unsafe {
                    let nobody = std::ptr::null_mut();
                    (self.functions.add_reference)(raw, start, segment.len(), None, nobody)
                },
            };
            if outcome != 0 {
                return Err(io::ErrorKind::OutOfMemory.into());
            }
        }
        Ok(())
    }

    fn write_all(&mut self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let raw = self.raw.as_ptr();
        // SAFETY: the buffer lives.
        while unsafe { (self.functions.length)(raw) } > 0 {
            // SAFETY: the buffer lives, and the descriptor is open.
            match unsafe { (self.functions.write)(raw, fd.as_raw_fd()) } {
                -1 => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
                0 => return Err(io::ErrorKind::WriteZero.into()),
                _ => {}
            }
        }
        Ok(())
    }
}

impl Drop for Evbuffer {
    fn drop(&mut self) {
        // SAFETY: made by `evbuffer_new` and freed nowhere else.
        unsafe { (self.functions.free)(self.raw.as_ptr()) };
    }
}
