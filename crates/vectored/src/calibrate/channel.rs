//! What calibration writes to, and the time that a batch of calls takes there.

use std::io::{self, IoSlice, Read};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, SeekFrom};
use rustix::io::Errno;

use crate::cost::TargetKind;
use crate::cost::page_alignment::PAGE_BYTES;
use crate::error::TransferError;
use crate::write::all::write_all_vectored;

/// What [`CostModel::calibrate`](crate::CostModel::calibrate) writes to: something of its own, that is gone afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CalibrationTarget<'a> {
    /// An unnamed file in this directory, of 8 MiB at most, that is appended to, as logs are.
    File(&'a Path),
    /// The same of 16 MiB, written over what it holds already, as page stores are.
    ///
    /// To grow a file costs more for each segment than to overwrite it: on ext4 copying two segments
    /// pays up to some 4 KB where they are appended, and up to some 300 B where they overwrite what is
    /// in the page cache.
    FileOverwrite(&'a Path),
    /// A pipe.
    Pipe,
    /// A pair of connected Unix stream sockets.
    UnixSocket,
    /// A TCP connection over the loopback interface, with `TCP_NODELAY`.
    TcpSocket,
    /// `/dev/null`, for which no byte is moved: what calls and lists cost by themselves. There a few
    /// bytes copied are too many.
    Null,
}

impl CalibrationTarget<'_> {
    /// The kind of target that it stands for.
    #[must_use]
    pub fn kind(self) -> TargetKind {
        match self {
            CalibrationTarget::File(_) | CalibrationTarget::FileOverwrite(_) => TargetKind::File,
            CalibrationTarget::Pipe => TargetKind::Pipe,
            CalibrationTarget::UnixSocket | CalibrationTarget::TcpSocket => TargetKind::Socket,
            CalibrationTarget::Null => TargetKind::Other,
        }
    }
}

/// No list is longer.
pub(super) const MAX_BYTES: usize = 1 << 20;

/// A file is truncated when it has grown to this.
pub(super) const FILE_BYTES: u64 = 7 << 20;

/// What of a file is written again and again: more than the CPU's caches hold near by, as with most
/// files. (A long piece is copied to far memory at less a byte than a short one, so within the caches
/// the border of 64 segments lay at a third of what it is.)
pub(super) const OVERWRITTEN_BYTES: u64 = 16 << 20;

/// What a timed batch should last: the clock, some 50 ns, must not matter.
pub(super) const BATCH: Duration = Duration::from_micros(6);

/// No batch has more calls: a socket's buffer counts a small write as several hundred bytes.
pub(super) const MAX_CALLS: u32 = 16;

/// What a stream is trusted to take at once.
pub(super) const STREAM_BYTES: u64 = 48 << 10;

/// What lies between two segments, in bytes.
pub(super) const GAP: usize = 48;

/// Where the bytes go.
pub(super) struct Channel {
    writer: OwnedFd,
    /// The other end, of a stream.
    pub(super) reader: Option<std::fs::File>,
    /// Of a file: where the next call writes to, and what it may not exceed.
    position: u64,
    end: u64,
    overwrites: bool,
    /// Whether each batch begins where a page of the file does.
    pub(super) begins_pages: bool,
    buffer: Vec<u8>,
}

impl Channel {
    pub(super) fn open(target: CalibrationTarget<'_>) -> io::Result<Channel> {
        let (writer, reader): (OwnedFd, Option<OwnedFd>) = match target {
            CalibrationTarget::File(directory) | CalibrationTarget::FileOverwrite(directory) => {
                (unnamed_file(directory)?, None)
            }
            CalibrationTarget::Pipe => {
                let (reader, writer) = io::pipe()?;
                (writer.into(), Some(reader.into()))
            }
            CalibrationTarget::UnixSocket => {
                let (writer, reader) = UnixStream::pair()?;
                (writer.into(), Some(reader.into()))
            }
            CalibrationTarget::TcpSocket => {
                let (writer, reader) = tcp_pair()?;
                (writer.into(), Some(reader.into()))
            }
            CalibrationTarget::Null => {
                let flags = OFlags::WRONLY | OFlags::CLOEXEC;
                (rustix::fs::open("/dev/null", flags, Mode::empty())?, None)
            }
        };
        if reader.is_some() {
            // A pipe can be as small as a page, and then there is nobody who would empty it.
            rustix::io::ioctl_fionbio(&writer, true)?;
        }
        Ok(Channel {
            writer,
            reader: reader.map(std::fs::File::from),
            position: 0,
            end: match target {
                CalibrationTarget::Null => u64::MAX,
                _ => FILE_BYTES,
            },
            overwrites: false,
            begins_pages: false,
            buffer: vec![0; STREAM_BYTES as usize],
        })
    }

