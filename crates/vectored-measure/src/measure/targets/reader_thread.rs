//! A stream that a thread on another CPU reads during a sample, for batches that do not fit into the stream.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use vectored_machine::platform::fd::{AsFd, BorrowedFd, ByteStream, OwnedFd};
use vectored_machine::platform::plain_calls;

use crate::measure::targets::comparison::ByteComparison;
use crate::measure::targets::end::{Batch, End, Mismatch, POISON};
use crate::measure::targets::stream_kind::StreamKind;
use crate::measure::targets::thread_beside::ThreadBeside;

/// Time without any arriving byte after which the batch counts as incomplete.
/// All calls have returned by then, so the bytes are in the stream or lost.
const PATIENCE: Duration = Duration::from_secs(2);

/// If a writer has not returned this long after its batch arrived, the writer may be writing more than the batch.
const SUSPICION: Duration = Duration::from_millis(100);

/// A stream with a reader thread.
///
/// The reader thread also compares the bytes. If the measuring thread compared them, each `read` of the next batch would
/// first have to fetch its buffer from the other CPU's cache, inside the timed region.
pub(crate) struct DrainThreadSink {
    stream: StreamKind,
    thread: ThreadBeside<Order, io::Result<Report>>,
    /// A duplicate of the reading end, to query the number of bytes left in the stream.
    residue: OwnedFd,
    arrived_bytes: Arc<AtomicU64>,
}

enum Order {
    Read(u64),
    /// Compare the bytes with the image, or count them without an image. All writers have returned.
    Compare(Batch, Vec<u8>),
}

struct Report {
    compared: Result<(), Mismatch>,
    /// Bytes that were read after the batch.
    surplus_bytes: u64,
}

impl DrainThreadSink {
    pub fn start(stream: StreamKind, cpu: Option<usize>) -> io::Result<Self> {
        let (writer, reader) = stream.open()?;
        let arrived_bytes = Arc::new(AtomicU64::new(0));
        let residue = reader.try_clone()?;
        let arrived = Arc::clone(&arrived_bytes);
        let thread = ThreadBeside::start("reader", writer, cpu, move |orders, reports| {
            serve(&reader.into(), orders, reports, &arrived);
        })?;
        Ok(DrainThreadSink {
            stream,
            thread,
            residue,
            arrived_bytes,
        })
    }

    fn report(&self, bytes: u64) -> Result<Report, Mismatch> {
        loop {
            let before = self.arrived_bytes.load(Ordering::Relaxed);
            match self.thread.reports.recv_timeout(PATIENCE) {
                Ok(report) => return Ok(report?),
                Err(RecvTimeoutError::Timeout) => {
                    let arrived = self.arrived_bytes.load(Ordering::Relaxed);
                    if arrived < bytes && arrived == before && self.is_empty()? {
                        return Err(Mismatch::wrong_count(arrived, bytes));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.thread.has_ended().into()),
            }
        }
    }

    /// Whether the stream is empty, while the thread may wait for bytes.
    fn is_empty(&self) -> io::Result<bool> {
        // On Windows, a call on a pipe begins only when the call before it has ended. Here the call before is a
        // read by the thread, which waits for bytes.
        Ok(cfg!(windows) || plain_calls::ioctl_fionread(&self.residue)? == 0)
    }
}

impl End for DrainThreadSink {
    fn fd(&self) -> BorrowedFd<'_> {
        self.thread.end().as_fd()
    }

    fn begin(&mut self, batch: Batch) -> io::Result<()> {
        self.arrived_bytes.store(0, Ordering::Relaxed);
        self.thread.order(Order::Read(batch.bytes()))
    }

    fn finish(&mut self, batch: Batch, proof: Option<&[u8]>) -> Result<(), Mismatch> {
        let image = proof.unwrap_or_default().to_vec();
        self.thread.order(Order::Compare(batch, image))?;
        let report = self.report(batch.bytes())?;
        self.stream.settle(self.thread.end(), &self.residue)?;
        match report.surplus_bytes + plain_calls::ioctl_fionread(&self.residue)? {
            0 => report.compared,
            surplus => Err(Mismatch::wrong_count(
                batch.bytes() + surplus,
                batch.bytes(),
            )),
        }
    }
}

/// Runs the thread: reads each batch to its end, and then the bytes with which a writer may still be blocked.
fn serve(
    stream: &ByteStream,
    orders: &Receiver<Order>,
    reports: &Sender<io::Result<Report>>,
    arrived_bytes: &AtomicU64,
) {
    // Bytes of an earlier batch cannot pass for bytes of a later batch: only as many bytes as were read are compared.
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
            Ok(Order::Compare(batch, image)) => {
                let report = std::mem::replace(&mut filled, Ok(0)).map(|count| {
                    let proof = (!image.is_empty()).then_some(&image[..]);
                    let mut comparison = ByteComparison::new(proof, batch);
                    let compared = comparison.take(&buffer[..count]);
                    Report {
                        compared: compared.and_then(|()| comparison.end()),
                        surplus_bytes,
                    }
                });
                is_read = false;
                if reports.send(report).is_err() {
                    return;
                }
            }
            // The batch has arrived, but its writer has not returned. The writer may be blocked writing more than the batch.
            Err(RecvTimeoutError::Timeout) if is_read => match take_surplus(stream) {
                Ok(bytes) => surplus_bytes += bytes,
                Err(error) => filled = Err(error),
            },
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Empties the stream. Returns the number of bytes that were in the stream.
fn take_surplus(mut stream: &ByteStream) -> io::Result<u64> {
    let mut taken = 0;
    let mut piece = [0; 1 << 16];
    while plain_calls::ioctl_fionread(stream)? > 0 {
        taken += stream.read(&mut piece)? as u64;
    }
    Ok(taken)
}

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
