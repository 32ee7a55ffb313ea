//! A stream that a thread on another CPU writes during a sample, for calls that
//! do not fit into the stream.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use vectored_machine::platform::fd::{AsFd, BorrowedFd, OwnedFd};
use vectored_machine::platform::plain_calls;

use crate::measure::sampler::pattern::Pattern;
use crate::measure::sources::read_source::{Source, nothing_left};
use crate::measure::targets::{Batch, Mismatch, stay_on};

/// Time allowed for the thread to report that everything is written. All calls
/// have returned by then; if it takes longer, they have read too little.
const PATIENCE: Duration = Duration::from_secs(2);

/// If all bytes are written and the calls have not returned after this many
/// waits, they are waiting for more bytes than were sent. Several waits, since
/// one passes at once after the process was stopped for long.
const WAITS: u32 = 3;
const WAIT: Duration = Duration::from_secs(1);

/// A stream with a writer thread.
pub(crate) struct FeedThreadSource {
    reader: Option<OwnedFd>,
    orders: Option<Sender<Order>>,
    reports: Receiver<Report>,
    position: u64,
    thread: Option<JoinHandle<()>>,
}

enum Order {
    /// Write the batch whose pattern begins at `position`.
    Write { position: u64, batch: Batch },
    /// The batch has been read.
    Settled,
}

enum Report {
    /// The bytes are ready, and writing begins.
    Ready,
    Written(io::Result<()>),
}

impl FeedThreadSource {
    pub fn start(
        (writer, reader): (OwnedFd, OwnedFd),
        pattern: Pattern,
        cpu: Option<usize>,
    ) -> io::Result<Self> {
        let (orders, incoming) = channel();
        let (outgoing, reports) = channel();
        let thread = std::thread::Builder::new()
            .name("writer".to_owned())
            .spawn(move || {
                stay_on(cpu);
                feed(&writer, pattern, &incoming, &outgoing);
            })?;
        Ok(FeedThreadSource {
            reader: Some(reader),
            orders: Some(orders),
            reports,
            position: 0,
            thread: Some(thread),
        })
    }

    fn order(&self, order: Order) -> io::Result<()> {
        let orders = self.orders.as_ref().expect("open until dropped");
        orders.send(order).map_err(|_| thread_ended())
    }

    fn reader(&self) -> &OwnedFd {
        self.reader.as_ref().expect("open until dropped")
    }
}

impl Source for FeedThreadSource {
    fn fd(&self) -> BorrowedFd<'_> {
        self.reader().as_fd()
    }

    fn aim(&mut self, _batch: Batch) -> u64 {
        self.position
    }

    fn begin(&mut self, batch: Batch) -> io::Result<()> {
        let position = self.position;
        self.position += batch.bytes();
        self.order(Order::Write { position, batch })?;
        match self.reports.recv() {
            Ok(Report::Ready) => Ok(()),
            _ => Err(thread_ended()),
        }
    }

    fn finish(&mut self, batch: Batch) -> Result<(), Mismatch> {
        match self.reports.recv_timeout(PATIENCE) {
            Ok(Report::Written(outcome)) => outcome?,
            Err(RecvTimeoutError::Timeout) => {
                return Err(Mismatch::Bytes(format!(
                    "fewer bytes were read than the {} that were sent",
                    batch.bytes()
                )));
            }
            _ => return Err(thread_ended().into()),
        }
        nothing_left(self.reader(), batch)?;
        self.order(Order::Settled)?;
        Ok(())
    }
}

impl Drop for FeedThreadSource {
    fn drop(&mut self) {
        // Closing the reading end ends a blocked write; closing the channel ends
        // the thread.
        self.reader = None;
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the writer has been reported as a missing answer.
            let _ = thread.join();
        }
    }
}

/// Runs the thread: writes each batch. The stream ends with the thread.
fn feed(writer: &OwnedFd, pattern: Pattern, orders: &Receiver<Order>, reports: &Sender<Report>) {
    let mut buffer = Vec::new();
    while let Ok(Order::Write { position, batch }) = orders.recv() {
        // The buffer never shrinks after a longer batch.
        let bytes = batch.bytes() as usize;
        if buffer.len() < bytes {
            buffer.resize(bytes, 0);
        }
        pattern.fill(position, &mut buffer[..bytes]);
        if reports.send(Report::Ready).is_err() {
            return;
        }
        let written = buffer[..bytes]
            .chunks(batch.call_bytes as usize)
            .try_for_each(|call| write_all(writer, call));
        if reports.send(Report::Written(written)).is_err() || !settled(orders) {
            return;
        }
    }
}

/// Waits until the batch has been read; false if it is not, or the channel is
/// closed.
fn settled(orders: &Receiver<Order>) -> bool {
    for _ in 0..WAITS {
        match orders.recv_timeout(WAIT) {
            Ok(Order::Settled) => return true,
            Err(RecvTimeoutError::Timeout) => {}
            _ => return false,
        }
    }
    false
}

fn write_all(writer: &OwnedFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = plain_calls::retry_on_intr(|| plain_calls::write(writer, bytes))?;
        bytes = &bytes[written..];
    }
    Ok(())
}

fn thread_ended() -> io::Error {
    io::Error::other("the writer thread ended unexpectedly")
}
