//! A target that takes the bytes of one turn without blocking.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use vectored::cost::TargetKind;

/// A file is emptied before it would exceed this.
const MAX_FILE_BYTES: u64 = 8 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Unix,
    Tcp,
    Pipe,
    Tmpfs,
    Disk,
}

impl Kind {
    pub const ALL: [Kind; 5] = [Kind::Unix, Kind::Tcp, Kind::Pipe, Kind::Tmpfs, Kind::Disk];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Unix => "unix",
            Kind::Tcp => "tcp",
            Kind::Pipe => "pipe",
            Kind::Tmpfs => "tmpfs",
            Kind::Disk => "disk",
        }
    }

    pub fn directory(self, disk: &Path) -> &Path {
        match self {
            Kind::Disk => disk,
            _ => Path::new("/dev/shm"),
        }
    }

    pub fn target_kind(self) -> TargetKind {
        match self {
            Kind::Unix => TargetKind::Unix,
            Kind::Tcp => TargetKind::Tcp,
            Kind::Pipe => TargetKind::Pipe,
            Kind::Tmpfs | Kind::Disk => TargetKind::File,
        }
    }
}

/// An open target. The other end of a stream is read between the timed calls, by the same thread.
pub struct Channel {
    kind: Kind,
    disk: PathBuf,
    writer: OwnedFd,
    reader: Option<File>,
    file_bytes: u64,
    buffer: Vec<u8>,
}

impl Channel {
    pub fn open(kind: Kind, disk: &Path) -> io::Result<Channel> {
        let (writer, reader): (OwnedFd, Option<OwnedFd>) = match kind {
            Kind::Unix => {
                let (writer, reader) = UnixStream::pair()?;
                (writer.into(), Some(reader.into()))
            }
            Kind::Tcp => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                let writer = TcpStream::connect(listener.local_addr()?)?;
                let (reader, _) = listener.accept()?;
                writer.set_nodelay(true)?;
                (writer.into(), Some(reader.into()))
            }
            Kind::Pipe => {
                let (reader, writer) = io::pipe()?;
                (writer.into(), Some(reader.into()))
            }
            Kind::Tmpfs | Kind::Disk => {
                let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::TMPFILE;
                let directory = kind.directory(disk);
                (rustix::fs::open(directory, flags, Mode::RUSR)?, None)
            }
        };
        if reader.is_some() {
            rustix::io::ioctl_fionbio(&writer, true)?;
        }
        Ok(Channel {
            kind,
            disk: disk.to_owned(),
            writer,
            reader: reader.map(File::from),
            file_bytes: 0,
            buffer: vec![0; 256 << 10],
        })
    }

    /// An empty target of the same kind.
    pub fn reopened(&self) -> io::Result<Channel> {
        Channel::open(self.kind, &self.disk)
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.writer.as_fd()
    }

    /// Takes the bytes that a turn wrote and returns them.
    pub fn drain(&mut self, bytes: usize) -> io::Result<&[u8]> {
        if self.buffer.len() < bytes {
            self.buffer.resize(bytes, 0);
        }
        let taken = &mut self.buffer[..bytes];
        if let Some(reader) = &mut self.reader {
            reader.read_exact(taken)?;
            return Ok(taken);
        }
        self.file_bytes += bytes as u64;
        if self.file_bytes > MAX_FILE_BYTES {
            rustix::fs::ftruncate(&self.writer, 0)?;
            File::from(self.writer.try_clone()?).rewind()?;
            self.file_bytes = 0;
        }
        Ok(&[])
    }
}
