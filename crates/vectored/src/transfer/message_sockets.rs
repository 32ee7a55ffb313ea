//! Descriptors that keep messages apart, on which a list is not just its bytes.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::net::{SocketType, sockopt};

/// An error if `fd` is a socket of any type but `SOCK_STREAM`, for a list that is not exactly one
/// message.
#[cold]
pub(crate) fn refuse_messages(fd: BorrowedFd<'_>) -> io::Result<()> {
    refuse(
        fd,
        "this list is not exactly one message: send each message with write_once, and an empty one with send(2)",
    )
}

/// An error if `fd` is a socket of any type but `SOCK_STREAM`, for a read into a list.
pub(crate) fn refuse_reading_messages(fd: BorrowedFd<'_>) -> io::Result<()> {
    refuse(
        fd,
        "reading a list would cut or join them: receive each message with recvmsg(2)",
    )
}

/// A check to be made before every call of a transfer, which asks before the first.
///
/// It cannot be put off until an answer looks wrong, as for writes: what a call cuts off a message
/// is gone, and neither read(2) nor readv(2) tells that there was more. Nothing that says it is
/// cheaper: fstat(2) takes longer, recvmsg(2) tells afterwards, and a descriptor's number says
/// nothing about what it stood for before. A list without bytes makes no call, and asks nothing.
pub(crate) fn before_each_read(fd: BorrowedFd<'_>) -> impl FnMut() -> io::Result<()> {
    let mut is_stream = false;
    move || {
        if !is_stream {
            refuse_reading_messages(fd)?;
            is_stream = true;
        }
        Ok(())
    }
}

/// What is not a socket, or not a descriptor at all, passes: the call that follows tells.
fn refuse(fd: BorrowedFd<'_>, why: &str) -> io::Result<()> {
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
        format!("the descriptor is a socket that keeps messages apart ({name}), and {why}"),
    ))
}
