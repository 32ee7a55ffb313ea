//! The queue of io_uring: transfers of a [`Ring`], which owns its memory, on borrowed memory.
//!
//! # Safety
//!
//! [`RingQueue::scope`] works as [`std::thread::scope`]: it returns, or unwinds, only when the ring is empty. So a transfer may
//! use whatever is borrowed for `'b`, which is longer than that function runs, since it is a parameter of it. The ring gets
//! it as `'static`, and nothing else gets it as such: a queue that comes back is emptied, and buffers are given back for
//! `'b`. A [`RingScope`] cannot be forgotten, since `body` has only a reference to it. If it cannot be learnt whether a
//! transfer has ended, the process is aborted.

use std::io;
use std::marker::PhantomData;
use std::mem::transmute;
use std::os::fd::BorrowedFd;
use std::process;
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl};
use vectored::uring::{Completion, Data, Ring, SetupError, SharedDescriptor};
use vectored::{QueuePolicy, SegmentQueue, TransferError, iov_max};

use crate::in_flight::ListQueue;
use crate::in_flight::engine::{self, Ended, Scope, Source};
use crate::in_flight::error::ListError;
use crate::in_flight::list::{ReadList, WriteList};
use crate::in_flight::place::{Event, Place};
use crate::in_flight::sys::{MAX_REFUSALS, PAUSE, cannot_wait, check_process};

/// Lists moved by [`vectored::uring::Ring`].
///
/// A list that is written is put into a [`SegmentQueue`], which the transfer consumes.
pub struct RingQueue {
    /// Empty outside of `scope`.
    ring: Ring<&'static mut [u8]>,
    /// The number of the process that made it.
    process: u32,
    /// Empty queues.
    #[expect(clippy::vec_box, reason = "a ring takes boxes and gives them back")]
    spare: Vec<Box<SegmentQueue>>,
}

impl RingQueue {
    /// A queue that has up to `depth` lists in flight.
    ///
    /// # Errors
    ///
    /// See [`Ring::new`].
    pub fn new(depth: u32) -> Result<RingQueue, SetupError> {
        Ok(RingQueue {
            ring: Ring::with_buffers(depth)?,
            process: process::id(),
            spare: Vec::new(),
        })
    }

    /// Calls `body` with a scope in which lists of `fd` are moved. Waits for all transfers before it returns or unwinds.
    fn scope<'b>(
        &mut self,
        fd: BorrowedFd<'b>,
        place: Place,
        body: impl FnOnce(&mut RingScope<'_, 'b>) -> Result<(), ListError>,
    ) -> Result<(), ListError> {
        let is_stream = place == Place::Stream;
        let begin = || -> io::Result<_> {
            check_process(self.process)?;
            let shared = SharedDescriptor::new(fd.try_clone_to_owned()?)?;
            Ok((
                shared,
                is_stream && fcntl_getfl(fd)?.contains(OFlags::NONBLOCK),
            ))
        };
        let (shared, is_non_blocking) = begin().map_err(|error| ListError::new(0, 0, 0, error))?;
        let mut scope = RingScope {
            lent: self,
            fd,
            shared,
            is_non_blocking,
            last: 0,
            calls: 0,
            events: PollFlags::empty(),
            borrowed: PhantomData,
        };
        body(&mut scope)
    }
}

impl ListQueue for RingQueue {
    fn depth(&self) -> u32 {
        self.ring.depth()
    }

    fn write<'b>(
        &mut self,
        fd: BorrowedFd<'b>,
        place: Place,
        count: u64,
        list: &mut dyn FnMut(u64) -> WriteList<'b>,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), ListError> {
        let moved = (place, count, self.depth());
        self.scope(fd, place, |scope| {
            engine::run(scope, moved, Source::Write(list), on_event)
        })
    }

    fn read(
        &mut self,
        fd: BorrowedFd<'_>,
        place: Place,
        count: u64,
        lists: &mut [ReadList<'_, '_>],
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), ListError> {
        let moved = (place, count, self.depth());
        let source = Source::Read(lists.iter_mut().map(buffers).collect());
        self.scope(fd, place, |scope| {
            engine::run(scope, moved, source, on_event)
        })
    }
}

/// The segments of a list, and their bytes.
fn buffers<'b>(list: &'b mut ReadList<'_, '_>) -> (Vec<&'b mut [u8]>, u64) {
    let bytes = list.bytes();
    let list = match list {
        ReadList::Slices(list) => list.iter_mut().map(|segment| &mut **segment).collect(),
        ReadList::Array(list) => list.iter_mut().map(|segment| &mut **segment).collect(),
    };
    (list, bytes)
}

/// The lists that are in flight on a descriptor.
struct RingScope<'r, 'b> {
    lent: &'r mut RingQueue,
    fd: BorrowedFd<'b>,
    shared: SharedDescriptor,
    /// A stream whose calls do not wait. One list at a time is in flight on it.
    is_non_blocking: bool,
    /// The last list, the calls that it takes at most if the descriptor does not have to be waited for, and what it would be
    /// waited for.
    last: u64,
    calls: usize,
    events: PollFlags,
    /// Neither a longer nor a shorter `'b` will do.
    borrowed: PhantomData<fn(&'b ()) -> &'b ()>,
}

impl<'b> Scope<'b> for RingScope<'_, 'b> {
    type Buffers = Vec<&'b mut [u8]>;

