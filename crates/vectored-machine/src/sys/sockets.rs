//! Socket calls for which rustix has no safe form.
//!
//! # Safety
//!
//! `unsafe` for one `ioctl` or `getsockopt`, whose argument the compiler cannot check.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::io;
use std::os::fd::AsFd;

#[cfg(not(target_vendor = "apple"))]
use rustix::ioctl::{Getter, Opcode, ioctl};

/// `FIONWRITE` of `sys/filio.h`: `_IOR('f', 119, int)`.
#[cfg(target_os = "freebsd")]
const UNSENT: Opcode = 0x4004_6677;

/// `SIOCOUTQ`, which Linux defines as `TIOCOUTQ` (include/uapi/linux/sockios.h).
#[cfg(not(any(target_os = "freebsd", target_vendor = "apple")))]
const UNSENT: Opcode = libc::TIOCOUTQ as Opcode;

/// Number of bytes that were written to a socket and have not reached the peer's buffer: `SO_NWRITE`.
#[cfg(target_vendor = "apple")]
pub fn unsent_bytes(socket: impl AsFd) -> io::Result<u64> {
    use std::os::fd::AsRawFd;
    let mut bytes: c_int = 0;
    let mut length = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: the option is an `int`, which `bytes` has room for. The pointers are to local variables.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NWRITE,
            (&raw mut bytes).cast(),
            &raw mut length,
        )
    };
    match outcome {
        0 => Ok(u64::try_from(bytes).unwrap_or(0)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Number of bytes that were written to a socket and have not reached the peer's buffer: `SIOCOUTQ`, see `tcp(7)`. TCP
/// counts the bytes that are not acknowledged.
#[cfg(not(target_vendor = "apple"))]
pub fn unsent_bytes(socket: impl AsFd) -> io::Result<u64> {
    // SAFETY: the request writes one `int` to where its argument points, and
    // nothing else, whatever the descriptor; the getter provides the room.
    let bytes = unsafe { ioctl(socket, Getter::<UNSENT, c_int>::new()) }?;
    Ok(u64::try_from(bytes).unwrap_or(0))
}
