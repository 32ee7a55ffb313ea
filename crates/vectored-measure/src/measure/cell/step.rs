//! The interface of an operation: what it does in a batch of calls.

use std::borrow::Cow;
use std::io;

use vectored_machine::platform::fd::BorrowedFd;

use crate::measure::sampler::cold_pool::PoolMemory;
use crate::measure::sampler::interface::{Contender, Timing};
use crate::measure::sampler::meter::{Meter, Timed};
use crate::measure::targets::Mismatch;

/// A batch of calls of one contender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub contender: Contender,
    pub timed: Timed,
    /// Position of the first byte in the pattern of the source.
    pub position: u64,
    /// Makes the bytes of each batch different, so that bytes of an earlier batch are not taken for them.
    pub mark: u64,
    /// Offset of the techniques' working memory in its allocation in this round.
    pub start_bytes: usize,
}

/// The descriptors to take from and to write to: the same one twice if there is only one.
pub(crate) type Ends<'f> = (BorrowedFd<'f>, BorrowedFd<'f>);

/// An operation: writing, reading or copying.
pub(crate) trait Step {
    /// Prepares the bytes and the techniques' working memory. Not timed.
    fn prepare(&mut self, turn: &Turn) -> io::Result<()>;

    /// Makes the calls of a batch, measured by `meter`.
    fn sample(&mut self, turn: &Turn, ends: Ends<'_>, meter: Meter<'_>) -> io::Result<Timing>;

    /// The bytes that the target must have received: of all calls, or of one call if all calls send the same bytes.
    fn sent(&self, _turn: &Turn) -> Cow<'_, [u8]> {
        Cow::Borrowed(&[])
    }

    /// Compares the memory that was read into.
    fn check_memory(&self, _turn: &Turn) -> Result<(), Mismatch> {
        Ok(())
    }

    /// Moves the segments to other places, for the next round.
    fn lay_out(&mut self) {}

    /// Hands over the memory of a cold pool.
    fn close(self: Box<Self>) -> Option<PoolMemory> {
        None
    }
}

pub(crate) type Movers<M> = Vec<(Contender, Box<M>)>;

pub(crate) fn mover<M: ?Sized>(movers: &mut Movers<M>, contender: Contender) -> &mut M {
    let (_, mover) = movers
        .iter_mut()
        .find(|(which, _)| *which == contender)
        .expect("begin_cell named every contender that is sampled");
    mover
}