    fn in_flight(&self) -> usize {
        self.lent.ring.len()
    }

    fn write(&mut self, number: u64, offset: Option<u64>, list: WriteList<'b>) -> u64 {
        let mut queue = self.lent.spare.pop().unwrap_or_else(empty_queue);
        let mut push = |segment: &'b [u8]| {
            // SAFETY: the queue is read by transfers of the ring alone, which end before `scope` returns, and emptied after
            // that.
            queue.push(unsafe { transmute::<&'b [u8], &'static [u8]>(segment) });
        };
        self.calls = match list {
            WriteList::Slices(list) => {
                list.iter().for_each(|segment| push(segment));
                calls(list.len())
            }
            WriteList::Array(list) => {
                list.iter().for_each(|segment| push(segment));
                calls(list.len())
            }
        };
        let bytes = queue.remaining() as u64;
        (self.last, self.events) = (number, PollFlags::OUT);
        let ring = &mut self.lent.ring;
        match offset {
            Some(offset) => ring.submit_write_at(&self.shared, queue, offset, number),
            None => ring.submit_write(&self.shared, queue, number),
        }
        bytes
    }

    fn read(&mut self, number: u64, offset: Option<u64>, list: Vec<&'b mut [u8]>) {
        (self.last, self.events) = (number, PollFlags::IN);
        self.calls = calls(list.len());
        // SAFETY: the buffers are used by transfers of the ring alone, which end before `scope` returns, and given back for
        // `'b` after that.
        let list = unsafe { transmute::<Vec<&'b mut [u8]>, Vec<&'static mut [u8]>>(list) };
        let ring = &mut self.lent.ring;
        match offset {
            Some(offset) => ring.submit_read_at(&self.shared, list, offset, number),
            None => ring.submit_read(&self.shared, list, number),
        }
    }

    fn wait(&mut self) -> Option<Ended<Self::Buffers>> {
        let done = if self.is_non_blocking {
            self.wait_unless_blocked()?
        } else {
            persist(|| self.lent.ring.wait())?
        };
        Some(self.end(done))
    }

    fn take_ended(&mut self) -> Option<Ended<Self::Buffers>> {
        if self.in_flight() == 0 {
            return None;
        }
        let done = persist(|| self.lent.ring.take_ended())?;
        Some(self.end(done))
    }
}

impl<'b> RingScope<'_, 'b> {
    fn end(&mut self, done: Completion<&'static mut [u8]>) -> Ended<Vec<&'b mut [u8]>> {
        let buffers = match done.data {
            Data::Queue(mut queue) => {
                queue.clear();
                self.lent.spare.push(queue);
                None
            }
            Data::Buffers(filled) => Some(filled),
            other => panic!("neither a queue nor buffers: {other:?}"),
        };
        let (moved, error) = match done.result {
            Ok(moved) => (moved, None),
            Err(error) => (error.transferred(), Some(error.into_io_error())),
        };
        Ended {
            number: done.token,
            moved,
            error,
            buffers,
        }
    }

    /// Waits for a list to end. If the descriptor is not ready, the only list in flight is cancelled, and ends with `WouldBlock`.
    fn wait_unless_blocked(&mut self) -> Option<Completion<&'static mut [u8]>> {
        let ring = &mut self.lent.ring;
        if ring.is_empty() {
            return None;
        }
        // A ring waits for a descriptor that is not ready. Each try makes one call.
        for _ in 0..self.calls {
            if let Some(done) = persist(|| ring.try_wait()) {
                return Some(done);
            }
        }
        while persist(|| is_ready(self.fd, self.events)) {
            if let Some(done) = persist(|| ring.try_wait()) {
                return Some(done);
            }
        }
        persist(|| ring.cancel(self.last));
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

/// Waits until no list is in flight.
impl Drop for RingScope<'_, '_> {
    fn drop(&mut self) {
        while persist(|| self.lent.ring.wait()).is_some() {}
    }
}

/// A queue that passes its segments to the kernel as they are.
fn empty_queue() -> Box<SegmentQueue> {
    let mut policy = QueuePolicy::default();
    policy.copy_below_bytes = 0;
    Box::new(SegmentQueue::with_policy(policy))
}

/// The most calls that move `segments` segments to a stream: one for each `IOV_MAX`, one that is short, one that is refused.
fn calls(segments: usize) -> usize {
    segments.div_ceil(iov_max()) + 2
}

fn is_ready(fd: BorrowedFd<'_>, events: PollFlags) -> io::Result<bool> {
    let mut polled = [PollFd::from_borrowed_fd(fd, events)];
    Ok(poll(&mut polled, Some(&Timespec::default()))? > 0)
}

/// Makes a call again for which the kernel has no memory at the moment.
///
/// # Aborts
///
/// If it fails otherwise.
fn persist<T>(mut call: impl FnMut() -> io::Result<T>) -> T {
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
