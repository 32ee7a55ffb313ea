//! Lists written by io_uring or Linux AIO, with several of them in flight.

use std::io;

use crate::in_flight::ListQueue;
use crate::measure::sampling::clock::Clock;
use crate::measure::sampling::full_queue::{
    Transfer, next_place, set_position_after, time_each_transfer, time_full_queue,
};
use crate::measure::sampling::lists::Lists;
use crate::measure::sampling::sampler::Timing;
use crate::measure::write::mover::{Mover, Timed};
use crate::platform::fd::BorrowedFd;
use crate::stats::Latencies;

/// The queue of an asynchronous technique, made when its depth is first needed.
pub(crate) struct Queue<Q>(Option<Q>);

impl<Q: ListQueue> Queue<Q> {
    /// No queue yet.
    pub const NONE: Self = Queue(None);

    /// A queue of this depth.
    pub fn of_depth(&mut self, depth: u32) -> io::Result<&mut Q> {
        if self.0.as_ref().is_none_or(|queue| queue.depth() != depth) {
            // Before the new one, since both count against the limits of the system.
            self.0 = None;
            self.0 = Some(Q::with_depth(depth)?);
        }
        Ok(self.0.as_mut().expect("made above"))
    }

    /// The queue that is there, for single transfers.
    pub fn of_any_depth(&mut self) -> io::Result<&mut Q> {
        let depth = self.0.as_ref().map_or(1, ListQueue::depth);
        self.of_depth(depth)
    }
}

/// An asynchronous technique that writes.
pub struct AsynchronousWrite<Q> {
    queue: Queue<Q>,
    call_bytes: u64,
}

impl<Q: ListQueue> AsynchronousWrite<Q> {
    pub fn new() -> Self {
        AsynchronousWrite {
            queue: Queue::NONE,
            call_bytes: 0,
        }
    }

    /// Writes the lists of a batch in turn. `time` is given the transfer, and does not time what is before and
    /// after it.
    fn batch<T>(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &Lists<'_>,
        batch: Timed,
        time: impl FnOnce(&mut Transfer<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        let queue = self.queue.of_depth(batch.queue_depth)?;
        let place = next_place(fd)?;
        let count = u64::from(batch.all_calls());
        let mut turns = lists.in_turn();
        let mut next = |_| turns.next();
        let timing = time(&mut |on_event| queue.write(fd, place, count, &mut next, on_event))?;
        set_position_after(fd, place, count * self.call_bytes)?;
        Ok(timing)
    }
}

impl<Q: ListQueue> Mover for AsynchronousWrite<Q> {
    fn prepare(&mut self, segments: &[&[u8]], _start_bytes: usize) {
        self.call_bytes = segments.iter().map(|segment| segment.len() as u64).sum();
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let place = next_place(fd)?;
        let queue = self.queue.of_any_depth()?;
        queue.write(fd, place, 1, &mut |_| segments, &mut |_| ())?;
        set_position_after(fd, place, self.call_bytes)
    }

    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &Lists<'_>,
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<Timing> {
        self.batch(fd, lists, batch, |transfer| {
            time_full_queue(batch, clock, transfer)
        })
    }

    fn latencies(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &Lists<'_>,
        batch: Timed,
        clock: &dyn Clock,
        latencies: &mut Latencies,
    ) -> io::Result<()> {
        self.batch(fd, lists, batch, |transfer| {
            time_each_transfer(batch, clock, latencies, transfer)
        })
    }
}
