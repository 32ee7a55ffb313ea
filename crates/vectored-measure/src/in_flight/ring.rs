//! Lists moved by a [`Ring`], whoever owns their memory.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::{io, thread};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl};
use vectored::queue::QueuePolicy;
use vectored::uring::{Buffer, Completion, Data, Ring, SharedDescriptor};
use vectored::{SegmentQueue, TransferError};

use crate::in_flight::engine::{self, Ended, Scope};
use crate::in_flight::list_queue::{Event, ListError, Place};
use crate::in_flight::refusals::{MAX_REFUSALS, PAUSE, cannot_wait};

#[derive(Debug)]
pub struct RingList<B> {
    pub data: Data<B>,
    pub bytes: u64,
}

impl<B> RingList<B> {
    pub fn of_queue(queue: Box<SegmentQueue>) -> RingList<B> {
        RingList {
            bytes: queue.len() as u64,
            data: Data::Queue(queue),
        }
    }
}

/// A queue that passes its segments to the kernel as they are.
#[must_use]
pub fn uncopied_queue() -> Box<SegmentQueue> {
    let mut policy = QueuePolicy::default();
    policy.copy_below_bytes = 0;
    Box::new(SegmentQueue::with_policy(policy))
}

/// Moves `count` lists by an empty ring, at most `most` at a time, as [`ListQueue`](crate::in_flight::ListQueue) does.
///
/// `next` makes the list of a number: within the time of that list, so after its [`Event::Began`]. `next` is given the lists
/// that are over, the latest list last, with empty queues, and may take a list. `shared` is `fd`.
///
/// Panics if the ring has transfers, or if `next` or `on_event` does. The ring may have some of the lists then.
pub fn move_by_ring<B: Buffer>(
    ring: &mut Ring<B>,
    (fd, shared): (BorrowedFd<'_>, &SharedDescriptor),
    (place, count, most): (Place, u64, usize),
    over: &mut VecDeque<RingList<B>>,
    next: impl FnMut(&mut VecDeque<RingList<B>>, u64) -> RingList<B>,
    on_event: &mut dyn FnMut(Event),
) -> Result<(), ListError> {
    assert!(ring.is_empty(), "the ring has other transfers");
    let mut begin = || -> io::Result<bool> {
        // A forked child is refused here.
        ring.take_ended()?;
        Ok(place == Place::Stream && fcntl_getfl(fd)?.contains(OFlags::NONBLOCK))
    };
    let is_non_blocking = begin().map_err(|error| ListError::new(0, 0, 0, error))?;
    let mut scope = RingScope {
        ring,
        fd,
        shared,
        is_non_blocking,
        bytes_of: Vec::with_capacity(count as usize),
        events: PollFlags::empty(),
    };
    engine::run(&mut scope, (place, count, most), over, next, on_event)
}

struct RingScope<'r, B: Buffer> {
    ring: &'r mut Ring<B>,
    fd: BorrowedFd<'r>,
    shared: &'r SharedDescriptor,
    /// A stream whose calls do not wait. One list at a time is in flight on it.
    is_non_blocking: bool,
    /// The bytes of each list that has begun.
    bytes_of: Vec<u64>,
    events: PollFlags,
}

impl<B: Buffer> Scope for RingScope<'_, B> {
    type List = RingList<B>;

    fn in_flight(&self) -> usize {
        self.ring.len()
    }

    fn begin(&mut self, number: u64, offset: Option<u64>, list: RingList<B>) -> u64 {
        self.bytes_of.push(list.bytes);
        let (ring, fd) = (&mut *self.ring, self.shared);
        match list.data {
            Data::Queue(queue) => {
                self.events = PollFlags::OUT;
                match offset {
                    Some(offset) => ring.submit_write_at(fd, queue, offset, number),
                    None => ring.submit_write(fd, queue, number),
                }
            }
            Data::Buffers(buffers) => {
                self.events = PollFlags::IN;
                match offset {
                    Some(offset) => ring.submit_read_at(fd, buffers, offset, number),
                    None => ring.submit_read(fd, buffers, number),
                }
            }
            _ => unreachable!("a transfer owns a queue or buffers"),
        }
        list.bytes
    }

    fn wait(&mut self) -> Option<Ended<RingList<B>>> {
        let done = if self.is_non_blocking {
            self.wait_unless_blocked()?
        } else {
            persist(|| self.ring.wait())?
        };
        Some(self.end(done))
    }

    fn take_ended(&mut self) -> Option<Ended<RingList<B>>> {
        if self.ring.is_empty() {
            return None;
        }
        let done = persist(|| self.ring.take_ended())?;
        Some(self.end(done))
    }
}

impl<B: Buffer> RingScope<'_, B> {
    fn end(&mut self, done: Completion<B>) -> Ended<RingList<B>> {
        let (moved, error) = match done.result {
            Ok(moved) => (moved, None),
            Err(error) => (error.transferred(), Some(error.into_io_error())),
        };
        let mut data = done.data;
        if let Data::Queue(queue) = &mut data {
            queue.clear();
        }
        Ended {
            number: done.token,
            moved,
            error,
            list: RingList {
                data,
                bytes: self.bytes_of[done.token as usize],
            },
        }
    }

    /// Waits for a list to end. If the descriptor is not ready, the only list in flight is cancelled, and ends with `WouldBlock`.
    fn wait_unless_blocked(&mut self) -> Option<Completion<B>> {
        let (fd, ring) = (self.fd, &mut *self.ring);
        if ring.is_empty() {
            return None;
        }
        // Each try makes one call. A ring waits for a descriptor that is not ready.
        loop {
            if let Some(done) = persist(|| ring.try_wait()) {
                return Some(done);
            }
            if !persist(|| is_ready(fd, self.events)) {
                break;
            }
        }
        let last = self.bytes_of.len() as u64 - 1;
        persist(|| ring.cancel(last));
        let mut done = persist(|| ring.wait())?;
        if let Err(error) = &done.result
            && error.io_error().raw_os_error() == Some(libc::ECANCELED)
        {
            let blocked = io::ErrorKind::WouldBlock.into();
            done.result = Err(TransferError::new(error.transferred(), blocked));
        }
        Some(done)
    }
}

fn is_ready(fd: BorrowedFd<'_>, events: PollFlags) -> io::Result<bool> {
    let mut polled = [PollFd::from_borrowed_fd(fd, events)];
    Ok(poll(&mut polled, Some(&Timespec::default()))? > 0)
}

/// Makes a call again for which the kernel has no memory at the moment. Another error aborts the process.
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
