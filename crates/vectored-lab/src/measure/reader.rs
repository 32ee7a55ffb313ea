//! A stream that a thread on another CPU reads while a sample is timed, for
//! batches that do not fit.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_setaffinity};

use super::target::{Batch, Comparison, Mismatch, POISON, Sink};

/// When nothing at all has arrived for this long, nothing will: all calls have
/// returned by then, so the bytes are in the stream or nowhere.
const PATIENCE: Duration = Duration::from_secs(2);

/// A stream with a reader thread.
pub struct ReaderSink {
    writer: Option<OwnedFd>,
    /// A second handle on the reading end, to ask what is left in it.
    residue: OwnedFd,
    orders: Option<Sender<Order>>,
    deliveries: Receiver<io::Result<Vec<u8>>>,
    arrived_bytes: Arc<AtomicU64>,
    spare: Option<Vec<u8>>,
    thread: Option<JoinHandle<()>>,
}

/// Read this many bytes into this buffer.
struct Order {
    bytes: usize,
    buffer: Vec<u8>,
}

impl ReaderSink {
    /// Starts the thread, on `cpu` if one is named.
    pub fn start((writer, reader): (OwnedFd, OwnedFd), cpu: Option<usize>) -> io::Result<Self> {
        let (orders, incoming) = channel::<Order>();
        let (outgoing, deliveries) = channel();
        let arrived_bytes = Arc::new(AtomicU64::new(0));
        let residue = reader.try_clone()?;
        let mut stream = File::from(reader);
        let arrived = Arc::clone(&arrived_bytes);
        let thread = std::thread::Builder::new()
            .name("reader".to_owned())
            .spawn(move || {
                if let Some(cpu) = cpu {
                    let mut set = CpuSet::new();
                    set.set(cpu);
                    // The CPU was allowed a moment ago; if it no longer is, an
                    // unpinned reader is as good as there is.
                    let _ = sched_setaffinity(None, &set);
                }
                for order in incoming {
                    let delivery = read_order(&mut stream, order, &arrived);
                    if outgoing.send(delivery).is_err() {
                        break;
                    }
                }
            })?;
        Ok(ReaderSink {
            writer: Some(writer),
            residue,
            orders: Some(orders),
            deliveries,
            arrived_bytes,
            spare: Some(Vec::new()),
            thread: Some(thread),
        })
    }

    fn delivery(&mut self, batch: Batch) -> Result<Vec<u8>, Mismatch> {
        loop {
            let before = self.arrived_bytes.load(Ordering::Relaxed);
            match self.deliveries.recv_timeout(PATIENCE) {
                Ok(delivery) => return Ok(delivery?),
                Err(RecvTimeoutError::Timeout) => {
                    let arrived = self.arrived_bytes.load(Ordering::Relaxed);
                    if arrived == before && rustix::io::ioctl_fionread(&self.residue)? == 0 {
                        let sent = batch.bytes();
                        return Err(Mismatch::Bytes(format!(
                            "{arrived} bytes arrived of {sent} that were sent"
                        )));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("the reader thread has ended").into());
                }
            }
        }
    }
}

impl Sink for ReaderSink {
    fn fd(&self) -> BorrowedFd<'_> {
        let writer = self.writer.as_ref();
        writer.expect("open until dropped").as_fd()
    }

    fn begin(&mut self, batch: Batch) -> io::Result<()> {
        let bytes = usize::try_from(batch.bytes()).map_err(io::Error::other)?;
        // What is left in it from the last batch cannot pass for this one's:
        // the thread counts what it reads.
        let mut buffer = self.spare.take().unwrap_or_default();
        buffer.resize(bytes, POISON);
        self.arrived_bytes.store(0, Ordering::Relaxed);
        let orders = self.orders.as_ref().expect("open until dropped");
        orders
            .send(Order { bytes, buffer })
            .map_err(|_| io::Error::other("the reader thread has ended"))
    }

    fn finish(&mut self, batch: Batch, image: &[u8], _proof: bool) -> Result<(), Mismatch> {
        let buffer = self.delivery(batch)?;
        let mut comparison = Comparison::new(image, batch);
        comparison.take(&buffer)?;
        comparison.end()?;
        self.spare = Some(buffer);
        let surplus = rustix::io::ioctl_fionread(&self.residue)?;
        if surplus > 0 {
            let sent = batch.bytes();
            return Err(Mismatch::Bytes(format!(
                "{} bytes arrived of {sent} that were sent",
                sent + surplus
            )));
        }
        Ok(())
    }

    fn discard(&mut self) -> io::Result<()> {
        // Batches are only ever complete here: the writer blocks until they are.
        Ok(())
    }
}

impl Drop for ReaderSink {
    fn drop(&mut self) {
        // Closing the writing end ends a read that waits, closing the channel
        // ends the thread.
        self.writer = None;
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the reader has been reported as a missing delivery.
            let _ = thread.join();
        }
    }
}

fn read_order(stream: &mut File, order: Order, arrived: &AtomicU64) -> io::Result<Vec<u8>> {
    let Order { bytes, mut buffer } = order;
    let mut filled = 0;
    while filled < bytes {
        match stream.read(&mut buffer[filled..bytes]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                filled += count;
                arrived.store(filled as u64, Ordering::Relaxed);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(buffer)
}
