//! A Unix stream socket that another program listens on.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SocketAddrUnix, connect, recv};

use crate::measure::targets::sink::{Batch, Mismatch, Sink};
use crate::platform::descriptors::stream_socket;
use crate::sys::sockets::unsent_bytes;

/// A peer that reads nothing for this long counts as stuck.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection to another program, which reads the bytes at its own pace. All
/// cells of a run share one connection, since a peer may accept only one.
pub struct ForeignSocketSink {
    socket: Rc<OwnedFd>,
}

impl ForeignSocketSink {
    /// Connects to the socket at `path`.
    pub fn connect(path: &Path) -> io::Result<Rc<OwnedFd>> {
        let socket = stream_socket(AddressFamily::UNIX)?;
        connect(&socket, &SocketAddrUnix::new(path)?).map_err(refused)?;
        set_socket_timeout(&socket, Timeout::Send, Some(PATIENCE))?;
        Ok(Rc::new(socket))
    }

    /// A sink on a connection.
    pub fn new(socket: Rc<OwnedFd>) -> Self {
        ForeignSocketSink { socket }
    }

    /// Waits until the peer has read everything. Discards the bytes that the
    /// peer sends: a peer blocked on its answers would stop reading.
    fn wait(&self) -> io::Result<()> {
        let mut answer = [0; 1 << 12];
        let mut since = Instant::now();
        let mut left = u64::MAX;
        loop {
            match recv(&*self.socket, &mut answer, RecvFlags::DONTWAIT) {
                Ok((_, 0)) => return Err(gone()),
                Ok(_) => continue,
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            match unsent_bytes(&*self.socket)? {
                0 => return Ok(()),
                now if now < left => (left, since) = (now, Instant::now()),
                _ if since.elapsed() > PATIENCE => return Err(peer_is_stuck()),
                _ => std::thread::yield_now(),
            }
        }
    }
}

impl Sink for ForeignSocketSink {
    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn begin(&mut self, _batch: Batch) -> io::Result<()> {
        self.wait()
    }

    fn finish(&mut self, _batch: Batch, _image: &[u8], _proof: bool) -> Result<(), Mismatch> {
        Ok(self.wait()?)
    }

    fn discard(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn can_prove(&self) -> bool {
        false
    }
}

/// The error of a write that took longer than [`PATIENCE`].
pub(crate) fn peer_is_stuck() -> io::Error {
    io::Error::other(format!(
        "the program that listens on it has read nothing for {} s; \
         name a socket whose program reads everything",
        PATIENCE.as_secs()
    ))
}

/// The error of a refused connection, with the remedy.
fn refused(errno: Errno) -> io::Error {
    match errno {
        Errno::CONNREFUSED => {
            io::Error::other("no program listens on it; start the program, then measure again")
        }
        Errno::PROTOTYPE => {
            io::Error::other("it is not a stream socket; name a Unix stream socket")
        }
        other => other.into(),
    }
}

fn gone() -> io::Error {
    io::Error::other("the program that listens on it has closed the connection")
}
