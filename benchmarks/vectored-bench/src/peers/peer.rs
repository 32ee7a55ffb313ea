//! The form in which the engine calls a peer.

use std::io;
use std::os::fd::BorrowedFd;

use vectored_machine::Clock;
use vectored_measure::measure::{Lists, Mover, Timed, Timing};

/// Writes lists to a descriptor that it was opened for.
pub trait Peer {
    /// Prepares for a descriptor. Untimed.
    fn open(&mut self, fd: BorrowedFd<'_>) -> io::Result<()>;

    /// Writes all segments once.
    fn send(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()>;

    /// Drops what `open` made. Bytes that the peer still has after an error must not be written.
    fn close(&mut self);
}

/// A single timed call, for a mover that times its calls itself.
pub const ONE_CALL: Timed = Timed::calls(1);

/// Makes a peer a mover of the engine.
pub struct Opened<P>(pub P);

impl<P: Peer> Mover for Opened<P> {
    fn prepare(&mut self, _segments: &[&[u8]], _start_bytes: usize) {}

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        self.0.open(fd)?;
        let outcome = self.0.send(fd, segments);
        self.0.close();
        outcome
    }

    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &Lists<'_>,
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<Timing> {
        self.0.open(fd)?;
        let mut turns = lists.in_turn();
        let outcome = batch.time(clock, fd, || self.0.send(fd, turns.next()));
        self.0.close();
        outcome
    }
}
