//! Descriptors that keep messages apart, on which a list is not just its bytes.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::net::{SocketType, sockopt};

/// An error if `fd` is a socket of any type but `SOCK_STREAM`.
///
/// What is not a socket, or not a descriptor at all, passes: the call that follows tells.
#[cold]
pub(crate) fn refuse_messages(fd: BorrowedFd<'_>) -> io::Result<()> {
    let name = match sockopt::socket_type(fd) {
        Ok(SocketType::STREAM) | Err(_) => return Ok(()),
        Ok(SocketType::DGRAM) => "SOCK_DGRAM",
        Ok(SocketType::SEQPACKET) => "SOCK_SEQPACKET",
        Ok(SocketType::RAW) => "SOCK_RAW",
        Ok(SocketType::RDM) => "SOCK_RDM",
        Ok(_) => "not SOCK_STREAM",
    };
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!(
            "the descriptor is a socket that keeps messages apart ({name}), and this list is not \
             exactly one: send each message with write_once"
        ),
    ))
}
