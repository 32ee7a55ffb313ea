//! New pairs of descriptors: what is written to the one is read from the other.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt::{
    set_socket_linger, set_socket_recv_buffer_size, set_socket_send_buffer_size, set_tcp_nodelay,
};
use rustix::net::{
    AddressFamily, Ipv4Addr, SocketAddrV4, SocketFlags, SocketType, accept_with, bind, connect,
    getpeername, getsockname, listen, socket_with,
};
use rustix::pipe::PipeFlags;

/// A writing and a reading end.
pub type Pair = (OwnedFd, OwnedFd);

/// What is asked for as send and receive buffer of a TCP connection: as much
/// as Linux grants without privilege (`net.core.wmem_max`, of which it doubles
/// what it grants). Whoever asks turns off auto-tuning, `tcp(7)`.
const TCP_BUFFER_BYTES: usize = 212_992;

/// A new pipe of the default capacity: its writing and its reading end.
pub fn pipe() -> io::Result<Pair> {
    let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    Ok((writer, reader))
}

/// A new pair of connected Unix stream sockets.
pub fn unix_pair() -> io::Result<Pair> {
    Ok(rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?)
}

/// A new TCP connection over the loopback device, whose buffers do not grow
/// and whose small segments do not wait.
pub fn tcp_pair() -> io::Result<Pair> {
    let listener = tcp_socket()?;
    bind(&listener, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
    listen(&listener, 1)?;
    let writer = tcp_socket()?;
    connect(&writer, &getsockname(&listener)?)?;
    let ours = getsockname(&writer)?;
    loop {
        let reader = accept_with(&listener, SocketFlags::CLOEXEC)?;
        // Any process of this machine may have come first.
        if getpeername(&reader)?.is_some_and(|peer| peer == ours) {
            set_tcp_nodelay(&writer, true)?;
            set_tcp_nodelay(&reader, true)?;
            // Closed without farewell: thousands of connections in TIME_WAIT
            // would use up the port numbers.
            set_socket_linger(&writer, Some(Duration::ZERO))?;
            set_socket_linger(&reader, Some(Duration::ZERO))?;
            return Ok((writer, reader));
        }
    }
}

/// Not connected yet: the buffers decide what is agreed on then. The reader
/// inherits its own from the socket that listens.
fn tcp_socket() -> io::Result<OwnedFd> {
    let socket = socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    set_socket_send_buffer_size(&socket, TCP_BUFFER_BYTES)?;
    set_socket_recv_buffer_size(&socket, TCP_BUFFER_BYTES)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use rustix::net::sockopt::{socket_recv_buffer_size, socket_send_buffer_size, tcp_nodelay};

    use super::*;

    #[test]
    fn a_tcp_pair_has_no_delay_and_the_buffers_that_were_asked_for() {
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
        // The kernel may grant less, but never less than its least.
        assert!(send >= 4608 && receive >= 2304, "{send} {receive}");
    }
}
