//! Sockets that keep messages apart: a list sent in two calls is two messages there.

use std::io;

use crate::descriptor::BorrowedDescriptor;
use crate::sys;

/// Returns an error if `fd` is a socket of any type but `SOCK_STREAM`, for a list that is not exactly one message.
#[cold]
pub(crate) fn refuse_messages(fd: BorrowedDescriptor<'_>) -> io::Result<()> {
    refuse(
        fd,
        "this list is not exactly one message: send each message with write_once, and an empty one with send(2)",
    )
}

/// Returns an error if `fd` is a socket of any type but `SOCK_STREAM`, for a read into a list.
pub(crate) fn refuse_reading_messages(fd: BorrowedDescriptor<'_>) -> io::Result<()> {
    refuse(
        fd,
        "reading a list would cut or join them: receive each message with recvmsg(2)",
    )
}

/// Returns an error if `fd` is a socket of any type but `SOCK_STREAM`, for either end of a copy.
pub(crate) fn refuse_copying_messages(fd: BorrowedDescriptor<'_>) -> io::Result<()> {
    refuse(
        fd,
        "a copy would cut or join them: receive and send each message by itself",
    )
}

/// Other descriptors pass. So do invalid descriptors: the next call reports them.
fn refuse(fd: BorrowedDescriptor<'_>, why: &str) -> io::Result<()> {
    let Some(name) = sys::files::message_socket(fd) else {
        return Ok(());
    };
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("the descriptor is a socket that keeps messages apart ({name}), and {why}"),
    ))
}
