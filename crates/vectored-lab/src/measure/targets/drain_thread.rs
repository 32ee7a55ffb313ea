//! A stream that a thread on another CPU reads during a sample, for batches
//! that do not fit into the stream.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::measure::targets::comparison::ByteComparison;
use crate::measure::targets::sink::{Batch, Mismatch, POISON, Sink};
use crate::measure::targets::stream_kind::StreamKind;
use crate::platform::cpus;
use crate::platform::fd::{AsFd, BorrowedFd, ByteStream, OwnedFd};
use crate::platform::plain_calls;

/// Time without any arriving byte after which the batch counts as incomplete.
/// All calls have returned by then, so the bytes are in the stream or lost.
const PATIENCE: Duration = Duration::from_secs(2);

/// If the writer has not returned this long after its batch arrived, it may be
/// writing more than the batch.
const SUSPICION: Duration = Duration::from_millis(100);

/// A stream with a reader thread.
///
/// The reader thread also compares the bytes. If the measuring thread did, each
/// `read` of the next batch would first have to fetch its buffer from the other
/// CPU's cache, inside the timed region.
pub struct DrainThreadSink {
    stream: StreamKind,
    writer: Option<OwnedFd>,
    /// A duplicate of the reading end, to query the bytes left in it.
    residue: OwnedFd,
    orders: Option<Sender<Order>>,
    reports: Receiver<Report>,
    arrived_bytes: Arc<AtomicU64>,
    /// Memory for the image of the next batch.
    spare: Vec<u8>,
    thread: Option<JoinHandle<()>>,
}

/// An order to the thread: read a batch, then compare it with its image.
enum Order {
    Read(Batch),
    Compare { batch: Batch, image: Vec<u8> },
}

/// The thread's answer to [`Order::Compare`]. It returns the image's memory.
struct Report {
    outcome: Result<(), Mismatch>,
    image: Vec<u8>,
}

impl DrainThreadSink {
    /// Starts the thread, on `cpu` if it is `Some`.
    pub(crate) fn start(stream: StreamKind, cpu: Option<usize>) -> io::Result<Self> {
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
        Ok(DrainThreadSink {
            stream,
            writer: Some(writer),
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

    /// Whether the stream is empty, while the thread may wait for bytes.
    fn is_empty(&self) -> io::Result<bool> {
        // On Windows a call on a pipe begins when the one before it has ended, and that one waits for bytes.
        Ok(cfg!(windows) || plain_calls::ioctl_fionread(&self.residue)? == 0)
    }

    fn report(&mut self, batch: Batch) -> Result<(), Mismatch> {
        loop {
            let before = self.arrived_bytes.load(Ordering::Relaxed);
            match self.reports.recv_timeout(PATIENCE) {
                Ok(report) => {
                    self.spare = report.image;
                    return report.outcome;
                }
                Err(RecvTimeoutError::Timeout) => {
                    let arrived = self.arrived_bytes.load(Ordering::Relaxed);
                    let is_short = arrived < batch.bytes();
                    if is_short && arrived == before && self.is_empty()? {
                        return Err(Mismatch::wrong_count(arrived, batch));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(thread_ended().into()),
            }
        }
    }
}

impl Sink for DrainThreadSink {
    fn fd(&self) -> BorrowedFd<'_> {
        let writer = self.writer.as_ref();
        writer.expect("open until dropped").as_fd()
    }

    fn begin(&mut self, batch: Batch) -> io::Result<()> {
        self.arrived_bytes.store(0, Ordering::Relaxed);
        self.order(Order::Read(batch))
    }

    fn finish(&mut self, batch: Batch, image: &[u8], _proof: bool) -> Result<(), Mismatch> {
        let mut copy = std::mem::take(&mut self.spare);
        copy.clear();
        copy.extend_from_slice(image);
        self.order(Order::Compare { batch, image: copy })?;
        self.report(batch)
            .map_err(|mismatch| self.stream.explain(mismatch))?;
        self.stream.settle(self.fd(), &self.residue)?;
        let surplus = plain_calls::ioctl_fionread(&self.residue)?;
        if surplus > 0 {
            return Err(Mismatch::wrong_count(batch.bytes() + surplus, batch));
        }
        Ok(())
    }

    fn discard(&mut self) -> io::Result<()> {
        // Batches are always complete: the writer blocks until they are.
        Ok(())
    }
}

impl Drop for DrainThreadSink {
    fn drop(&mut self) {
        // Closing the writing end ends a blocked read; closing the channel ends
        // the thread.
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

/// Runs the thread: reads each batch to its end, then compares it.
fn serve(
    stream: &ByteStream,
    orders: &Receiver<Order>,
    reports: &Sender<Report>,
    arrived_bytes: &AtomicU64,
) {
    // Bytes of an earlier batch cannot pass for those of a later one: only as
    // many bytes as were read are compared.
    let mut buffer = Vec::new();
    let mut filled = Ok(0);
    let mut surplus_bytes = 0;
    let mut is_read = false;
    loop {
        match orders.recv_timeout(SUSPICION) {
            Ok(Order::Read(batch)) => {
                filled = fill(stream, &mut buffer, batch, arrived_bytes);
                surplus_bytes = 0;
                is_read = true;
            }
            Ok(Order::Compare { batch, image }) => {
                let outcome = match std::mem::replace(&mut filled, Ok(0)) {
                    Ok(_) if surplus_bytes > 0 => {
                        Err(Mismatch::wrong_count(batch.bytes() + surplus_bytes, batch))
                    }
                    Ok(count) => {
                        let mut comparison = ByteComparison::new(&image, batch);
                        comparison
                            .take(&buffer[..count])
                            .and_then(|()| comparison.end())
                    }
                    Err(error) => Err(error.into()),
                };
                is_read = false;
                if reports.send(Report { outcome, image }).is_err() {
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
pub(in crate::measure) fn take_surplus(mut stream: &ByteStream) -> io::Result<u64> {
    let mut taken = 0;
    let mut piece = [0; 1 << 16];
    while plain_calls::ioctl_fionread(stream)? > 0 {
        taken += stream.read(&mut piece)? as u64;
    }
    Ok(taken)
}

/// Reads a batch into `buffer`; returns the number of bytes, fewer than the
/// batch only at the end of the stream.
fn fill(
    mut stream: &ByteStream,
    buffer: &mut Vec<u8>,
    batch: Batch,
    arrived_bytes: &AtomicU64,
) -> io::Result<usize> {
    let bytes = usize::try_from(batch.bytes()).map_err(io::Error::other)?;
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
