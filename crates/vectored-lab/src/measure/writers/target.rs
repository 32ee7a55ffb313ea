//! Targets of several writers, which are read back whole after each sample.

#[cfg(unix)]
use std::fs::File;
use std::io::{self, Read};
#[cfg(unix)]
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::measure::targets::drain_thread::take_surplus;
#[cfg(unix)]
use crate::measure::targets::foreign_socket::{ForeignSocketSink, explained};
#[cfg(unix)]
use crate::measure::targets::{FILE_SPAN_BYTES, sync_flags, unnamed_file};
use crate::measure::targets::{StreamKind, stay_on};
use crate::model::CellSpec;
#[cfg(unix)]
use crate::model::Target;
use crate::platform::fd::{ByteStream, OwnedFd};
#[cfg(windows)]
use crate::platform::lacks;
use crate::platform::plain_calls;

/// Time without any arriving byte after which bytes count as lost.
const PATIENCE: Duration = Duration::from_secs(2);

/// Time after a batch in which a writer that has not returned may be blocked with more bytes than it was to write.
const SUSPICION: Duration = Duration::from_millis(100);

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
    match StreamKind::of(spec.conditions.target, None) {
        Some(stream) => Ok(Box::new(RecordStream::start(stream, cpu)?)),
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

/// A stream with a thread that reads it while the writers write.
struct RecordStream {
    stream: StreamKind,
    writer: Option<Arc<OwnedFd>>,
    /// A duplicate of the reading end, to query the bytes left in it.
    residue: OwnedFd,
    orders: Option<Sender<Order>>,
    reports: Receiver<io::Result<Report>>,
    arrived_bytes: Arc<AtomicU64>,
    /// Memory for the next batch.
    spare: Vec<u8>,
    thread: Option<JoinHandle<()>>,
}

/// An order to the reader thread.
enum Order {
    /// Read as many bytes into this memory.
    Read(u64, Vec<u8>),
    /// Hand them over: all writers have returned.
    HandOver,
}

/// The answer to [`Order::HandOver`].
struct Report {
    batch: Vec<u8>,
    /// Bytes that were read after the batch.
    surplus_bytes: u64,
}

impl RecordStream {
    fn start(stream: StreamKind, cpu: Option<usize>) -> io::Result<Self> {
        let (writer, reader) = stream.open()?;
        let residue = reader.try_clone()?;
        let (orders, incoming) = channel();
        let (outgoing, reports) = channel();
        let arrived_bytes = Arc::new(AtomicU64::new(0));
        let arrived = Arc::clone(&arrived_bytes);
        let thread = std::thread::Builder::new()
            .name("reader".to_owned())
            .spawn(move || {
                stay_on(cpu);
                collect(&reader.into(), &incoming, &outgoing, &arrived);
            })?;
        Ok(RecordStream {
            stream,
            writer: Some(Arc::new(writer)),
            residue,
            orders: Some(orders),
            reports,
            arrived_bytes,
            spare: Vec::new(),
            thread: Some(thread),
        })
    }

    fn order(&self, order: Order) -> io::Result<()> {
        let orders = self.orders.as_ref().expect("open until dropped");
        orders.send(order).map_err(|_| thread_ended())
    }
}

impl RecordTarget for RecordStream {
    fn fd(&self) -> &Arc<OwnedFd> {
        self.writer.as_ref().expect("open until dropped")
    }

    fn begin(&mut self, bytes: u64) -> io::Result<()> {
        self.arrived_bytes.store(0, Ordering::Relaxed);
        let memory = std::mem::take(&mut self.spare);
        self.order(Order::Read(bytes, memory))
    }

    fn take(&mut self, bytes: u64, arrived: &mut Vec<u8>) -> io::Result<()> {
        self.order(Order::HandOver)?;
        let Report {
            batch,
            surplus_bytes,
        } = loop {
            let before = self.arrived_bytes.load(Ordering::Relaxed);
            match self.reports.recv_timeout(PATIENCE) {
                Ok(report) => break report?,
                Err(RecvTimeoutError::Timeout) => {
                    let count = self.arrived_bytes.load(Ordering::Relaxed);
                    let is_stuck = count == before && count < bytes;
                    if is_stuck && plain_calls::ioctl_fionread(&self.residue)? == 0 {
                        return Err(wrong_count(count, bytes));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(thread_ended()),
            }
        };
        self.stream.settle(&**self.fd(), &self.residue)?;
        let surplus_bytes = surplus_bytes + plain_calls::ioctl_fionread(&self.residue)?;
        if surplus_bytes > 0 {
            return Err(wrong_count(bytes + surplus_bytes, bytes));
        }
        arrived.extend_from_slice(&batch);
        self.spare = batch;
        Ok(())
    }
}

impl Drop for RecordStream {
    fn drop(&mut self) {
        // The writers are gone, so closing this descriptor ends a blocked read; closing the channel ends the
        // thread.
        self.writer = None;
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the reader has been reported as a missing answer.
            let _ = thread.join();
        }
    }
}

/// Runs the reader thread: reads each batch to its end, and then what a writer may still be blocked with.
fn collect(
    stream: &ByteStream,
    orders: &Receiver<Order>,
    reports: &Sender<io::Result<Report>>,
    arrived_bytes: &AtomicU64,
) {
    let mut outcome = Ok(Vec::new());
    let mut surplus_bytes = 0;
    let mut is_read = false;
    loop {
        match orders.recv_timeout(SUSPICION) {
            Ok(Order::Read(bytes, memory)) => {
                outcome = fill(stream, bytes, memory, arrived_bytes);
                (surplus_bytes, is_read) = (0, true);
            }
            Ok(Order::HandOver) => {
                let batch = std::mem::replace(&mut outcome, Ok(Vec::new()));
                let report = batch.map(|batch| Report {
                    batch,
                    surplus_bytes,
                });
                is_read = false;
                if reports.send(report).is_err() {
                    return;
                }
            }
            // The batch has arrived, but its writers have not all returned.
            Err(RecvTimeoutError::Timeout) if is_read => match take_surplus(stream) {
                Ok(bytes) => surplus_bytes += bytes,
                Err(error) => outcome = Err(error),
            },
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Reads `bytes` bytes.
fn fill(
    mut stream: &ByteStream,
    bytes: u64,
    mut memory: Vec<u8>,
    arrived_bytes: &AtomicU64,
) -> io::Result<Vec<u8>> {
    let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
    memory.resize(bytes, 0);
    let mut filled = 0;
    while filled < bytes {
        match stream.read(&mut memory[filled..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                filled += count;
                arrived_bytes.store(filled as u64, Ordering::Relaxed);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(memory)
}

fn wrong_count(arrived_bytes: u64, bytes: u64) -> io::Error {
    io::Error::other(format!(
        "{arrived_bytes} bytes arrived, but {bytes} were sent"
    ))
}

fn thread_ended() -> io::Error {
    io::Error::other("the reader thread ended unexpectedly")
}
