//! Pipes and sockets that no child inherits.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType};

/// A pipe of the default capacity: the reading and the writing end.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((reader.into(), writer.into()))
}

/// The capacity of a pipe in bytes; `None` if this system does not report it.
pub(crate) fn pipe_bytes(pipe: impl AsFd) -> Option<u64> {
    #[cfg(target_os = "linux")]
    return Some(rustix::pipe::fcntl_getpipe_size(pipe).ok()? as u64);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = pipe;
        None
    }
}

/// A stream socket of this family.
pub(crate) fn stream_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let socket = rustix::net::socket_with(family, SocketType::STREAM, AT_ONCE, None)?;
    afterwards(&socket)?;
    Ok(socket)
}

/// A pair of connected Unix stream sockets.
pub(crate) fn unix_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (one, other) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, AT_ONCE, None)?;
    afterwards(&one)?;
    afterwards(&other)?;
    Ok((one, other))
}

/// Accepts a connection.
pub(crate) fn accept(listener: impl AsFd) -> io::Result<OwnedFd> {
    let socket = rustix::net::accept_with(listener, AT_ONCE)?;
    afterwards(&socket)?;
    Ok(socket)
}

/// What a socket is made with: no child inherits it.
#[cfg(not(target_vendor = "apple"))]
const AT_ONCE: SocketFlags = SocketFlags::CLOEXEC;

/// Apple's systems have no such flag.
#[cfg(target_vendor = "apple")]
const AT_ONCE: SocketFlags = SocketFlags::empty();

#[cfg(not(target_vendor = "apple"))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail elsewhere")]
fn afterwards(_: &OwnedFd) -> io::Result<()> {
    Ok(())
}

/// A child that another thread starts meanwhile inherits the socket. Writing to a socket whose peer is gone is an error
/// here and no signal, as on other systems whose calls take `MSG_NOSIGNAL`.
#[cfg(target_vendor = "apple")]
fn afterwards(socket: &OwnedFd) -> io::Result<()> {
    rustix::io::fcntl_setfd(socket, rustix::io::FdFlags::CLOEXEC)?;
    Ok(rustix::net::sockopt::set_socket_nosigpipe(socket, true)?)
}
