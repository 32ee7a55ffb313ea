//! A stream socket that another program reads: a Unix socket with a path, or a TCP connection.

use std::io::{self, ErrorKind};
#[cfg(not(all(target_env = "gnu", target_feature = "crt-static")))]
use std::net::ToSocketAddrs;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use vectored_machine::platform::descriptors::unsent_bytes;
use vectored_report::words;
use vectored_results::model::REMOTE_SCHEME;

use crate::measure::targets::end::{Batch, End, Mismatch};

/// A peer that accepts no connection or reads nothing for this long counts as stuck.
const PATIENCE: Duration = Duration::from_secs(5);

/// The bytes that a peer must take within [`PATIENCE`]. A slower peer could hold one sample for longer than a run may take.
/// A signal ends a run only after a sample.
const TRIAL_BYTES: u64 = 1 << 20;

/// A connection to another program, which reads the bytes at its own pace. All
/// cells of a run share one connection, since a peer may accept only one.
pub struct ForeignSocketSink(pub Arc<OwnedFd>);

impl ForeignSocketSink {
    pub fn connect(path: &Path) -> io::Result<Arc<OwnedFd>> {
        let text = path.to_str().unwrap_or_default();
        let socket = match text.strip_prefix(REMOTE_SCHEME) {
            Some(address) => OwnedFd::from(connect_tcp(address)?),
            None => OwnedFd::from(UnixStream::connect(path).map_err(refused)?),
        };
        set_socket_timeout(&socket, Timeout::Send, Some(PATIENCE))?;
        try_out(&socket)?;
        Ok(Arc::new(socket))
    }

    /// Waits until the peer has read everything; over TCP, until the peer's kernel has acknowledged everything. Discards
    /// the bytes that the peer sends: a peer whose answers are not read would block, and stop reading.
    fn wait(&self) -> io::Result<()> {
        let mut since = Instant::now();
        let mut left = u64::MAX;
        loop {
            discard_answer(&self.0)?;
            match unsent_bytes(&*self.0)? {
                0 => return Ok(()),
                now if now < left => (left, since) = (now, Instant::now()),
                _ if since.elapsed() > PATIENCE => return Err(stuck()),
                _ => std::thread::yield_now(),
            }
        }
    }
}

impl End for ForeignSocketSink {
    fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    fn begin(&mut self, _batch: Batch) -> io::Result<()> {
        self.wait()
    }

    fn finish(&mut self, _batch: Batch, _proof: Option<&[u8]>) -> Result<(), Mismatch> {
        Ok(self.wait()?)
    }

    fn can_prove(&self) -> bool {
        false
    }

    fn explain(&self, error: io::Error) -> io::Error {
        explained(error)
    }
}

fn discard_answer(socket: &OwnedFd) -> io::Result<()> {
    match recv(socket, &mut [0; 1 << 12], RecvFlags::DONTWAIT) {
        Ok((_, 0)) => Err(gone()),
        Ok(_) | Err(Errno::AGAIN | Errno::INTR) => Ok(()),
        Err(error) => Err(explained(error.into())),
    }
}

fn try_out(socket: &OwnedFd) -> io::Result<()> {
    let began = Instant::now();
    let bytes = [0; 1 << 14];
    let mut sent = 0;
    loop {
        discard_answer(socket)?;
        if sent < TRIAL_BYTES {
            match send(socket, &bytes, SendFlags::DONTWAIT) {
                Ok(count) => sent += count as u64,
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(explained(error.into())),
            }
        }
        let left = unsent_bytes(socket)?;
        if sent >= TRIAL_BYTES && left == 0 {
            return Ok(());
        }
        if began.elapsed() > PATIENCE {
            let taken = sent.saturating_sub(left) / PATIENCE.as_secs();
            return Err(io::Error::other(format!(
                "the program at the other end takes {} a second: too slow to be measured; use one that reads everything, \
                 as `socat -u` does",
                words::bytes(taken)
            )));
        }
        std::thread::yield_now();
    }
}

fn explained(error: io::Error) -> io::Error {
    match error.kind() {
        // A write blocks for at most `PATIENCE`.
        ErrorKind::WouldBlock => stuck(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => gone(),
        _ => error,
    }
}

/// A TCP connection to `HOST:PORT` without Nagle's delay.
fn connect_tcp(address: &str) -> io::Result<TcpStream> {
    let resolved = addresses(address).map_err(|error| {
        io::Error::other(format!(
            "{error}; check the name of the host, or give its address, as in tcp://192.0.2.1:7007"
        ))
    })?;
    let mut failure = io::Error::other("the name of the host has no address");
    for address in resolved {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => failure = error,
        }
    }
    let port = address.rsplit_once(':').map_or(address, |(_, port)| port);
    Err(match failure.kind() {
        ErrorKind::ConnectionRefused => io::Error::other(format!(
            "no program listens there; start one that reads everything, for example \
             `socat -b 1048576 -u TCP-LISTEN:{port},fork OPEN:/dev/null`, then measure again"
        )),
        ErrorKind::TimedOut => io::Error::other(format!(
            "no answer within {} s; check the address, and that no firewall drops connections to port {port}",
            PATIENCE.as_secs()
        )),
        _ => failure,
    })
}

#[cfg(not(all(target_env = "gnu", target_feature = "crt-static")))]
fn addresses(address: &str) -> io::Result<Vec<SocketAddr>> {
    address.to_socket_addrs().map(Iterator::collect)
}

/// The addresses of `HOST:PORT`. getent(1) resolves names: in a static program, getaddrinfo(3) would load modules of the
/// system, which may belong to another glibc.
#[cfg(all(target_env = "gnu", target_feature = "crt-static"))]
fn addresses(address: &str) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = address.parse() {
        return Ok(vec![address]);
    }
    let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
    let port: u16 = port.parse().map_err(io::Error::other)?;
    let output = std::process::Command::new("getent")
        .args(["ahosts", "--", host])
        .output()
        .map_err(|error| io::Error::other(format!("cannot run getent: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let first = |line: &str| line.split_whitespace().next()?.parse().ok();
    let mut found: Vec<_> = text.lines().filter_map(first).collect();
    // getent prints an address once for each type of socket.
    found.dedup();
    if found.is_empty() {
        return Err(io::Error::other("getent finds no address of this name"));
    }
    let with_port = |ip| SocketAddr::new(ip, port);
    Ok(found.into_iter().map(with_port).collect())
}

fn refused(error: io::Error) -> io::Error {
    match Errno::from_io_error(&error) {
        Some(Errno::CONNREFUSED) => {
            io::Error::other("no program listens on it; start the program, then measure again")
        }
        Some(Errno::PROTOTYPE) => {
            io::Error::other("it is not a stream socket; name a Unix stream socket")
        }
        _ => error,
    }
}

fn stuck() -> io::Error {
    io::Error::other(format!(
        "the program at the other end has read nothing for {} s; use one that reads everything, as `socat -u` does",
        PATIENCE.as_secs()
    ))
}

fn gone() -> io::Error {
    io::Error::other(
        "the program at the other end has closed the connection; use one that reads everything until the run ends, \
         as `socat -u` does",
    )
}
