//! New pairs of connected descriptors: pipes, Unix sockets, TCP connections.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt::{
    set_socket_linger, set_socket_recv_buffer_size, set_socket_send_buffer_size, set_tcp_nodelay,
};
use rustix::net::{
    AddressFamily, Ipv4Addr, SocketAddrV4, bind, connect, getpeername, getsockname, listen,
};

use crate::platform::descriptors;

/// A writing and a reading end.
pub type Pair = (OwnedFd, OwnedFd);

/// Requested size of the send and receive buffers of a TCP connection: the
/// usual limit without privilege, `net.core.wmem_max`. Linux doubles the value
/// it grants. Setting a size turns off auto-tuning, see `tcp(7)`.
const TCP_BUFFER_BYTES: usize = 212_992;

/// Creates a pipe of the default capacity; returns its writing and reading end.
pub fn pipe() -> io::Result<Pair> {
    let (reader, writer) = descriptors::pipe()?;
    Ok((writer, reader))
}

/// Creates a pair of connected Unix stream sockets.
pub fn unix_pair() -> io::Result<Pair> {
    descriptors::unix_pair()
}

/// Creates a TCP connection over the loopback device, with buffers of fixed
/// size and without Nagle's delay (`TCP_NODELAY`).
pub fn tcp_pair() -> io::Result<Pair> {
    let listener = tcp_socket()?;
    bind(&listener, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
    listen(&listener, 1)?;
    let writer = tcp_socket()?;
    connect(&writer, &getsockname(&listener)?)?;
    let ours = getsockname(&writer)?;
    loop {
        let reader = descriptors::accept(&listener)?;
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
fn tcp_socket() -> io::Result<OwnedFd> {
    let socket = descriptors::stream_socket(AddressFamily::INET)?;
    set_socket_send_buffer_size(&socket, TCP_BUFFER_BYTES)?;
    set_socket_recv_buffer_size(&socket, TCP_BUFFER_BYTES)?;
    Ok(socket)
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
