//! Real targets: what receives the bytes of a sample, empties itself between
//! samples, and checks every byte that it can.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

use fastrand::Rng;
use rustix::fs::{Mode, OFlags, StatVfsMountFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::pipe::PipeFlags;

use super::sampler::MeasureError;
use crate::model::DirectoryInfo;

/// A file is appended to up to this size, then truncated.
pub const FILE_SPAN_BYTES: u64 = 32 << 20;

/// What is kept free beside the bytes that a run writes.
const SPARE_BYTES: u64 = 16 << 20;

/// Fills every buffer before something is read back into it, so that bytes
/// that are left from before cannot pass for bytes that arrived.
pub(super) const POISON: u8 = 0xa5;

/// Pages that a round may hold back: as many as a pipe usually has.
const MOST_BALLAST: usize = 16;

/// What receives the bytes of samples.
///
/// # Implementer notes
///
/// `begin` and `finish` enclose a batch of calls. Neither is timed.
pub trait Sink {
    /// The descriptor that techniques write to.
    fn fd(&self) -> BorrowedFd<'_>;

    /// Makes room for a batch.
    ///
    /// # Errors
    ///
    /// What the kernel said.
    fn begin(&mut self, batch: Batch) -> io::Result<()>;

    /// Takes the batch out again and compares what can be compared: exactly
    /// the bytes of the batch must have arrived, which are `image`, repeated
    /// where it has those of fewer calls. With `proof`, or where
    /// the bytes have to be read anyway, every byte is compared.
    ///
    /// # Errors
    ///
    /// What the kernel said, or how the bytes differ.
    fn finish(&mut self, batch: Batch, image: &[u8], proof: bool) -> Result<(), Mismatch>;

    /// Throws away whatever has arrived, complete or not.
    ///
    /// # Errors
    ///
    /// What the kernel said.
    fn discard(&mut self) -> io::Result<()>;

    /// Begins a round on other memory of the kernel, where that is possible.
    ///
    /// # Errors
    ///
    /// What the kernel said.
    fn lay_out(&mut self, _rng: &mut Rng) -> io::Result<()> {
        Ok(())
    }

    /// Whether `finish(.., proof)` compares every byte: not for `/dev/null`.
    fn can_prove(&self) -> bool {
        true
    }
}

/// Some calls of one technique.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// How many calls.
    pub calls: u32,
    /// Bytes of each.
    pub call_bytes: u64,
}

impl Batch {
    /// Bytes of all calls.
    pub fn bytes(self) -> u64 {
        u64::from(self.calls) * self.call_bytes
    }
}

/// Why a batch was not accepted.
#[derive(Debug)]
pub enum Mismatch {
    /// The kernel refused.
    Io(io::Error),
    /// Other bytes arrived than were sent.
    Bytes(String),
    /// The bytes were in the page cache, and should not have been.
    NotCold,
}

impl Mismatch {
    pub(super) fn wrong_count(arrived_bytes: u64, batch: Batch) -> Self {
        Mismatch::Bytes(format!(
            "{arrived_bytes} bytes arrived of {} that were sent",
            batch.bytes()
        ))
    }
}

impl Mismatch {
    /// Of a batch that was to be read.
    pub(super) fn wrong_taking(taken_bytes: u64, batch: Batch) -> Self {
        Mismatch::Bytes(format!(
            "{taken_bytes} bytes were taken of {} that were sent",
            batch.bytes()
        ))
    }
}

impl From<io::Error> for Mismatch {
    fn from(error: io::Error) -> Self {
        Mismatch::Io(error)
    }
}

impl From<Errno> for Mismatch {
    fn from(error: Errno) -> Self {
        Mismatch::Io(error.into())
    }
}

/// Compares a stream of bytes, as it comes in pieces, with an image that is
/// repeated.
pub(super) struct Comparison<'a> {
    image: &'a [u8],
    batch: Batch,
    arrived_bytes: u64,
}

