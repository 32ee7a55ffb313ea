//! Lists moved by io_uring or Linux AIO, with several of them in flight.

use std::collections::VecDeque;
use std::io;

use vectored_machine::platform::fd::BorrowedFd;
use vectored_machine::{Clock, MonotonicClock};
use vectored_results::model::{Conditions, IovecSetup, SyncMode};

use crate::in_flight::{AioQueue, Event, ListQueue, ReadList};
use crate::measure::sampler::full_queue::{next_place, set_position_after, time_full_queue};
use crate::measure::sampler::{Lists, Timed, Timing};
use crate::measure::techniques::{Mover, ReadMover, Technique};

#[cfg(all(target_pointer_width = "64", target_endian = "little"))]
pub const IO_URING: Technique = Technique {
    about: "uring::Ring; asynchronous",
    // One call submits and reaps as many lists as are in flight.
    cost_ns: |costs| 0.6 * costs.referenced_ns + 2.0 * costs.call_ns / costs.queue_depth,
    ..by_queue::<crate::in_flight::RingQueue>("io-uring")
};

pub const LINUX_AIO: Technique = Technique {
    about: "io_submit; asynchronous",
    // io_submit and io_getevents each take as many lists as are in flight.
    cost_ns: |costs| costs.referenced_ns + 1.5 * costs.call_ns / costs.queue_depth,
    ..by_queue::<AioQueue>("linux-aio")
};

const fn by_queue<Q: ListQueue + 'static>(name: &'static str) -> Technique {
    Technique {
        in_flight: true,
        refuses,
        offered: |depth| Q::with_depth(depth).map(drop),
        write: Some(|_| Box::new(Asynchronous::<Q>::new())),
        read: Some(|_| Box::new(Asynchronous::<Q>::new())),
        ..Technique::named(name)
    }
}

fn refuses(conditions: &Conditions) -> Option<&'static str> {
    if conditions.iovec_setup == IovecSetup::Once {
        Some("fills the array of each transfer itself: use --iovec-setup timed")
    } else if conditions.sync == SyncMode::Fsync {
        Some(
            "cannot be measured with --sync fsync, since fsync(2) would wait for every transfer in flight: use --sync \
             dsync",
        )
    } else {
        None
    }
}

/// An asynchronous technique, whose queue is made when its depth is first needed.
struct Asynchronous<Q> {
    queue: Option<Q>,
    call_bytes: u64,
}

impl<Q: ListQueue> Asynchronous<Q> {
    fn new() -> Self {
        Asynchronous {
            queue: None,
            call_bytes: 0,
        }
    }

    fn of_depth(&mut self, depth: u32) -> io::Result<&mut Q> {
        if self
            .queue
            .as_ref()
            .is_none_or(|queue| queue.depth() != depth)
        {
            // The old queue goes before the new one is made, since both count against the limits of the system.
            self.queue = None;
            self.queue = Some(Q::with_depth(depth)?);
        }
        Ok(self.queue.as_mut().expect("made above"))
    }
}

impl<Q: ListQueue> Mover for Asynchronous<Q> {
    fn prepare(&mut self, segments: &[&[u8]], _start_bytes: usize) {
        self.call_bytes = segments.iter().map(|segment| segment.len() as u64).sum();
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let list = Lists::one(segments.to_vec());
        Mover::sample(self, fd, &list, Timed::calls(1), &MonotonicClock).map(drop)
    }

    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &Lists<'_>,
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<Timing> {
        let queue = self.of_depth(batch.queue_depth)?;
        let place = next_place(fd)?;
        let count = u64::from(batch.all_calls());
        let mut turns = lists.in_turn();
        let mut next = |_| turns.next();
        let timing = time_full_queue(batch, clock, |on_event| {
            queue.write(fd, place, count, &mut next, on_event)
        })?;
        set_position_after(fd, place, count * self.call_bytes)?;
        Ok(timing)
    }
}

impl<Q: ListQueue> ReadMover for Asynchronous<Q> {
    fn prepare(&mut self, segments: &[&mut [u8]], _start_bytes: usize) {
        self.call_bytes = segments.iter().map(|segment| segment.len() as u64).sum();
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()> {
        let list = segments.iter_mut().map(|segment| &mut **segment);
        let lists = &mut [list.collect()];
        ReadMover::sample(self, fd, lists, Timed::calls(1), &MonotonicClock).map(drop)
    }

    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &mut [Vec<&mut [u8]>],
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<(Timing, Vec<u32>)> {
        let queue = self.of_depth(batch.queue_depth)?;
        let place = next_place(fd)?;
        let count = u64::from(batch.all_calls());
        let mut holders = Holders::new(lists.len(), batch.all_calls());
        let timing = time_full_queue(batch, clock, |on_event| {
            let lists: Vec<ReadList<'_, '_>> = lists.iter_mut().map(Vec::as_mut_slice).collect();
            queue.read(fd, place, count, lists, &mut |event| {
                holders.note(event);
                on_event(event);
            })
        })?;
        set_position_after(fd, place, count * self.call_bytes)?;
        Ok((timing, holders.held))
    }
}

/// Which list each call fills: the one that has been free for the longest time, as [`ListQueue::read`] says.
struct Holders {
    free: VecDeque<usize>,
    list_of: Vec<usize>,
    held: Vec<u32>,
}

impl Holders {
    fn new(lists: usize, calls: u32) -> Self {
        Holders {
            free: (0..lists).collect(),
            list_of: vec![0; calls as usize],
            held: vec![0; lists],
        }
    }

    fn note(&mut self, event: Event) {
        match event {
            Event::Began(number) => {
                let list = self
                    .free
                    .pop_front()
                    .expect("a list for each transfer in flight");
                self.list_of[number as usize] = list;
                self.held[list] = number as u32;
            }
            Event::Ended(number) => self.free.push_back(self.list_of[number as usize]),
        }
    }
}
