//! Pipes and sockets that no child inherits.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::net::sockopt::{
    set_socket_linger, set_socket_recv_buffer_size, set_socket_send_buffer_size, set_tcp_nodelay,
};
use rustix::net::{
    AddressFamily, Ipv4Addr, SocketAddrV4, SocketFlags, SocketType, bind, connect, getpeername,
    getsockname, listen,
};

pub(crate) use crate::sys::sockets::unsent_bytes;

/// Whether the writing thread can empty a stream between samples.
pub(crate) const EMPTIES_BETWEEN_SAMPLES: bool = true;

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

/// A TCP connection over the loopback device, with buffers of this size and without Nagle's delay: its writing and its
/// reading end.
pub(crate) fn tcp_pair(buffer_bytes: usize) -> io::Result<(OwnedFd, OwnedFd)> {
    let listener = tcp_socket(buffer_bytes)?;
    bind(&listener, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
    listen(&listener, 1)?;
    let writer = tcp_socket(buffer_bytes)?;
    connect(&writer, &getsockname(&listener)?)?;
    let ours = getsockname(&writer)?;
    loop {
        let reader = accept(&listener)?;
        // Any process of this machine may have connected first.
        if getpeername(&reader)?.is_some_and(|peer| peer == ours) {
            set_tcp_nodelay(&writer, true)?;
            set_tcp_nodelay(&reader, true)?;
            // Reset on close instead of FIN: thousands of connections in
            // TIME_WAIT would use up the port numbers.
            set_socket_linger(&writer, Some(Duration::ZERO))?;
            set_socket_linger(&reader, Some(Duration::ZERO))?;
            return Ok((writer, reader));
        }
    }
}

/// Creates a socket with fixed buffers. They are set before connecting, since
/// the connection negotiates its window from them. The reader inherits its
/// buffers from the listening socket.
fn tcp_socket(buffer_bytes: usize) -> io::Result<OwnedFd> {
    let socket = stream_socket(AddressFamily::INET)?;
    set_socket_send_buffer_size(&socket, buffer_bytes)?;
    set_socket_recv_buffer_size(&socket, buffer_bytes)?;
    Ok(socket)
}

/// The sizes of a socket's send and receive buffers.
pub(crate) fn buffer_bytes(socket: impl AsFd) -> (Option<u64>, Option<u64>) {
    use rustix::net::sockopt::{socket_recv_buffer_size, socket_send_buffer_size};
    let bytes = |size: rustix::io::Result<usize>| size.ok().map(|size| size as u64);
    (
        bytes(socket_send_buffer_size(&socket)),
        bytes(socket_recv_buffer_size(&socket)),
    )
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