impl<'a> Comparison<'a> {
    pub fn new(image: &'a [u8], batch: Batch) -> Self {
        Comparison {
            image,
            batch,
            arrived_bytes: 0,
        }
    }

    /// Compares the next piece.
    pub fn take(&mut self, mut piece: &[u8]) -> Result<(), Mismatch> {
        while !piece.is_empty() {
            if self.arrived_bytes == self.batch.bytes() {
                let with_surplus = self.arrived_bytes + piece.len() as u64;
                return Err(Mismatch::wrong_count(with_surplus, self.batch));
            }
            let at = (self.arrived_bytes % self.image.len() as u64) as usize;
            let length = piece.len().min(self.image.len() - at);
            let (head, rest) = piece.split_at(length);
            if head != &self.image[at..at + length] {
                let within = std::iter::zip(head, &self.image[at..])
                    .take_while(|(got, sent)| got == sent)
                    .count();
                let position = self.arrived_bytes + within as u64;
                let call_bytes = self.batch.call_bytes;
                return Err(Mismatch::Bytes(format!(
                    "byte {} of {call_bytes} differs in call {}",
                    position % call_bytes,
                    position / call_bytes
                )));
            }
            self.arrived_bytes += length as u64;
            piece = rest;
        }
        Ok(())
    }

    /// Ends the comparison: nothing more has arrived.
    pub fn end(self) -> Result<(), Mismatch> {
        if self.arrived_bytes == self.batch.bytes() {
            Ok(())
        } else {
            Err(Mismatch::wrong_count(self.arrived_bytes, self.batch))
        }
    }
}

/// A file that is appended to and truncated when it is full.
pub struct FileSink {
    file: File,
    length_bytes: u64,
    read_back: Vec<u8>,
}

impl FileSink {
    /// An unnamed file in `directory`, readable by its owner only, gone when
    /// the process ends however it ends.
    pub fn create(directory: &Path) -> io::Result<Self> {
        Ok(FileSink {
            file: unnamed_file(directory)?.into(),
            length_bytes: 0,
            read_back: vec![POISON; 1 << 16],
        })
    }
}

impl Sink for FileSink {
    fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn begin(&mut self, batch: Batch) -> io::Result<()> {
        if self.length_bytes > 0 && self.length_bytes + batch.bytes() > FILE_SPAN_BYTES {
            self.discard()?;
        }
        Ok(())
    }

    fn finish(&mut self, batch: Batch, image: &[u8], proof: bool) -> Result<(), Mismatch> {
        let began = self.length_bytes;
        self.length_bytes = self.file.metadata()?.len();
        if self.length_bytes != began + batch.bytes() {
            let arrived = self.length_bytes.saturating_sub(began);
            return Err(Mismatch::wrong_count(arrived, batch));
        }
        if !proof {
            return Ok(());
        }
        let mut comparison = Comparison::new(image, batch);
        let mut at = began;
        loop {
            self.read_back.fill(POISON);
            let count = self.file.read_at(&mut self.read_back, at)?;
            if count == 0 {
                return comparison.end();
            }
            comparison.take(&self.read_back[..count])?;
            at += count as u64;
        }
    }

    fn discard(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.length_bytes = 0;
        Ok(())
    }
}

/// Makes the writing and the reading end of a stream.
pub type MakePair = fn() -> io::Result<(OwnedFd, OwnedFd)>;

/// Both ends of a stream, non-blocking, emptied by the thread that fills it.
pub struct StreamSink {
    make_pair: MakePair,
    writer: OwnedFd,
    reader: File,
    buffer: Vec<u8>,
    ballast: Ballast,
}

impl StreamSink {
    /// Opens a stream, non-blocking: a sample that does not fit must fail,
    /// since nobody else would empty the stream.
    pub fn open(make_pair: MakePair) -> io::Result<Self> {
        let (writer, reader) = non_blocking(make_pair)?;
        Ok(StreamSink {
            make_pair,
            writer,
            reader: reader.into(),
            buffer: vec![POISON; 1 << 16],
            ballast: Ballast::default(),
        })
    }

