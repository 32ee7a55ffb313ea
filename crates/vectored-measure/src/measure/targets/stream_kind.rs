//! The kinds of streams, and how long their bytes are in transit.

use std::io;
use std::time::{Duration, Instant};

use vectored_machine::platform::descriptors::{
    Pair, acknowledge_now, pipe, tcp_pair, unix_pair, unsent_bytes,
};
use vectored_machine::platform::fd::AsFd;
use vectored_machine::platform::plain_calls;
use vectored_results::model::{Conditions, Target};

/// Bytes in transit for longer than this count as lost.
const PATIENCE: Duration = Duration::from_secs(2);

/// Time allowed for a TCP segment over the loopback device. The segment usually arrives before the call returns, but the
/// kernel may leave the delivery to a thread.
const TRANSIT: Duration = Duration::from_millis(20);

/// A kind of stream. Both ends of the stream belong to this process.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StreamKind {
    /// A pipe, of the default capacity if none is given.
    Pipe(Option<u32>),
    Unix,
    Tcp,
}

/// A pipe of at least this capacity.
#[cfg(target_os = "linux")]
fn sized_pipe(bytes: u32) -> io::Result<Pair> {
    let pair = pipe()?;
    match rustix::pipe::fcntl_setpipe_size(&pair.0, bytes as usize) {
        Ok(_) => Ok(pair),
        Err(error) => Err(io::Error::other(format!(
            "cannot give a pipe {bytes} bytes: {error}; /proc/sys/fs/pipe-max-size has the most without privileges"
        ))),
    }
}

#[cfg(not(target_os = "linux"))]
fn sized_pipe(_bytes: u32) -> io::Result<Pair> {
    Err(io::Error::other(
        "only Linux changes the capacity of a pipe",
    ))
}

impl StreamKind {
    pub fn of(asked: &Conditions) -> Option<StreamKind> {
        match asked.target {
            Target::Pipe => Some(StreamKind::Pipe(asked.pipe_bytes)),
            Target::Unix => Some(StreamKind::Unix),
            Target::Tcp => Some(StreamKind::Tcp),
            _ => None,
        }
    }

    pub fn open(&self) -> io::Result<Pair> {
        match self {
            StreamKind::Pipe(None) => pipe(),
            StreamKind::Pipe(Some(bytes)) => sized_pipe(*bytes),
            StreamKind::Unix => unix_pair(),
            StreamKind::Tcp => tcp_pair(),
        }
    }

    #[cfg(unix)]
    pub fn open_non_blocking(&self) -> io::Result<Pair> {
        let (writer, reader) = self.open()?;
        for end in [&writer, &reader] {
            rustix::io::ioctl_fionbio(end, true)?;
        }
        Ok((writer, reader))
    }

    /// Never called, since Windows does not [empty streams between
    /// samples](vectored_machine::platform::descriptors::EMPTIES_BETWEEN_SAMPLES).
    #[cfg(windows)]
    pub fn open_non_blocking(&self) -> io::Result<Pair> {
        Err(vectored_machine::platform::lacks(
            "pipes that report a full pipe",
        ))
    }

    /// Whether bytes are in transit after a write. Bytes written to a pipe or a
    /// Unix socket can be read at once.
    pub fn has_transit(&self) -> bool {
        matches!(self, StreamKind::Tcp)
    }

    pub fn has_arrived(&self, reader: impl AsFd, bytes: u64) -> io::Result<bool> {
        let began = Instant::now();
        while self.has_transit() && plain_calls::ioctl_fionread(&reader)? < bytes {
            if began.elapsed() > TRANSIT {
                return Ok(false);
            }
            std::thread::yield_now();
        }
        Ok(true)
    }

    /// Waits until no bytes are in transit, and returns `true`; or until bytes can be read, and returns `false`. After
    /// `true`, bytes that have not arrived are lost.
    pub fn settle(&self, writer: impl AsFd, reader: impl AsFd) -> io::Result<bool> {
        let began = Instant::now();
        while self.has_transit() {
            // Without this, the last bytes are acknowledged up to 40 ms later.
            acknowledge_now(&reader)?;
            if unsent_bytes(&writer)? == 0 || began.elapsed() > PATIENCE {
                break;
            }
            if plain_calls::ioctl_fionread(&reader)? > 0 {
                return Ok(false);
            }
            std::thread::yield_now();
        }
        Ok(true)
    }
}
