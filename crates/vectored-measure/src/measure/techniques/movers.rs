//! The interfaces of techniques: what writes, reads and copies.
//!
//! A technique without working memory is a function. Filling an array of `iovec` or a staging buffer is part of a technique and is
//! timed; memory that a program would allocate once belongs in `prepare`, which is not timed.

use std::io;

use vectored_machine::platform::fd::BorrowedFd;
use vectored_machine::{Clock, MonotonicClock};

use crate::measure::sampler::{Lists, Timed, Timing};

pub trait Mover {
    /// Allocates the working memory that `call` needs. A staging buffer starts `start_bytes` into its allocation, an offset that
    /// changes from round to round.
    fn prepare(&mut self, _segments: &[&[u8]], _start_bytes: usize) {}

    /// Writes all bytes of all segments, in order. Fails with `WouldBlock` if a non-blocking target is full.
    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let lists = Lists::one(segments.to_vec());
        let sampled = self.sample(fd, &lists, Timed::calls(1), &MonotonicClock);
        sampled.map(drop)
    }

    /// Makes the calls of a batch. A technique implements this method or `call`.
    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &Lists<'_>,
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<Timing> {
        // A default method gives each technique its own copy of the loop, so the call inside the loop is dispatched
        // statically.
        let mut turns = lists.in_turn();
        batch.time(clock, fd, move || self.call(fd, turns.next()))
    }
}

impl<F: FnMut(BorrowedFd<'_>, &[&[u8]]) -> io::Result<()>> Mover for F {
    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        self(fd, segments)
    }
}

pub trait ReadMover {
    fn prepare(&mut self, _segments: &[&mut [u8]], _start_bytes: usize) {}

    /// Fills every byte of all segments, in order, and reads no further bytes. Fails with `UnexpectedEof` if the source has
    /// too few bytes.
    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()> {
        let list = segments.iter_mut().map(|segment| &mut **segment);
        let lists = &mut [list.collect()];
        let sampled = self.sample(fd, lists, Timed::calls(1), &MonotonicClock);
        sampled.map(drop)
    }

    /// Makes the calls of a batch. A technique implements this method or `call`. There is a list for each transfer in
    /// flight; synchronous techniques fill the first list in every call. Returns, for each list, the number of the last
    /// call that filled the list. The first call has the number 0.
    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &mut [Vec<&mut [u8]>],
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<(Timing, Vec<u32>)> {
        let segments = &mut lists[0][..];
        let timing = batch.time(clock, fd, move || self.call(fd, segments))?;
        Ok((timing, vec![batch.all_calls() - 1]))
    }
}

impl<F: FnMut(BorrowedFd<'_>, &mut [&mut [u8]]) -> io::Result<()>> ReadMover for F {
    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()> {
        self(fd, segments)
    }
}

pub trait CopyMover {
    fn prepare(&mut self, _start_bytes: usize) -> io::Result<()> {
        Ok(())
    }

    /// Takes exactly `bytes` bytes from the source and hands them to the target, at the position of each descriptor. If the
    /// call fails, bytes that were taken and not handed over are lost.
    fn call(&mut self, from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: usize) -> io::Result<()>;

    fn sample(
        &mut self,
        (from, to): (BorrowedFd<'_>, BorrowedFd<'_>),
        bytes: usize,
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<Timing> {
        batch.time(clock, to, move || self.call(from, to, bytes))
    }
}

impl<F: FnMut(BorrowedFd<'_>, BorrowedFd<'_>, usize) -> io::Result<()>> CopyMover for F {
    fn call(&mut self, from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
        self(from, to, bytes)
    }
}
