//! Which standard streams were closed when this process began, and what closing a descriptor reports.
//!
//! The runtime of Rust opens /dev/null in place of closed streams before `main`, so this module looks at the streams
//! earlier.
//!
//! # Safety
//!
//! `unsafe` for a function that the loader calls, and for `fcntl` and `close` of numbers.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};
use std::sync::atomic::{AtomicU8, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standard {
    Input = 0,
    Output = 1,
}

/// A bit for each stream that was closed.
static CLOSED: AtomicU8 = AtomicU8::new(0);

// SAFETY: the loader calls the functions in this section once, before `main`. `look` needs nothing of the runtime.
#[used]
#[cfg_attr(
    target_vendor = "apple",
    unsafe(link_section = "__DATA,__mod_init_func")
)]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static BEFORE_MAIN: extern "C" fn() = look;

extern "C" fn look() {
    for stream in [Standard::Input, Standard::Output] {
        // SAFETY: the call asks for the flags of a number, which may be of no descriptor.
        let flags = unsafe { libc::fcntl(stream as libc::c_int, libc::F_GETFD) };
        if flags == -1 {
            CLOSED.fetch_or(1 << stream as u8, Ordering::Relaxed);
        }
    }
}

/// Whether a stream was closed when this process began.
pub fn was_closed(stream: Standard) -> bool {
    CLOSED.load(Ordering::Relaxed) & (1 << stream as u8) != 0
}

/// Closes a descriptor, and returns the error of close(2). A network file system or a quota may report only there that the
/// written bytes have no room.
pub fn close(fd: OwnedFd) -> io::Result<()> {
    // SAFETY: the number is an open descriptor, which has no other owner any more.
    if unsafe { libc::close(fd.into_raw_fd()) } == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        // An interrupted close(2) has closed the descriptor.
        error if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        error => Err(error),
    }
}

/// Closes standard output as [`close`] does. The process must write nothing more there.
pub fn close_standard_output() -> io::Result<()> {
    // SAFETY: the number is open since the start of the process, and whoever writes to it uses the number.
    close(unsafe { OwnedFd::from_raw_fd(Standard::Output as libc::c_int) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_is_closed_once() {
        let (reader, writer) = io::pipe().unwrap();
        close(writer.into()).unwrap();
        assert_eq!(io::read_to_string(reader).unwrap(), "");
    }
}
