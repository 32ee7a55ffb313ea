//! Refuses sockets that keep messages apart, because two calls on such a socket are two messages.

use std::io;

use crate::descriptor::BorrowedDescriptor;
use crate::sys;

#[cold]
pub(crate) fn refuse_messages(fd: BorrowedDescriptor<'_>) -> io::Result<()> {
    refuse(
        fd,
        "this list is not exactly one message: send each message with write_once, and an empty one with send(2)",
    )
}

pub(crate) fn refuse_reading_messages(fd: BorrowedDescriptor<'_>) -> io::Result<()> {
    refuse(
        fd,
        "reading a list would cut or join them: receive each message with recvmsg(2)",
    )
}

pub(crate) fn refuse_copying_messages(fd: BorrowedDescriptor<'_>) -> io::Result<()> {
    refuse(
        fd,
        "a copy would cut or join them: receive and send each message by itself",
    )
}

/// Returns an error if `fd` is a socket of a type other than `SOCK_STREAM`. An invalid descriptor is no error here: the
/// next call reports the invalid descriptor.
fn refuse(fd: BorrowedDescriptor<'_>, why: &str) -> io::Result<()> {
    let Some(name) = sys::files::message_socket(fd) else {
        return Ok(());
    };
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("the descriptor is a socket that keeps messages apart ({name}), and {why}"),
    ))
}
