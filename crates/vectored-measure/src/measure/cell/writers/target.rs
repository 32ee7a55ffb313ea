//! Targets of several writers, which are read back whole after each sample.

#[cfg(unix)]
use std::fs::File;
use std::io;
#[cfg(unix)]
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use vectored_machine::platform::fd::OwnedFd;
#[cfg(unix)]
use vectored_machine::platform::files::unnamed_file;
#[cfg(windows)]
use vectored_machine::platform::lacks;
#[cfg(unix)]
use vectored_machine::platform::plain_calls;
use vectored_results::model::CellSpec;
#[cfg(unix)]
use vectored_results::model::Target;

#[cfg(unix)]
use crate::measure::targets::foreign_socket::{ForeignSocketSink, explained};
use crate::measure::targets::reader_thread::ReaderThread;
#[cfg(unix)]
use crate::measure::targets::{FILE_SPAN_BYTES, sync_flags};
use crate::measure::targets::{Mismatch, StreamKind};

/// A target that one or more writers write to.
pub(crate) trait RecordTarget {
    /// The descriptor that writers write to.
    fn fd(&self) -> &Arc<OwnedFd>;

    /// Makes room for a batch of `bytes` bytes.
    fn begin(&mut self, bytes: u64) -> io::Result<()>;

    /// Appends what has arrived since [`RecordTarget::begin`] to `arrived`: on a stream `bytes` bytes, unless
    /// they are lost.
    fn take(&mut self, bytes: u64, arrived: &mut Vec<u8>) -> io::Result<()>;

    /// The error of a writer, with the remedy if the target knows one.
    fn explain(&self, error: io::Error) -> io::Error {
        error
    }
}

/// Opens the target of a cell: a file in the directory `place`, a connection to the program at `place`, or a stream,
/// whose reader thread is on `cpu` if it is `Some`.
pub(crate) fn open(
    spec: &CellSpec,
    place: &Path,
    cpu: Option<usize>,
) -> io::Result<Box<dyn RecordTarget>> {
    match StreamKind::of(&spec.conditions) {
        Some(stream) => Ok(Box::new(ReaderThread::start(stream, cpu)?)),
        None => open_place(spec, place),
    }
}

#[cfg(unix)]
fn open_place(spec: &CellSpec, place: &Path) -> io::Result<Box<dyn RecordTarget>> {
    match spec.conditions.target {
        Target::File => Ok(Box::new(RecordFile::create(place, spec)?)),
        target if target.has_peer() => {
            let socket = ForeignSocketSink::connect(place)?;
            Ok(Box::new(ForeignSocketSink::new(socket)))
        }
        _ => Err(io::Error::other("this kind of target has one writer only")),
    }
}

/// No handle on Windows appends as `O_APPEND` does.
#[cfg(windows)]
fn open_place(_spec: &CellSpec, _place: &Path) -> io::Result<Box<dyn RecordTarget>> {
    Err(lacks("files and connections that several writers share"))
}

/// A file that is appended to, and truncated when a batch would exceed [`FILE_SPAN_BYTES`].
#[cfg(unix)]
struct RecordFile {
    file: Arc<OwnedFd>,
    length_bytes: u64,
}

#[cfg(unix)]
impl RecordFile {
    /// An unnamed file in `directory` with `O_APPEND`.
    fn create(directory: &Path, spec: &CellSpec) -> io::Result<Self> {
        let flags = sync_flags(spec.conditions.sync) | plain_calls::OFlags::APPEND;
        Ok(RecordFile {
            file: Arc::new(unnamed_file(directory, flags)?),
            length_bytes: 0,
        })
    }
}

#[cfg(unix)]
impl RecordTarget for RecordFile {
    fn fd(&self) -> &Arc<OwnedFd> {
        &self.file
    }

    fn begin(&mut self, bytes: u64) -> io::Result<()> {
        if self.length_bytes > 0 && self.length_bytes + bytes > FILE_SPAN_BYTES {
            plain_calls::ftruncate(&self.file, 0)?;
            self.length_bytes = 0;
        }
        Ok(())
    }

    fn take(&mut self, _bytes: u64, arrived: &mut Vec<u8>) -> io::Result<()> {
        let file = File::from(self.file.try_clone()?);
        let length_bytes = file.metadata()?.len();
        let began = arrived.len();
        let count = length_bytes.saturating_sub(self.length_bytes);
        arrived.resize(began + usize::try_from(count).map_err(io::Error::other)?, 0);
        file.read_exact_at(&mut arrived[began..], self.length_bytes)?;
        self.length_bytes = length_bytes;
        Ok(())
    }
}

/// The bytes arrive at the other program.
#[cfg(unix)]
impl RecordTarget for ForeignSocketSink {
    fn fd(&self) -> &Arc<OwnedFd> {
        self.socket()
    }

    fn begin(&mut self, _bytes: u64) -> io::Result<()> {
        self.wait()
    }

    fn take(&mut self, _bytes: u64, _arrived: &mut Vec<u8>) -> io::Result<()> {
        self.wait()
    }

    fn explain(&self, error: io::Error) -> io::Error {
        explained(error)
    }
}

/// A stream with a thread that reads it while the writers write. It hands over the bytes.
impl RecordTarget for ReaderThread {
    fn fd(&self) -> &Arc<OwnedFd> {
        self.writer()
    }

    fn begin(&mut self, bytes: u64) -> io::Result<()> {
        ReaderThread::begin(self, bytes)
    }

    fn take(&mut self, bytes: u64, arrived: &mut Vec<u8>) -> io::Result<()> {
        let mut memory = std::mem::take(arrived);
        let append = move |batch: &[u8]| {
            memory.extend_from_slice(batch);
            Ok(memory)
        };
        *arrived = self
            .finish(bytes, Box::new(append))
            .map_err(|mismatch| match mismatch {
                Mismatch::Io(error) => error,
                Mismatch::Bytes(difference) => io::Error::other(difference),
                Mismatch::NotCold => io::Error::other("a stream has no page cache"),
            })?;
        Ok(())
    }
}
