//! Socket calls for which rustix has no safe form.
//!
//! # Safety
//!
//! `unsafe` for one `ioctl`, whose argument the compiler cannot check.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::io;
use std::os::fd::AsFd;

use rustix::ioctl::{Getter, Opcode, ioctl};

/// Number of bytes written to a socket that have not reached the peer's buffer
/// yet; for TCP, those not acknowledged. `SIOCOUTQ`, see `tcp(7)`.
pub fn unsent_bytes(socket: impl AsFd) -> io::Result<u64> {
    // Linux defines SIOCOUTQ as TIOCOUTQ (include/uapi/linux/sockios.h).
    // SAFETY: the request writes one `int` to where its argument points, and
    // nothing else, whatever the descriptor; the getter provides the room.
    let bytes = unsafe { ioctl(socket, Getter::<{ libc::TIOCOUTQ as Opcode }, c_int>::new()) }?;
    Ok(u64::try_from(bytes).unwrap_or(0))
}
