//! A C program of liburing: `liburing_peer.c`, built by `cc` when it is needed.
//!
//! # Safety
//!
//! The declarations stand in `liburing_peer.c`, which is compiled from the text that this file includes.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint};
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

use super::compiled;

const SOURCE: &str = include_str!("liburing_peer.c");

/// `struct peer`.
#[repr(C)]
struct Opaque {
    _private: [u8; 0],
}

/// `struct iovec`.
#[repr(C)]
pub struct CSegment<'a> {
    start: *const u8,
    bytes: usize,
    borrowed: PhantomData<&'a [u8]>,
}

impl<'a> From<&'a [u8]> for CSegment<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        CSegment {
            start: bytes.as_ptr(),
            bytes: bytes.len(),
            borrowed: PhantomData,
        }
    }
}

type Open = unsafe extern "C" fn(c_uint, c_uint, c_uint, c_int, *mut c_int) -> *mut Opaque;
type Close = unsafe extern "C" fn(*mut Opaque);
type Fill = unsafe extern "C" fn(*mut Opaque, *const CSegment<'_>);
type Write = unsafe extern "C" fn(*mut Opaque, c_int, c_uint) -> c_int;

/// The functions of the C program.
#[derive(Clone, Copy, Debug)]
pub struct Liburing {
    open: Open,
    close: Close,
    fill: Fill,
    write: Write,
}

impl Liburing {
    /// Compiles and loads the program.
    ///
    /// # Errors
    ///
    /// If there is no `cc`, or no liburing with its headers: the last lines of what `cc` says.
    pub fn build() -> Result<Liburing, String> {
        let library = compiled::build("liburing", SOURCE, &["-luring"])?;
        // SAFETY: the types equal the definitions in `SOURCE`.
        unsafe {
            Ok(Liburing {
                open: library.function(c"peer_open")?,
                close: library.function(c"peer_close")?,
                fill: library.function(c"peer_fill")?,
                write: library.function(c"peer_write")?,
            })
        }
    }

    /// A ring that writes `lists` lists of `count` segments, up to `depth` lists at a time. It writes the lists themselves, or
    /// copies.
    ///
    /// # Errors
    ///
    /// The errors of io_uring_setup(2).
    pub fn open(
        &self,
        depth: u32,
        lists: u32,
        count: u32,
        copies: bool,
    ) -> io::Result<LiburingPeer> {
        let mut error = 0;
        // SAFETY: `error` lives longer than the call.
        let peer = unsafe { (self.open)(depth, lists, count, copies.into(), &mut error) };
        match NonNull::new(peer) {
            Some(peer) => Ok(LiburingPeer {
                peer,
                count,
                functions: *self,
            }),
            None => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// A ring of the C program, with its lists.
pub struct LiburingPeer {
    peer: NonNull<Opaque>,
    /// The segments of a list.
    count: u32,
    functions: Liburing,
}

impl LiburingPeer {
    /// Makes all lists of these segments.
    ///
    /// # Panics
    ///
    /// If the number of segments is not the `count` of [`Liburing::open`].
    pub fn fill(&mut self, segments: &[CSegment<'static>]) {
        assert_eq!(segments.len(), self.count as usize);
        // SAFETY: the peer is open, and reads as many segments as it was told.
        unsafe { (self.functions.fill)(self.peer.as_ptr(), segments.as_ptr()) }
    }

    /// Writes all lists, in turn to `places` places that follow each other. If `places` is 0, it writes at the position of the
    /// descriptor. [Fill](LiburingPeer::fill) the lists again before the next call.
    ///
    /// # Errors
    ///
    /// The first error of a write. After an error the peer cannot be used again.
    pub fn write(&mut self, fd: BorrowedFd<'_>, places: u32) -> io::Result<()> {
        // SAFETY: the peer is open. All lists have their segments, which are static, or the empty ones of its start.
        let error = unsafe { (self.functions.write)(self.peer.as_ptr(), fd.as_raw_fd(), places) };
        match error {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

impl Drop for LiburingPeer {
    fn drop(&mut self) {
        // SAFETY: it is open, and not used again. After an error, what the kernel may use is leaked.
        unsafe { (self.functions.close)(self.peer.as_ptr()) }
    }
}