    fn drain(
        &mut self,
        mut take: impl FnMut(&[u8]) -> Result<(), Mismatch>,
    ) -> Result<(), Mismatch> {
        loop {
            match self.reader.read(&mut self.buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => take(&self.buffer[..count])?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Sink for StreamSink {
    fn fd(&self) -> BorrowedFd<'_> {
        self.writer.as_fd()
    }

    fn begin(&mut self, _batch: Batch) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, batch: Batch, image: &[u8], _proof: bool) -> Result<(), Mismatch> {
        let mut comparison = Comparison::new(image, batch);
        self.drain(|piece| comparison.take(piece))?;
        comparison.end()
    }

    fn discard(&mut self) -> io::Result<()> {
        match self.drain(|_| Ok(())) {
            Err(Mismatch::Io(error)) => Err(error),
            _ => Ok(()),
        }
    }

    fn lay_out(&mut self, rng: &mut Rng) -> io::Result<()> {
        self.ballast.change(rng)?;
        let (writer, reader) = non_blocking(self.make_pair)?;
        self.writer = writer;
        self.reader = reader.into();
        Ok(())
    }
}

/// Holds pages of the kernel for a round, so that a stream gets others.
///
/// The kernel hands out again what was freed last, so every sample of a cell
/// would find the same few pages in the same order, and a technique that
/// happens to get the better ones would seem faster.
#[derive(Debug, Default)]
pub(super) struct Ballast(Option<(OwnedFd, OwnedFd)>);

impl Ballast {
    /// Holds another number of pages.
    pub fn change(&mut self, rng: &mut Rng) -> io::Result<()> {
        self.0 = None;
        let (writer, reader) = non_blocking(pipe)?;
        for _ in 0..rng.usize(..MOST_BALLAST) {
            match rustix::io::write(&writer, &[POISON; 4096]) {
                Ok(_) => {}
                // A user with many pipes gets small ones: then that is all.
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        self.0 = Some((writer, reader));
        Ok(())
    }
}

/// Both ends of a new stream, neither of which waits.
pub(super) fn non_blocking(make_pair: MakePair) -> io::Result<(OwnedFd, OwnedFd)> {
    let (writer, reader) = make_pair()?;
    for end in [&writer, &reader] {
        rustix::io::ioctl_fionbio(end, true)?;
    }
    Ok((writer, reader))
}

/// `/dev/null`: nothing arrives, so nothing can be compared.
pub struct NullSink {
    file: File,
}

impl NullSink {
    /// Opens `/dev/null`.
    pub fn open() -> io::Result<Self> {
        Ok(NullSink {
            file: File::options().write(true).open("/dev/null")?,
        })
    }
}

impl Sink for NullSink {
    fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn begin(&mut self, _batch: Batch) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, _batch: Batch, _image: &[u8], _proof: bool) -> Result<(), Mismatch> {
        Ok(())
    }

    fn discard(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn can_prove(&self) -> bool {
        false
    }
}

/// A new pipe of the default capacity: its writing and its reading end.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    Ok((writer, reader))
}

/// A new pair of connected Unix stream sockets.
pub fn unix_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?)
}

/// Whether temporary files can be made in `directory`, and what it is.
///
/// # Errors
///
/// [`MeasureError::Io`] when no file can be made there, saying why and what to
/// do; [`MeasureError::NoSpace`] when samples whose calls move up to
/// `call_bytes` would not fit.
pub fn check_directory(directory: &Path, call_bytes: u64) -> Result<DirectoryInfo, MeasureError> {
    let shown = directory.display();
    let open = |error: io::Error| {
        let remedy = match error.kind() {
            io::ErrorKind::NotFound if !directory.exists() => {
                "it does not exist; name an existing directory with --dir"
            }
            io::ErrorKind::NotADirectory => "it is not a directory; name a directory with --dir",
            io::ErrorKind::ReadOnlyFilesystem => {
                "it is on a read-only mount; name a writable directory with --dir"
            }
            io::ErrorKind::PermissionDenied => {
                "no permission to make files there; name a writable directory with --dir"
            }
            _ => "no temporary file can be made there; name another directory with --dir",
        };
        MeasureError::Io {
            what: format!("cannot use the directory '{shown}': {remedy}"),
            source: error,
        }
    };
    let file = unnamed_file(directory).map_err(open)?;
    let mount = rustix::fs::fstatvfs(&file).map_err(|error| open(error.into()))?;
    if mount.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err(open(io::ErrorKind::ReadOnlyFilesystem.into()));
    }
    let free_bytes = mount.f_bavail.saturating_mul(mount.f_frsize);
    // A sample of several calls ends near the span; a single call, with the
    // untimed one and a proof before it, may pass it.
    let needed_bytes = FILE_SPAN_BYTES.max(3 * call_bytes) + SPARE_BYTES;
    // A file system without blocks (ramfs, tmpfs without a limit) has no size
    // to be exceeded.
    let is_limited = mount.f_blocks > 0;
    if is_limited && free_bytes < needed_bytes {
        return Err(MeasureError::NoSpace {
            directory: shown.to_string(),
            free_bytes,
            needed_bytes,
        });
    }
    let stat = rustix::fs::fstat(&file).map_err(|error| open(error.into()))?;
    let path = directory
        .canonicalize()
        .unwrap_or_else(|_| directory.to_owned());
    Ok(super::environment::describe_directory(
        &path, free_bytes, &stat,
    ))
}

