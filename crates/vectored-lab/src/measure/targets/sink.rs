//! The interface of a target: it takes the bytes of a batch of calls and compares them.

use std::io;
use std::os::fd::BorrowedFd;

use fastrand::Rng;
use rustix::io::Errno;

/// Fills every buffer before something is read back into it, so that bytes
/// that are left from before cannot pass for bytes that arrived.
pub(crate) const POISON: u8 = 0xa5;

/// What receives the bytes of samples.
///
/// # Implementer notes
///
/// `begin` and `finish` enclose a batch of calls. Neither is timed.
pub trait Sink {
    /// The descriptor that techniques write to.
    fn fd(&self) -> BorrowedFd<'_>;

    /// Makes room for a batch.
    ///
    /// # Errors
    ///
    /// What the kernel said.
    fn begin(&mut self, batch: Batch) -> io::Result<()>;

    /// Takes the batch out again and compares what can be compared: exactly
    /// the bytes of the batch must have arrived, which are `image`, repeated
    /// where it has those of fewer calls. With `proof`, or where the bytes have
    /// to be read anyway, every byte is compared.
    ///
    /// # Errors
    ///
    /// What the kernel said, or how the bytes differ.
    fn finish(&mut self, batch: Batch, image: &[u8], proof: bool) -> Result<(), Mismatch>;

    /// Throws away whatever has arrived, complete or not.
    ///
    /// # Errors
    ///
    /// What the kernel said.
    fn discard(&mut self) -> io::Result<()>;

    /// Whether `bytes`, written since it was empty, lie where they can be read:
    /// a batch of so many fits.
    ///
    /// # Errors
    ///
    /// What the kernel said.
    fn holds(&mut self, _bytes: u64) -> io::Result<bool> {
        Ok(true)
    }

    /// Overwrites the place of the next batch, so that what lies there from
    /// before cannot pass for what arrives. Before a proof.
    ///
    /// # Errors
    ///
    /// What the kernel said.
    fn poison(&mut self, _batch: Batch) -> io::Result<()> {
        Ok(())
    }

    /// Begins a round on other memory of the kernel, where that is possible.
    ///
    /// # Errors
    ///
    /// What the kernel said.
    fn lay_out(&mut self, _rng: &mut Rng) -> io::Result<()> {
        Ok(())
    }

    /// Whether `finish(.., proof)` compares every byte: not where another program
    /// reads them, or none at all.
    fn can_prove(&self) -> bool {
        true
    }
}

/// Some calls of one technique.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// How many calls.
    pub calls: u32,
    /// Bytes of each.
    pub call_bytes: u64,
}

impl Batch {
    /// Bytes of all calls.
    pub fn bytes(self) -> u64 {
        u64::from(self.calls) * self.call_bytes
    }
}

/// Why a batch was not accepted.
#[derive(Debug)]
pub enum Mismatch {
    /// The kernel refused.
    Io(io::Error),
    /// Other bytes arrived than were sent.
    Bytes(String),
    /// The bytes were in the page cache, and should not have been.
    NotCold,
}

impl Mismatch {
    pub(crate) fn wrong_count(arrived_bytes: u64, batch: Batch) -> Self {
        Mismatch::Bytes(format!(
            "{arrived_bytes} bytes arrived of {} that were sent",
            batch.bytes()
        ))
    }

    /// Of a batch that was to be read.
    pub(crate) fn wrong_taking(taken_bytes: u64, batch: Batch) -> Self {
        Mismatch::Bytes(format!(
            "{taken_bytes} bytes were taken of {} that were sent",
            batch.bytes()
        ))
    }
}

impl From<io::Error> for Mismatch {
    fn from(error: io::Error) -> Self {
        Mismatch::Io(error)
    }
}

impl From<Errno> for Mismatch {
    fn from(error: Errno) -> Self {
        Mismatch::Io(error.into())
    }
}
