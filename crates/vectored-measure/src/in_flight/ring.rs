//! Moves lists by a [`Ring`], whether the lists are borrowed or own their memory.

use std::collections::VecDeque;
use std::{io, thread};

use vectored::SegmentQueue;
use vectored::queue::QueuePolicy;
use vectored::uring::{Buffer, Completion, Data, Ring, SharedDescriptor};

use crate::in_flight::engine::{
    self, Ended, Event, MAX_REFUSALS, PAUSE, Place, Scope, cannot_wait,
};

/// A queue that passes its segments to the kernel without copying them.
#[must_use]
pub fn uncopied_queue() -> Box<SegmentQueue> {
    let mut policy = QueuePolicy::default();
    policy.copy_below_bytes = 0;
    Box::new(SegmentQueue::with_policy(policy))
}

/// Moves `count` lists by an empty ring, at most `most` at a time, as [`ListQueue`](crate::in_flight::ListQueue) does.
///
/// `next` makes the list with the given number. `next` is called after the list's [`Event::Began`], so the time of the
/// list includes the making. `next` may reuse one of the ended lists that it is given. The queues of these lists are empty, and
/// the list that ended last comes last.
///
/// Panics if the ring has transfers, or if `next` or `on_event` panics. The ring may still have some of the lists then.
pub fn move_by_ring<B: Buffer>(
    ring: &mut Ring<B>,
    fd: &SharedDescriptor,
    how: (Place, u64, usize),
    over: &mut VecDeque<Data<B>>,
    next: impl FnMut(&mut VecDeque<Data<B>>, u64) -> Data<B>,
    on_event: &mut dyn FnMut(Event),
) -> io::Result<()> {
    assert!(ring.is_empty(), "the ring has other transfers");
    engine::run(&mut RingScope { ring, fd }, how, over, next, on_event)
}

struct RingScope<'r, B: Buffer> {
    ring: &'r mut Ring<B>,
    fd: &'r SharedDescriptor,
}

impl<B: Buffer> Scope for RingScope<'_, B> {
    type List = Data<B>;

    fn in_flight(&self) -> usize {
        self.ring.len()
    }

    fn begin(&mut self, number: u64, offset: Option<u64>, list: Data<B>) -> u64 {
        let (ring, fd) = (&mut *self.ring, self.fd);
        match list {
            Data::Queue(queue) => {
                let bytes = queue.len() as u64;
                match offset {
                    Some(offset) => ring.submit_write_at(fd, queue, offset, number),
                    None => ring.submit_write(fd, queue, number),
                }
                bytes
            }
            Data::Buffers(buffers) => {
                let bytes = buffers.iter().map(|buffer| buffer.len() as u64).sum();
                match offset {
                    Some(offset) => ring.submit_read_at(fd, buffers, offset, number),
                    None => ring.submit_read(fd, buffers, number),
                }
                bytes
            }
            _ => unreachable!("a transfer owns a queue or buffers"),
        }
    }

    fn wait(&mut self) -> Option<Ended<Data<B>>> {
        persist(|| self.ring.wait()).map(ended)
    }

    fn take_ended(&mut self) -> Option<Ended<Data<B>>> {
        if self.ring.is_empty() {
            return None;
        }
        persist(|| self.ring.take_ended()).map(ended)
    }
}

fn ended<B>(done: Completion<B>) -> Ended<Data<B>> {
    let mut list = done.data;
    if let Data::Queue(queue) = &mut list {
        queue.clear();
    }
    let (moved, error) = match done.result {
        Ok(moved) => (moved, None),
        Err(error) => (error.transferred(), Some(error.into_io_error())),
    };
    Ended {
        number: done.token,
        moved,
        error,
        list,
    }
}

/// Repeats a call while the kernel has no memory for it. Any other error aborts the process.
pub(super) fn persist<T>(mut call: impl FnMut() -> io::Result<T>) -> T {
    let mut refusals = 0;
    loop {
        match call() {
            Ok(result) => return result,
            Err(error) => match error.raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::EAGAIN | libc::EBUSY | libc::ENOMEM) if refusals < MAX_REFUSALS => {
                    refusals += 1;
                    thread::sleep(PAUSE);
                }
                _ => cannot_wait("io_uring_enter", &error),
            },
        }
    }
}
