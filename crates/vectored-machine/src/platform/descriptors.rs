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

pub use crate::sys::sockets::unsent_bytes;

use super::TCP_BUFFER_BYTES;

pub type Pair = (OwnedFd, OwnedFd);

/// Whether the writing thread can empty a stream between samples.
pub const EMPTIES_BETWEEN_SAMPLES: bool = true;

/// Makes TCP acknowledge at once what has arrived, if the system can: `TCP_QUICKACK` of `tcp(7)`.
pub fn acknowledge_now(socket: impl AsFd) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::net::sockopt::set_tcp_quickack(socket, true)?;
    #[cfg(not(target_os = "linux"))]
    let _ = socket;
    Ok(())
}

pub fn pipe() -> io::Result<Pair> {
    let (reader, writer) = io::pipe()?;
    Ok((writer.into(), reader.into()))
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

/// A TCP connection over the loopback device, with buffers of fixed size and without Nagle's delay (`TCP_NODELAY`).
pub fn tcp_pair() -> io::Result<Pair> {
    let listener = tcp_socket()?;
    bind(&listener, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
    listen(&listener, 1)?;
    let writer = tcp_socket()?;
    connect(&writer, &getsockname(&listener)?)?;
    let ours = getsockname(&writer)?;
    loop {
        let reader = rustix::net::accept_with(&listener, AT_ONCE)?;
        afterwards(&reader)?;
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

/// Creates a socket with fixed buffers. The buffers are set before the connection is made, since their sizes determine its
/// window. The reader inherits its buffers from the listening socket.
fn tcp_socket() -> io::Result<OwnedFd> {
    let (family, kind) = (AddressFamily::INET, SocketType::STREAM);
    let socket = rustix::net::socket_with(family, kind, AT_ONCE, None)?;
    afterwards(&socket)?;
    set_socket_send_buffer_size(&socket, TCP_BUFFER_BYTES)?;
    set_socket_recv_buffer_size(&socket, TCP_BUFFER_BYTES)?;
    Ok(socket)
}

pub(crate) fn buffer_bytes(socket: impl AsFd) -> (Option<u64>, Option<u64>) {
    use rustix::net::sockopt::{socket_recv_buffer_size, socket_send_buffer_size};
    let bytes = |size: rustix::io::Result<usize>| size.ok().map(|size| size as u64);
    (
        bytes(socket_send_buffer_size(&socket)),
        bytes(socket_recv_buffer_size(&socket)),
    )
}

pub fn unix_pair() -> io::Result<Pair> {
    let (one, other) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, AT_ONCE, None)?;
    afterwards(&one)?;
    afterwards(&other)?;
    Ok((one, other))
}

/// The flags of a new socket: no child inherits it.
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

/// Makes the socket close on exec; a child that another thread starts before this call inherits the socket. After this call, a write to
/// a socket whose peer is gone returns an error and raises no SIGPIPE. Other systems have `MSG_NOSIGNAL` for that.
#[cfg(target_vendor = "apple")]
fn afterwards(socket: &OwnedFd) -> io::Result<()> {
    rustix::io::fcntl_setfd(socket, rustix::io::FdFlags::CLOEXEC)?;
    Ok(rustix::net::sockopt::set_socket_nosigpipe(socket, true)?)
}

#[cfg(test)]
mod tests {
    use rustix::net::sockopt::{socket_recv_buffer_size, socket_send_buffer_size, tcp_nodelay};

    use super::*;

    #[test]
    fn a_tcp_pair_has_no_delay_and_buffers_of_fixed_size() {
        let (writer, reader) = tcp_pair().unwrap();
        assert!(tcp_nodelay(&writer).unwrap());
        let (send, receive) = (
            socket_send_buffer_size(&writer).unwrap(),
            socket_recv_buffer_size(&reader).unwrap(),
        );
        for _ in 0..200 {
            rustix::io::write(&writer, &[1; 4096]).unwrap();
            rustix::io::read(&reader, &mut [0; 8192]).unwrap();
        }
        assert_eq!(socket_send_buffer_size(&writer).unwrap(), send);
        assert_eq!(socket_recv_buffer_size(&reader).unwrap(), receive);
        // The kernel may grant less, but not less than its minimum.
        assert!(send >= 4608 && receive >= 2304, "{send} {receive}");
    }
}
