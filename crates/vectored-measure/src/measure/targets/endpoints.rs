//! New pairs of connected descriptors: pipes, Unix sockets, TCP connections.

use crate::platform::descriptors;
use crate::platform::fd::OwnedFd;
use std::io;

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
    descriptors::tcp_pair(TCP_BUFFER_BYTES)
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