    /// What so many calls took that write so many bytes each; nothing if the target could not take
    /// them.
    pub(super) fn time(
        &mut self,
        calls: u32,
        bytes: u64,
        mut call: impl FnMut(BorrowedFd<'_>) -> Result<u64, TransferError>,
    ) -> io::Result<Option<Duration>> {
        self.make_room(u64::from(calls) * bytes)?;
        let fd = self.writer.as_fd();
        let mut went = 0;
        let mut failed = None;
        let began = Instant::now();
        for _ in 0..calls {
            match call(fd) {
                Ok(written) => went += written,
                Err(error) => {
                    went += error.transferred();
                    failed = Some(error);
                    break;
                }
            }
        }
        let elapsed = began.elapsed();
        self.take(went)?;
        match failed {
            None => Ok(Some(elapsed)),
            Some(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Some(error) => Err(error.into()),
        }
    }

    pub(super) fn make_room(&mut self, bytes: u64) -> io::Result<()> {
        if self.reader.is_some() {
            return Ok(());
        }
        let mut position = self.position;
        if self.begins_pages {
            // A file that grows gets a hole there, of less than a page.
            position = position.next_multiple_of(PAGE_BYTES);
        }
        if position + bytes > self.end {
            if !self.overwrites {
                rustix::fs::ftruncate(&self.writer, 0)?;
            }
            position = 0;
        }
        if position != self.position {
            rustix::fs::seek(&self.writer, SeekFrom::Start(position))?;
            self.position = position;
        }
        Ok(())
    }

    /// From now on a file is written over what it holds, again and again.
    pub(super) fn overwrite(&mut self) -> io::Result<()> {
        let piece = vec![0x5a; MAX_BYTES];
        for _ in 0..OVERWRITTEN_BYTES / MAX_BYTES as u64 {
            write_all_vectored(&self.writer, &[IoSlice::new(&piece)])?;
        }
        (self.position, self.end) = (OVERWRITTEN_BYTES, OVERWRITTEN_BYTES);
        self.overwrites = true;
        Ok(())
    }

    /// Takes out again what was written.
    pub(super) fn take(&mut self, bytes: u64) -> io::Result<()> {
        let Some(reader) = &mut self.reader else {
            self.position += bytes;
            return Ok(());
        };
        let mut left = bytes;
        while left > 0 {
            let wanted = left.min(self.buffer.len() as u64) as usize;
            reader.read_exact(&mut self.buffer[..wanted])?;
            left -= wanted as u64;
        }
        Ok(())
    }
}

/// Both ends of a TCP connection: the writing and the reading one.
fn tcp_pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let writer = TcpStream::connect(listener.local_addr()?)?;
    loop {
        let (reader, from) = listener.accept()?;
        // Anybody on this machine may connect; only our own end is wanted.
        if from == writer.local_addr()? {
            writer.set_nodelay(true)?;
            reader.set_read_timeout(Some(Duration::from_secs(5)))?;
            return Ok((writer, reader));
        }
    }
}

/// `O_TMPFILE` (Linux 3.11) where the file system has it; elsewhere a file with a random name that is
/// removed at once.
fn unnamed_file(directory: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::EXCL;
    let mode = Mode::RUSR | Mode::WUSR;
    #[cfg(target_os = "linux")]
    match rustix::fs::open(directory, flags | OFlags::TMPFILE, mode) {
        // EISDIR and EINVAL: a kernel that does not know the flag at all.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {}
        outcome => return Ok(outcome?),
    }
    for attempt in 0_u64.. {
        let name = format!(".vectored-calibration-{}-{attempt}", std::process::id());
        let path = directory.join(name);
        match rustix::fs::open(&path, flags | OFlags::CREATE, mode) {
            Err(Errno::EXIST) => {}
            outcome => {
                let file = outcome?;
                rustix::fs::unlink(&path)?;
                return Ok(file);
            }
        }
    }
    unreachable!("some name of 2^64 is free")
}
