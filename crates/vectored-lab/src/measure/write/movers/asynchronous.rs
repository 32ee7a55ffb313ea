//! Lists written by io_uring or Linux AIO, with several of them in flight.

use std::io::{self, IoSlice};

use crate::in_flight::WriteList;
use crate::measure::sampling::clock::Clock;
use crate::measure::sampling::full_queue::{
    Queue, Transfer, next_place, set_position_after, time_each_transfer, time_full_queue,
};
use crate::measure::sampling::lists::Lists;
use crate::measure::sampling::sampler::Timing;
use crate::measure::write::mover::{Mover, Timed};
use crate::model::{IovecSetup, Technique};
use crate::platform::fd::BorrowedFd;
use crate::stats::Latencies;

/// An asynchronous technique that writes.
pub struct AsynchronousWrite {
    queue: Queue,
    call_bytes: u64,
}

impl AsynchronousWrite {
    pub fn new(technique: Technique) -> Self {
        AsynchronousWrite {
            queue: Queue::new(technique),
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
        let timing = match batch.iovec_setup {
            IovecSetup::Timed => {
                let mut turns = lists.in_turn();
                let mut next = |_| WriteList::Slices(turns.next());
                time(&mut |on_event| queue.write(fd, place, count, &mut next, on_event))?
            }
            IovecSetup::Once => {
                let iovecs: Vec<IoSlice<'_>> =
                    lists.segments().iter().map(|s| IoSlice::new(s)).collect();
                let mut turns = lists.turns_of(&iovecs);
                let mut next = |_| WriteList::Array(turns.next());
                time(&mut |on_event| queue.write(fd, place, count, &mut next, on_event))?
            }
        };
        set_position_after(fd, place, count * self.call_bytes)?;
        Ok(timing)
    }
}

impl Mover for AsynchronousWrite {
    fn prepare(&mut self, segments: &[&[u8]], _start_bytes: usize) {
        self.call_bytes = segments.iter().map(|segment| segment.len() as u64).sum();
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let place = next_place(fd)?;
        let mut list = |_| WriteList::Slices(segments);
        let queue = self.queue.of_any_depth()?;
        queue.write(fd, place, 1, &mut list, &mut |_| ())?;
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
