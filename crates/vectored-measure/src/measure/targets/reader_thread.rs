//! A thread on another CPU that reads a stream while others write to it, for batches that do not fit into the stream.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use vectored_machine::platform::fd::{ByteStream, OwnedFd};
use vectored_machine::platform::{cpus, plain_calls};

use crate::measure::targets::sink::{Mismatch, POISON};
use crate::measure::targets::stream_kind::StreamKind;

/// Time without any arriving byte after which the batch counts as incomplete.
/// All calls have returned by then, so the bytes are in the stream or lost.
const PATIENCE: Duration = Duration::from_secs(2);

/// If a writer has not returned this long after its batch arrived, it may be
/// writing more than the batch.
const SUSPICION: Duration = Duration::from_millis(100);

/// A stream with a reader thread, which uses the bytes of each batch.
pub(crate) struct ReaderThread {
    stream: StreamKind,
    writer: Option<OwnedFd>,
    /// A duplicate of the reading end, to query the bytes left in it.
    residue: OwnedFd,
    orders: Option<Sender<Order>>,
    reports: Receiver<io::Result<Report>>,
    arrived_bytes: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

/// The use of the bytes of a batch, which hands back the memory that it was given. The bytes are fewer than were sent only
/// at the end of the stream.
pub(crate) type Use = Box<dyn FnOnce(&[u8]) -> Result<Vec<u8>, Mismatch> + Send>;

enum Order {
    Read(u64),
    /// Use the bytes: all writers have returned.
    Use(Use),
}

/// The answer to [`Order::Use`].
struct Report {
    used: Result<Vec<u8>, Mismatch>,
    /// Bytes that were read after the batch.
    surplus_bytes: u64,
}

impl ReaderThread {
    pub fn start(stream: StreamKind, cpu: Option<usize>) -> io::Result<Self> {
        let (writer, reader) = stream.open()?;
        let (orders, incoming) = channel();
        let (outgoing, reports) = channel();
        let arrived_bytes = Arc::new(AtomicU64::new(0));
        let residue = reader.try_clone()?;
        let arrived = Arc::clone(&arrived_bytes);
        let thread = std::thread::Builder::new()
            .name("reader".to_owned())
            .spawn(move || {
                stay_on(cpu);
                serve(&reader.into(), &incoming, &outgoing, &arrived);
            })?;
        Ok(ReaderThread {
            stream,
            writer: Some(writer),
            residue,
            orders: Some(orders),
            reports,
            arrived_bytes,
            thread: Some(thread),
        })
    }

    pub fn writer(&self) -> &OwnedFd {
        self.writer.as_ref().expect("open until dropped")
    }

    /// Has the thread read a batch of `bytes` bytes.
    pub fn begin(&self, bytes: u64) -> io::Result<()> {
        self.arrived_bytes.store(0, Ordering::Relaxed);
        self.order(Order::Read(bytes))
    }

    /// Has the thread use the bytes of the batch: all writers have returned. Fails unless exactly `bytes` bytes have
    /// arrived, or the stream has ended.
    pub fn finish(&self, bytes: u64, batch: Use) -> Result<Vec<u8>, Mismatch> {
        self.order(Order::Use(batch))?;
        let report = self.report(bytes)?;
        self.stream.settle(self.writer(), &self.residue)?;
        match report.surplus_bytes + plain_calls::ioctl_fionread(&self.residue)? {
            0 => report.used,
            surplus => Err(Mismatch::wrong_count(bytes + surplus, bytes)),
        }
    }

    fn order(&self, order: Order) -> io::Result<()> {
        let orders = self.orders.as_ref().expect("open until dropped");
        orders.send(order).map_err(|_| thread_ended())
    }

    fn report(&self, bytes: u64) -> Result<Report, Mismatch> {
        loop {
            let before = self.arrived_bytes.load(Ordering::Relaxed);
            match self.reports.recv_timeout(PATIENCE) {
                Ok(report) => return Ok(report?),
                Err(RecvTimeoutError::Timeout) => {
                    let arrived = self.arrived_bytes.load(Ordering::Relaxed);
                    if arrived < bytes && arrived == before && self.is_empty()? {
                        return Err(Mismatch::wrong_count(arrived, bytes));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(thread_ended().into()),
            }
        }
    }

    /// Whether the stream is empty, while the thread may wait for bytes.
    fn is_empty(&self) -> io::Result<bool> {
        // On Windows a call on a pipe begins when the one before it has ended, and that one waits for bytes.
        Ok(cfg!(windows) || plain_calls::ioctl_fionread(&self.residue)? == 0)
    }
}

impl Drop for ReaderThread {
    fn drop(&mut self) {
        // Closing the writing end, which no writer has any more, ends a blocked
        // read; closing the channel ends the thread.
        self.writer = None;
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the reader has been reported as a missing answer.
            let _ = thread.join();
        }
    }
}

/// Pins the calling thread to `cpu`, if it is `Some`.
pub(crate) fn stay_on(cpu: Option<usize>) {
    if let Some(cpu) = cpu {
        // The CPU was allowed when it was chosen. If it no longer is, the
        // thread runs unpinned, so the error is ignored.
        let _ = cpus::pin(cpu);
    }
}

/// Runs the thread: reads each batch to its end, and then what a writer may still be blocked with.
fn serve(
    stream: &ByteStream,
    orders: &Receiver<Order>,
    reports: &Sender<io::Result<Report>>,
    arrived_bytes: &AtomicU64,
) {
    // Bytes of an earlier batch cannot pass for bytes of a later one: only as
    // many bytes as were read are used.
    let mut buffer = Vec::new();
    let mut filled = Ok(0);
    let mut surplus_bytes = 0;
    let mut is_read = false;
    loop {
        match orders.recv_timeout(SUSPICION) {
            Ok(Order::Read(bytes)) => {
                filled = fill(stream, &mut buffer, bytes, arrived_bytes);
                (surplus_bytes, is_read) = (0, true);
            }
            Ok(Order::Use(batch)) => {
                let report = std::mem::replace(&mut filled, Ok(0)).map(|count| Report {
                    used: batch(&buffer[..count]),
                    surplus_bytes,
                });
                is_read = false;
                if reports.send(report).is_err() {
                    return;
                }
            }
            // The batch has arrived, but its writer has not returned. It may be
            // blocked writing more than the batch.
            Err(RecvTimeoutError::Timeout) if is_read => match take_surplus(stream) {
                Ok(bytes) => surplus_bytes += bytes,
                Err(error) => filled = Err(error),
            },
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Empties the stream; returns the number of bytes in it.
fn take_surplus(mut stream: &ByteStream) -> io::Result<u64> {
    let mut taken = 0;
    let mut piece = [0; 1 << 16];
    while plain_calls::ioctl_fionread(stream)? > 0 {
        taken += stream.read(&mut piece)? as u64;
    }
    Ok(taken)
}

/// Reads a batch into `buffer`, and returns the number of bytes. They are fewer than the batch only at the end of the
/// stream.
fn fill(
    mut stream: &ByteStream,
    buffer: &mut Vec<u8>,
    bytes: u64,
    arrived_bytes: &AtomicU64,
) -> io::Result<usize> {
    let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
    if buffer.len() < bytes {
        buffer.resize(bytes, POISON);
    }
    let mut filled = 0;
    while filled < bytes {
        match stream.read(&mut buffer[filled..bytes]) {
            Ok(0) => break,
            Ok(count) => {
                filled += count;
                arrived_bytes.store(filled as u64, Ordering::Relaxed);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn thread_ended() -> io::Error {
    io::Error::other("the reader thread ended unexpectedly")
}
