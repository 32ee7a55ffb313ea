//! Pipes and sockets. No child inherits them: the standard library makes no handle inheritable.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, SockAddr, SockRef, Socket, Type};

use super::fd::{AsFd, BorrowedFd, OwnedFd};
use crate::platform::TCP_BUFFER_BYTES;
use crate::platform::lacks;

pub type Pair = (OwnedFd, OwnedFd);

/// Whether the writing thread can empty a stream between samples. How many bytes a socket of Windows takes does not depend on
/// its buffer alone. A pipe that does not block reports success for a write of nothing.
pub const EMPTIES_BETWEEN_SAMPLES: bool = false;

pub fn pipe() -> io::Result<Pair> {
    let (reader, writer) = io::pipe()?;
    Ok((writer.into(), reader.into()))
}

/// Windows does not report the capacity of an anonymous pipe.
pub(crate) fn pipe_bytes(_pipe: impl AsFd) -> Option<u64> {
    None
}

pub fn unix_pair() -> io::Result<Pair> {
    Err(lacks("pairs of Unix sockets"))
}

/// A TCP connection over the loopback device, with buffers of fixed size and without Nagle's delay (`TCP_NODELAY`).
pub fn tcp_pair() -> io::Result<Pair> {
    let new_socket = || -> io::Result<Socket> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_send_buffer_size(TCP_BUFFER_BYTES)?;
        socket.set_recv_buffer_size(TCP_BUFFER_BYTES)?;
        Ok(socket)
    };
    let listener = new_socket()?;
    listener.bind(&SockAddr::from(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))))?;
    listener.listen(1)?;
    let writer = new_socket()?;
    writer.connect(&listener.local_addr()?)?;
    let ours = writer.local_addr()?.as_socket();
    loop {
        let (reader, peer) = listener.accept()?;
        if peer.as_socket() != ours {
            continue;
        }
        for end in [&writer, &reader] {
            end.set_tcp_nodelay(true)?;
            // Reset on close: thousands of connections in TIME_WAIT would use up the port numbers.
            end.set_linger(Some(Duration::ZERO))?;
        }
        return Ok((
            OwnedFd::Socket(TcpStream::from(writer)),
            OwnedFd::Socket(TcpStream::from(reader)),
        ));
    }
}

pub(crate) fn buffer_bytes(socket: impl AsFd) -> (Option<u64>, Option<u64>) {
    let BorrowedFd::Socket(socket) = socket.as_fd() else {
        return (None, None);
    };
    let socket = SockRef::from(&socket);
    let bytes = |size: io::Result<usize>| size.ok().map(|size| size as u64);
    (
        bytes(socket.send_buffer_size()),
        bytes(socket.recv_buffer_size()),
    )
}

/// 0: Windows does not report how many bytes have not reached the peer.
pub fn unsent_bytes(_socket: impl AsFd) -> io::Result<u64> {
    Ok(0)
}

/// Does nothing: Windows cannot be asked to acknowledge at once.
pub fn acknowledge_now(_socket: impl AsFd) -> io::Result<()> {
    Ok(())
}
