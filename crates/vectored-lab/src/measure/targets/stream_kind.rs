//! The kinds of streams, and when what was written has arrived.

use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_tcp_quickack;

use crate::measure::targets::endpoints::{Pair, pipe, tcp_pair, unix_pair};
use crate::measure::targets::fifo::open_fifo;
use crate::measure::targets::sink::Mismatch;
use crate::model::Target;
use crate::sys::sockets::unsent_bytes;

/// What is on its way for longer than this does not arrive.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a segment of TCP may take over the loopback device. It mostly is
/// there before the call returns; but the kernel may leave it to a thread.
const TRANSIT: Duration = Duration::from_millis(20);

/// A stream of which we have both ends.
#[derive(Clone, Debug)]
pub(crate) enum Stream {
    Pipe,
    Unix,
    Tcp,
    Fifo(PathBuf),
}

impl Stream {
    /// The stream that a target is, if it is one of ours.
    pub fn of(target: Target, path: Option<PathBuf>) -> Option<Stream> {
        match (target, path) {
            (Target::Pipe, _) => Some(Stream::Pipe),
            (Target::Unix, _) => Some(Stream::Unix),
            (Target::Tcp, _) => Some(Stream::Tcp),
            (Target::Fifo, Some(path)) => Some(Stream::Fifo(path)),
            _ => None,
        }
    }

    /// Both ends of a new one.
    pub fn open(&self) -> io::Result<Pair> {
        match self {
            Stream::Pipe => pipe(),
            Stream::Unix => unix_pair(),
            Stream::Tcp => tcp_pair(),
            Stream::Fifo(path) => open_fifo(path),
        }
    }

    /// Both ends of a new one, neither of which waits.
    pub fn open_non_blocking(&self) -> io::Result<Pair> {
        let (writer, reader) = self.open()?;
        for end in [&writer, &reader] {
            rustix::io::ioctl_fionbio(end, true)?;
        }
        Ok((writer, reader))
    }

    /// Whether it can be replaced by another one in the middle of a cell.
    pub fn can_be_reopened(&self) -> bool {
        // While we have a FIFO open, nobody can tell whether others have.
        !matches!(self, Stream::Fifo(_))
    }

    /// Whether bytes take time to arrive. What was written to a pipe or a Unix
    /// socket can be read at once.
    pub fn has_a_way(&self) -> bool {
        matches!(self, Stream::Tcp)
    }

    /// Whether all of `bytes`, which have been written, can be read.
    pub fn has_arrived(&self, reader: impl AsFd, bytes: u64) -> io::Result<bool> {
        let began = Instant::now();
        while self.has_a_way() && rustix::io::ioctl_fionread(&reader)? < bytes {
            if began.elapsed() > TRANSIT {
                return Ok(false);
            }
            std::thread::yield_now();
        }
        Ok(true)
    }

    /// Waits until nothing is on its way any longer, or something can be read.
    /// Returns whether the former: what has not arrived then never will.
    pub fn settle(&self, writer: impl AsFd, reader: impl AsFd) -> io::Result<bool> {
        let began = Instant::now();
        while self.has_a_way() {
            // Otherwise the last bytes would be acknowledged up to 40 ms later.
            set_tcp_quickack(&reader, true)?;
            if unsent_bytes(&writer)? == 0 || began.elapsed() > PATIENCE {
                break;
            }
            if rustix::io::ioctl_fionread(&reader)? > 0 {
                return Ok(false);
            }
            std::thread::yield_now();
        }
        Ok(true)
    }

    /// What else may be the reason for other bytes than were sent.
    pub fn explain(&self, mismatch: Mismatch) -> Mismatch {
        match (self, mismatch) {
            (Stream::Fifo(_), Mismatch::Bytes(difference)) => Mismatch::Bytes(format!(
                "{difference} (or another process opened the FIFO meanwhile)"
            )),
            (_, mismatch) => mismatch,
        }
    }
}
