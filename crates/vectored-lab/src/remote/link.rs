//! The measuring side of a connection to a receiver.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use crate::platform::descriptors::unsent_bytes;
use crate::platform::fd::{AsFd, BorrowedFd};
use crate::remote::checksum::Checksum;
use crate::remote::protocol::{ACCEPTED, ANSWER_BYTES, BUSY, batch_head, hello};
use crate::remote::token::Token;

/// Time for the connection, and for the answer to the token.
const CONNECT: Duration = Duration::from_secs(5);

/// A receiver that reads nothing for this long counts as stuck.
const PATIENCE: Duration = Duration::from_secs(5);

/// Interval at which the progress of unsent bytes is looked at.
const TICK: Duration = Duration::from_millis(500);

/// A connection to a receiver that has accepted the token.
#[derive(Debug)]
pub(crate) struct Link {
    stream: TcpStream,
}

/// What a receiver got of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Receipt {
    pub bytes: u64,
    pub checksum: u64,
}

impl Receipt {
    /// That of a batch of `bytes` bytes, which are `image` again and again.
    pub fn expected(image: &[u8], bytes: u64) -> Self {
        let mut checksum = Checksum::new();
        let mut left = bytes;
        while left > 0 {
            let count = usize::try_from(left).map_or(image.len(), |left| left.min(image.len()));
            checksum.add(&image[..count]);
            left -= count as u64;
        }
        Receipt {
            bytes,
            checksum: checksum.value(),
        }
    }
}

impl Link {
    /// Connects to `HOST:PORT` and sends the token.
    ///
    /// # Errors
    ///
    /// The reason, with the remedy.
    pub fn connect(address: &str, token: &Token) -> io::Result<Self> {
        let mut failure = io::Error::other("the name has no address");
        for address in address.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT) {
                Ok(stream) => return Link::introduce(stream, token),
                Err(error) => failure = error,
            }
        }
        Err(match failure.kind() {
            ErrorKind::ConnectionRefused => io::Error::other(
                "no program listens there; start `vectored receive --listen` on that machine",
            ),
            _ => failure,
        })
    }

    fn introduce(mut stream: TcpStream, token: &Token) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(CONNECT))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(&hello(token))?;
        let mut answer = [0];
        let refused = "the receiver refused the token, or it is no `vectored receive`: give both sides the same \
                       --token-file";
        match stream.read(&mut answer) {
            Ok(1) if answer[0] == ACCEPTED => {}
            Ok(1) if answer[0] == BUSY => {
                return Err(io::Error::other(
                    "the receiver serves another client; measure again when that has ended",
                ));
            }
            Ok(_) => return Err(io::Error::other(refused)),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                return Err(io::Error::other(refused));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(io::Error::other(
                    "the program that listens there does not answer as `vectored receive` does",
                ));
            }
            Err(error) => return Err(error),
        }
        stream.set_read_timeout(Some(TICK))?;
        Ok(Link { stream })
    }

    /// The descriptor that the bytes of a batch are written to.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Announces a batch.
    pub fn begin(&self, bytes: u64) -> io::Result<()> {
        (&self.stream).write_all(&batch_head(bytes))
    }

    /// Waits until the receiver has answered; `None` if it has got fewer bytes than were announced, so that it
    /// waits for more.
    pub fn receipt(&self) -> io::Result<Option<Receipt>> {
        let mut answer = [0; ANSWER_BYTES];
        let mut filled = 0;
        let (mut since, mut unsent) = (Instant::now(), u64::MAX);
        while filled < ANSWER_BYTES {
            match (&self.stream).read(&mut answer[filled..]) {
                Ok(0) => return Err(gone()),
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let now = unsent_bytes(&self.stream)?;
                    if now < unsent {
                        (since, unsent) = (Instant::now(), now);
                    } else if since.elapsed() > PATIENCE && now == 0 {
                        return Ok(None);
                    } else if since.elapsed() > PATIENCE {
                        return Err(io::Error::other(format!(
                            "the receiver has read nothing for {} s",
                            PATIENCE.as_secs()
                        )));
                    }
                }
                Err(error) => return Err(error),
            }
        }
        let word = |at: usize| {
            let bytes: [u8; 8] = answer[at..at + 8].try_into().expect("eight bytes");
            u64::from_le_bytes(bytes)
        };
        Ok(Some(Receipt {
            bytes: word(0),
            checksum: word(8),
        }))
    }
}

fn gone() -> io::Error {
    io::Error::other(
        "the receiver has closed the connection: it was stopped, or a limit of --max-bytes or --max-time was reached, or it got more bytes than were announced",
    )
}