/// `O_TMPFILE` (Linux 3.11) where the file system has it; elsewhere a file
/// with a random name that is removed at once.
pub(crate) fn unnamed_file(directory: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CLOEXEC | OFlags::EXCL;
    let mode = Mode::RUSR | Mode::WUSR;
    match rustix::fs::open(directory, flags | OFlags::TMPFILE, mode) {
        // EISDIR and EINVAL: a kernel that does not know the flag at all.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {}
        outcome => return Ok(outcome?),
    }
    loop {
        let name = directory.join(format!(".vectored-{:016x}", fastrand::u64(..)));
        match rustix::fs::open(&name, flags | OFlags::CREATE, mode) {
            Err(Errno::EXIST) => {}
            outcome => {
                let file = outcome?;
                rustix::fs::unlink(&name)?;
                return Ok(file);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BATCH: Batch = Batch {
        calls: 2,
        call_bytes: 4,
    };

    fn compare(pieces: &[&[u8]]) -> Result<(), String> {
        let mut comparison = Comparison::new(b"abcd", BATCH);
        pieces
            .iter()
            .try_for_each(|piece| comparison.take(piece))
            .and_then(|()| comparison.end())
            .map_err(|mismatch| match mismatch {
                Mismatch::Bytes(text) => text,
                other => format!("{other:?}"),
            })
    }

    #[test]
    fn equal_bytes_in_any_pieces_pass() {
        assert_eq!(compare(&[b"abcdabcd"]), Ok(()));
        assert_eq!(compare(&[b"a", b"bcdab", b"", b"cd"]), Ok(()));
    }

    #[test]
    fn missing_surplus_and_other_bytes_are_told() {
        let missing = "7 bytes arrived of 8 that were sent";
        assert_eq!(compare(&[b"abcdabc"]), Err(missing.to_owned()));
        let surplus = "9 bytes arrived of 8 that were sent";
        assert_eq!(compare(&[b"abcdabcd", b"a"]), Err(surplus.to_owned()));
        let swapped = "byte 1 of 4 differs in call 1";
        assert_eq!(compare(&[b"abcdacbd"]), Err(swapped.to_owned()));
    }

    #[test]
    fn a_file_is_unnamed_and_private() {
        use std::os::unix::fs::MetadataExt;
        let directory = std::env::temp_dir();
        let sink = FileSink::create(&directory).unwrap();
        let metadata = sink.file.metadata().unwrap();
        assert_eq!(metadata.nlink(), 0);
        assert_eq!(metadata.mode() & 0o7777, 0o600);
    }
}
