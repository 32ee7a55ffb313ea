//! A stream that a thread on another CPU writes during a sample, for calls that
//! do not fit into the stream.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use vectored_machine::platform::fd::{AsFd, BorrowedFd, OwnedFd};
use vectored_machine::platform::plain_calls;

use crate::measure::sampler::Pattern;
use crate::measure::sources::read_source::nothing_left;
use crate::measure::targets::{Batch, End, Mismatch, ThreadBeside};

/// Time allowed for the thread to report that everything is written. All calls have returned by then; if the report takes
/// longer, the calls have read too little.
const PATIENCE: Duration = Duration::from_secs(2);

/// If all bytes are written and the calls have not returned after this many waits, the calls wait for more bytes than were
/// sent. There are several waits, since a wait passes at once after the process was stopped for long.
const WAITS: u32 = 3;
const WAIT: Duration = Duration::from_secs(1);

pub(crate) struct FeedThreadSource {
    thread: ThreadBeside<Order, Report>,
    position: u64,
}

enum Order {
    Write { position: u64, batch: Batch },
    Settled,
}

enum Report {
    Ready,
    Written(io::Result<()>),
}

impl FeedThreadSource {
    pub fn start(
        (writer, reader): (OwnedFd, OwnedFd),
        pattern: Pattern,
        cpu: Option<usize>,
    ) -> io::Result<Self> {
        let feed = move |orders: &_, reports: &_| feed(&writer, pattern, orders, reports);
        Ok(FeedThreadSource {
            thread: ThreadBeside::start("writer", reader, cpu, feed)?,
            position: 0,
        })
    }
}

impl End for FeedThreadSource {
    fn fd(&self) -> BorrowedFd<'_> {
        self.thread.end().as_fd()
    }

    fn aim(&mut self, _batch: Batch) -> u64 {
        self.position
    }

    fn begin(&mut self, batch: Batch) -> io::Result<()> {
        let position = self.position;
        self.position += batch.bytes();
        self.thread.order(Order::Write { position, batch })?;
        match self.thread.reports.recv() {
            Ok(Report::Ready) => Ok(()),
            _ => Err(self.thread.has_ended()),
        }
    }

    fn finish(&mut self, batch: Batch, _proof: Option<&[u8]>) -> Result<(), Mismatch> {
        match self.thread.reports.recv_timeout(PATIENCE) {
            Ok(Report::Written(outcome)) => outcome?,
            Err(RecvTimeoutError::Timeout) => {
                return Err(Mismatch::Bytes(format!(
                    "fewer bytes were read than the {} that were sent",
                    batch.bytes()
                )));
            }
            _ => return Err(self.thread.has_ended().into()),
        }
        nothing_left(self.thread.end(), batch)?;
        self.thread.order(Order::Settled)?;
        Ok(())
    }
}

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
