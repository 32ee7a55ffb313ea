//! Pipes and sockets that no child inherits.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use super::fd::{AsFd, OwnedFd, socket_of};
#[cfg(unix)]
pub use crate::sys::sockets::unsent_bytes;

pub type Pair = (OwnedFd, OwnedFd);

/// Whether the writing thread can empty a stream between samples. Windows rules that out: the bytes that a socket takes do
/// not depend on the buffer of the socket alone, and a full non-blocking pipe reports success although it took no byte.
pub const EMPTIES_BETWEEN_SAMPLES: bool = cfg!(unix);

/// Requested size of the send and receive buffers of a TCP connection: the usual limit without privilege,
/// `net.core.wmem_max`. Linux doubles the granted value. Setting a size turns off auto-tuning, see `tcp(7)`.
const TCP_BUFFER_BYTES: usize = 212_992;

/// Makes TCP acknowledge at once what has arrived, if the system can: `TCP_QUICKACK` of `tcp(7)`.
pub fn acknowledge_now(socket: impl AsFd) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::net::sockopt::set_tcp_quickack(socket, true)?;
    #[cfg(not(target_os = "linux"))]
    let _ = socket;
    Ok(())
}

/// 0: Windows does not report how many bytes have not reached the peer.
#[cfg(windows)]
pub fn unsent_bytes(_socket: impl AsFd) -> io::Result<u64> {
    Ok(0)
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
    // The buffers are set before connecting, since the connection negotiates its window from the buffers. The reader
    // inherits its buffers from the listening socket.
    let new_socket = || -> io::Result<Socket> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_send_buffer_size(TCP_BUFFER_BYTES)?;
        socket.set_recv_buffer_size(TCP_BUFFER_BYTES)?;
        Ok(socket)
    };
    let listener = new_socket()?;
    listener.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    listener.listen(1)?;
    let writer = new_socket()?;
    writer.connect(&listener.local_addr()?)?;
    let ours = writer.local_addr()?.as_socket();
    loop {
        let (reader, peer) = listener.accept()?;
        // Any process of this machine may have connected first.
        if peer.as_socket() != ours {
            continue;
        }
        for end in [&writer, &reader] {
            end.set_tcp_nodelay(true)?;
            // A close resets the connection: thousands of connections in TIME_WAIT would use up the port numbers.
            end.set_linger(Some(Duration::ZERO))?;
        }
        return Ok((
            TcpStream::from(writer).into(),
            TcpStream::from(reader).into(),
        ));
    }
}

/// The sizes of the send and the receive buffer of a socket.
pub(crate) fn buffer_bytes(socket: &OwnedFd) -> (Option<u64>, Option<u64>) {
    let bytes = |size: io::Result<usize>| size.ok().map(|size| size as u64);
    socket_of(socket).map_or((None, None), |socket| {
        (
            bytes(socket.send_buffer_size()),
            bytes(socket.recv_buffer_size()),
        )
    })
}

#[cfg(unix)]
pub fn unix_pair() -> io::Result<Pair> {
    let (one, other) = std::os::unix::net::UnixStream::pair()?;
    Ok((one.into(), other.into()))
}

#[cfg(windows)]
pub fn unix_pair() -> io::Result<Pair> {
    Err(super::lacks("pairs of Unix sockets"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::plain_calls::{read, write};

    #[test]
    fn a_tcp_pair_has_no_delay_and_buffers_of_fixed_size() {
        let (writer, reader) = tcp_pair().unwrap();
        assert!(socket_of(&writer).unwrap().tcp_nodelay().unwrap());
        let sizes = || (buffer_bytes(&writer).0, buffer_bytes(&reader).1);
        let before = sizes();
        for _ in 0..200 {
            write(&writer, &[1; 4096]).unwrap();
            read(&reader, &mut [0; 8192]).unwrap();
        }
        assert_eq!(sizes(), before);
        // The kernel may grant a smaller size, but not less than its minimum.
        assert!(
            before.0 >= Some(4608) && before.1 >= Some(2304),
            "{before:?}"
        );
    }
}
