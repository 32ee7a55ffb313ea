//! Targets of several writers, which are read back whole after each sample.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::fs::OFlags;

use crate::measure::targets::drain_thread::take_surplus;
use crate::measure::targets::{FILE_SPAN_BYTES, StreamKind, stay_on, sync_flags, unnamed_file};
use crate::model::SyncMode;

/// Time without any arriving byte after which bytes count as lost.
const PATIENCE: Duration = Duration::from_secs(2);

/// Time after a batch in which a writer that has not returned may be blocked with more bytes than it was to write.
const SUSPICION: Duration = Duration::from_millis(100);

/// A target that one or more writers write to.
pub(crate) enum RecordTarget {
    File(RecordFile),
    Stream(RecordStream),
}

impl RecordTarget {
    /// An unnamed file in `directory` with `O_APPEND`.
    pub fn file(directory: &Path, sync: SyncMode) -> io::Result<Self> {
        let file = unnamed_file(directory, sync_flags(sync) | OFlags::APPEND)?;
        Ok(RecordTarget::File(RecordFile {
            file: Arc::new(file),
            sync,
            length_bytes: 0,
        }))
    }

    /// A stream with a reader thread, on `cpu` if it is `Some`.
    pub fn stream(stream: StreamKind, cpu: Option<usize>) -> io::Result<Self> {
        Ok(RecordTarget::Stream(RecordStream::start(stream, cpu)?))
    }

    /// The descriptor that writers write to.
    pub fn fd(&self) -> &Arc<OwnedFd> {
        match self {
            RecordTarget::File(target) => &target.file,
            RecordTarget::Stream(target) => target.writer.as_ref().expect("open until dropped"),
        }
    }

    /// A descriptor of a writer in another process: of a file, an open file description of its own.
    pub fn another_fd(&self) -> io::Result<OwnedFd> {
        match self {
            RecordTarget::File(target) => {
                let path = format!("/proc/self/fd/{}", target.file.as_raw_fd());
                let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC;
                let flags = flags | sync_flags(target.sync);
                Ok(rustix::fs::open(path, flags, rustix::fs::Mode::empty())?)
            }
            RecordTarget::Stream(_) => self.fd().try_clone(),
        }
    }

    /// Makes room for a batch of `bytes` bytes.
    pub fn begin(&mut self, bytes: u64) -> io::Result<()> {
        match self {
            RecordTarget::File(target) => {
                if target.length_bytes > 0 && target.length_bytes + bytes > FILE_SPAN_BYTES {
                    rustix::fs::ftruncate(&target.file, 0)?;
                    target.length_bytes = 0;
                }
                Ok(())
            }
            RecordTarget::Stream(target) => target.begin(bytes),
        }
    }

    /// Appends what has arrived since [`RecordTarget::begin`] to `arrived`: on a stream `bytes` bytes, unless
    /// they are lost.
    pub fn take(&mut self, bytes: u64, arrived: &mut Vec<u8>) -> io::Result<()> {
        match self {
            RecordTarget::File(target) => target.take(arrived),
            RecordTarget::Stream(target) => target.take(bytes, arrived),
        }
    }
}

/// A file that is appended to, and truncated when a batch would exceed [`FILE_SPAN_BYTES`].
pub(crate) struct RecordFile {
    file: Arc<OwnedFd>,
    sync: SyncMode,
    length_bytes: u64,
}

impl RecordFile {
    fn take(&mut self, arrived: &mut Vec<u8>) -> io::Result<()> {
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

/// A stream with a thread that reads it while the writers write.
pub(crate) struct RecordStream {
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
                    if is_stuck && rustix::io::ioctl_fionread(&self.residue)? == 0 {
                        return Err(wrong_count(count, bytes));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(thread_ended()),
            }
        };
        let writer = self.writer.as_ref().expect("open until dropped");
        self.stream.settle(writer, &self.residue)?;
        let surplus_bytes = surplus_bytes + rustix::io::ioctl_fionread(&self.residue)?;
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
    stream: &File,
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
    mut stream: &File,
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
