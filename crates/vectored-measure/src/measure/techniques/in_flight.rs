//! Moves lists by io_uring or Linux AIO, with several lists in flight.

use std::collections::VecDeque;
use std::io;

use vectored_machine::Clock;
use vectored_machine::platform::fd::BorrowedFd;
use vectored_results::model::{Conditions, IovecSetup, SyncMode};

use crate::in_flight::{AioQueue, Event, ListQueue, ReadList};
use crate::measure::sampler::full_queue::{at_position, time_full_queue};
use crate::measure::sampler::{Lists, Timed, Timing};
use crate::measure::techniques::{Mover, ReadMover, Technique};

#[cfg(all(target_pointer_width = "64", target_endian = "little"))]
pub const IO_URING: Technique = Technique {
    about: "uring::Ring; asynchronous",
    // One call submits and reaps all lists in flight.
    cost_ns: |costs| 0.6 * costs.referenced_ns + 2.0 * costs.call_ns / costs.queue_depth,
    ..by_queue::<crate::in_flight::RingQueue>("io-uring")
};

pub const LINUX_AIO: Technique = Technique {
    about: "io_submit; asynchronous",
    // io_submit and io_getevents each take all lists in flight.
    cost_ns: |costs| costs.referenced_ns + 1.5 * costs.call_ns / costs.queue_depth,
    ..by_queue::<AioQueue>("linux-aio")
};

const fn by_queue<Q: ListQueue + 'static>(name: &'static str) -> Technique {
    Technique {
        in_flight: true,
        refuses,
        write: Some(|_| Box::new(Asynchronous::<Q>(None))),
        read: Some(|_| Box::new(Asynchronous::<Q>(None))),
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

struct Asynchronous<Q>(Option<(u32, Q)>);

impl<Q: ListQueue> Asynchronous<Q> {
    fn of_depth(&mut self, depth: u32) -> io::Result<&mut Q> {
        // The old queue is dropped before the new queue is made, since both count against the limits of the system.
        let (_, queue) = match self.0.take() {
            Some(known) if known.0 == depth => self.0.insert(known),
            other => {
                drop(other);
                self.0.insert((depth, Q::with_depth(depth)?))
            }
        };
        Ok(queue)
    }
}

impl<Q: ListQueue> Mover for Asynchronous<Q> {
    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &Lists<'_>,
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<Timing> {
        let queue = self.of_depth(batch.queue_depth)?;
        let count = u64::from(batch.all_calls());
        let call_bytes: usize = lists.first().iter().map(|segment| segment.len()).sum();
        let mut turns = lists.in_turn();
        let mut next = |_| turns.next();
        at_position(fd, count * call_bytes as u64, |place| {
            time_full_queue(batch, clock, |on_event| {
                queue.write(fd, place, count, &mut next, on_event)
            })
        })
    }
}

impl<Q: ListQueue> ReadMover for Asynchronous<Q> {
    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &mut [Vec<&mut [u8]>],
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<(Timing, Vec<u32>)> {
        let queue = self.of_depth(batch.queue_depth)?;
        let count = u64::from(batch.all_calls());
        let call_bytes: usize = lists[0].iter().map(|segment| segment.len()).sum();
        // Each call fills the list that has been free for the longest time, as `ListQueue::read` says.
        let mut free: VecDeque<usize> = (0..lists.len()).collect();
        let (mut list_of, mut held) = (vec![0; count as usize], vec![0; lists.len()]);
        let mut note = |event| match event {
            Event::Began(number) => {
                let list = free.pop_front();
                let list = list.expect("a list for each transfer in flight");
                (list_of[number as usize], held[list]) = (list, number as u32);
            }
            Event::Ended(number) => free.push_back(list_of[number as usize]),
        };
        let timing = at_position(fd, count * call_bytes as u64, |place| {
            time_full_queue(batch, clock, |on_event| {
                let lists: Vec<ReadList<'_, '_>> =
                    lists.iter_mut().map(Vec::as_mut_slice).collect();
                queue.read(fd, place, count, lists, &mut |event| {
                    note(event);
                    on_event(event);
                })
            })
        })?;
        Ok((timing, held))
    }
}
