//! The targets of the lists.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use vectored_measure::in_flight::Place;

/// The capacity of pipes and sockets: they hold a list without a reader at work.
const CAPACITY: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Null,
    File,
    Socket,
    Pipe,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Null, Kind::File, Kind::Socket, Kind::Pipe];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::File => "file",
            Kind::Socket => "socket",
            Kind::Pipe => "pipe",
        }
    }

    pub fn is_stream(self) -> bool {
        matches!(self, Kind::Socket | Kind::Pipe)
    }
}

pub struct Target {
    pub kind: Kind,
    pub fd: Arc<OwnedFd>,
    reader: Option<File>,
    drained: Vec<u8>,
}

impl Target {
    /// Opens a target. A file is removed from `directory` at once.
    pub fn open(kind: Kind, directory: &Path) -> io::Result<Target> {
        let (fd, reader): (OwnedFd, Option<OwnedFd>) = match kind {
            Kind::Null => (File::options().write(true).open("/dev/null")?.into(), None),
            Kind::File => {
                let path = directory.join(format!("vectored-bench-uring-{}", std::process::id()));
                let file = File::options().write(true).create_new(true).open(&path)?;
                fs::remove_file(&path)?;
                (file.into(), None)
            }
            Kind::Socket => {
                let (reader, writer) = UnixStream::pair()?;
                rustix::net::sockopt::set_socket_send_buffer_size_force(&writer, 4 * CAPACITY)?;
                (writer.into(), Some(reader.into()))
            }
            Kind::Pipe => {
                let (reader, writer) = io::pipe()?;
                rustix::pipe::fcntl_setpipe_size(&writer, CAPACITY)?;
                (writer.into(), Some(reader.into()))
            }
        };
        Ok(Target {
            kind,
            fd: Arc::new(fd),
            reader: reader.map(File::from),
            drained: Vec::new(),
        })
    }

    /// The number of lists of a sample: a stream holds one.
    pub fn lists(&self, depth: u32) -> u32 {
        if self.kind.is_stream() { 1 } else { 64.max(depth) }
    }

    /// The place of the first list.
    pub fn place(&self) -> Place {
        if self.kind.is_stream() { Place::Stream } else { Place::Offset(0) }
    }

    /// The number of places for this many lists, one after another. 0 stands for the position of the descriptor.
    pub fn places(&self, lists: u32) -> u32 {
        if self.kind.is_stream() { 0 } else { lists }
    }

    /// Reads what was written to a stream, and compares it.
    pub fn drain(&mut self, expected: &[u8]) -> io::Result<()> {
        let Some(reader) = &mut self.reader else {
            return Ok(());
        };
        self.drained.resize(expected.len(), 0);
        reader.read_exact(&mut self.drained)?;
        if self.drained == expected {
            Ok(())
        } else {
            Err(io::Error::other("other bytes arrived"))
        }
    }

    /// Compares the first bytes of a file with a list.
    pub fn compare(&self, expected: &[u8]) -> io::Result<()> {
        if self.kind != Kind::File {
            return Ok(());
        }
        let path = format!(
            "/proc/self/fd/{}",
            std::os::fd::AsRawFd::as_raw_fd(&self.fd.as_fd())
        );
        let mut found = vec![0; expected.len()];
        File::open(path)?.read_exact(&mut found)?;
        if found == expected {
            Ok(())
        } else {
            Err(io::Error::other("the file has other bytes"))
        }
    }
}
