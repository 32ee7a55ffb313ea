//! The interface of the ends of a cell: a target receives the bytes of a batch of calls and compares them; a source
//! delivers bytes.

use std::fs::File;
use std::io;

use fastrand::Rng;
use vectored_machine::platform::fd::{AsFd, BorrowedFd};

/// The byte that fills every buffer before bytes are read back into the buffer: so old bytes cannot pass for bytes that
/// arrived.
pub(crate) const POISON: u8 = 0xa5;

/// A target, which receives the bytes of samples, or a source, whose bytes follow a
/// [`Pattern`](crate::measure::sampler::Pattern).
///
/// `aim`, `begin` and `finish` enclose a batch of calls. None of them is timed.
pub trait End {
    fn fd(&self) -> BorrowedFd<'_>;

    /// Chooses the position in the pattern at which a source's next batch begins. Returns this position.
    fn aim(&mut self, _batch: Batch) -> u64 {
        0
    }

    /// Makes the batch of a source available, from the position that [`End::aim`] chose. The caller must have made all
    /// other preparations.
    fn begin(&mut self, _batch: Batch) -> io::Result<()> {
        Ok(())
    }

    /// Ends a batch. A source checks that exactly the bytes of the batch have been read. A target removes the batch, and
    /// checks the number of bytes that have arrived. If there is a `proof` and [`End::can_prove`] is true, each byte is
    /// compared with the proof. A proof of fewer calls than the batch is repeated.
    fn finish(&mut self, batch: Batch, proof: Option<&[u8]>) -> Result<(), Mismatch>;

    /// Discards all bytes that have arrived, of complete and of incomplete batches, if these bytes would disturb the next
    /// batch.
    fn discard(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn holds(&mut self, _bytes: u64) -> io::Result<bool> {
        Ok(true)
    }

    /// Overwrites the place of the next batch before a proof, so that old bytes
    /// cannot pass for bytes that arrived.
    fn poison(&mut self, _batch: Batch) -> io::Result<()> {
        Ok(())
    }

    /// Begins a round on other kernel memory, if possible.
    fn lay_out(&mut self, _rng: &mut Rng) -> io::Result<()> {
        Ok(())
    }

    /// Whether `finish` can compare every byte. A target cannot if the bytes are read by another program or not at all.
    fn can_prove(&self) -> bool {
        true
    }

    /// The error of a call on the descriptor, with the remedy if the target knows one.
    fn explain(&self, error: io::Error) -> io::Error {
        error
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Batch {
    pub calls: u32,
    pub call_bytes: u64,
}

impl Batch {
    pub fn new(calls: u32, call_bytes: u64) -> Self {
        Batch { calls, call_bytes }
    }

    pub fn bytes(self) -> u64 {
        u64::from(self.calls) * self.call_bytes
    }
}

#[derive(Debug)]
pub enum Mismatch {
    Io(io::Error),
    Bytes(String),
    /// Pages of the file were in the page cache, although they had been evicted.
    NotCold,
}

impl Mismatch {
    pub(crate) fn wrong_count(arrived_bytes: u64, bytes: u64) -> Self {
        Mismatch::Bytes(format!(
            "{arrived_bytes} bytes arrived, but {bytes} were sent"
        ))
    }

    /// The mismatch of a batch if too few or too many of its bytes were read.
    pub(crate) fn wrong_taking(taken_bytes: u64, batch: Batch) -> Self {
        Mismatch::Bytes(format!(
            "{taken_bytes} bytes were read, but {} were sent",
            batch.bytes()
        ))
    }
}

impl From<io::Error> for Mismatch {
    fn from(error: io::Error) -> Self {
        Mismatch::Io(error)
    }
}

#[cfg(unix)]
impl From<rustix::io::Errno> for Mismatch {
    fn from(error: rustix::io::Errno) -> Self {
        Mismatch::Io(error.into())
    }
}

/// `/dev/null`, or on Windows the device `NUL`.
pub struct NullSink(pub File);

impl End for NullSink {
    fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    fn finish(&mut self, _batch: Batch, _proof: Option<&[u8]>) -> Result<(), Mismatch> {
        Ok(())
    }

    fn can_prove(&self) -> bool {
        false
    }
}
