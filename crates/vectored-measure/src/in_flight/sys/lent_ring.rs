//! The queue of io_uring: transfers of a [`Ring`], which owns its memory, on borrowed memory.
//!
//! # Safety
//!
//! [`RingQueue::write`] and [`RingQueue::read`] return, or unwind, only when the ring is empty: [`Lent`] sees to that. So a
//! transfer may use whatever is borrowed for a lifetime that is a parameter of the function, since that is longer than the
//! function runs. The ring gets it as `'static`, and nothing else gets it as such: the queues that are kept are empty, and the
//! buffers of reads are dropped with the function. If it cannot be learnt whether a transfer has ended, the process is aborted.

use std::collections::VecDeque;
use std::io;
use std::mem::transmute;
use std::os::fd::BorrowedFd;

use vectored::SegmentQueue;
use vectored::uring::{Data, Ring, SharedDescriptor};

use crate::in_flight::list_queue::{Event, ListError, ListQueue, Place, ReadList, WriteList};
use crate::in_flight::ring::{RingList, move_by_ring, persist, uncopied_queue};

type Lists = VecDeque<RingList<&'static mut [u8]>>;

pub struct RingQueue {
    /// Empty outside of `write` and `read`.
    ring: Ring<&'static mut [u8]>,
    /// Empty queues, to be used again.
    written: Lists,
}

/// A ring that has lists of borrowed memory. When it is dropped, the ring is empty.
struct Lent<'r>(&'r mut Ring<&'static mut [u8]>);

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        while !self.0.is_empty() {
            persist(|| self.0.wait());
        }
    }
}

impl ListQueue for RingQueue {
    fn with_depth(depth: u32) -> io::Result<RingQueue> {
        Ok(RingQueue {
            ring: Ring::with_buffers(depth)?,
            written: Lists::new(),
        })
    }

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
        let shared = shared(fd)?;
        let how = (place, count, self.depth() as usize);
        let lent = Lent(&mut self.ring);
        let next = |written: &mut Lists, number| {
            let segments = list(number);
            let mut queue = empty_queue(written);
            for segment in segments {
                // SAFETY: the queue is read by transfers of the ring alone, which end before `lent` is dropped.
                queue.push(unsafe { transmute::<&'b [u8], &'static [u8]>(segment) });
            }
            RingList::of_queue(queue)
        };
        move_by_ring(
            lent.0,
            (fd, &shared),
            how,
            &mut self.written,
            next,
            on_event,
        )
    }

    fn read(
        &mut self,
        fd: BorrowedFd<'_>,
        place: Place,
        count: u64,
        lists: Vec<ReadList<'_, '_>>,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), ListError> {
        let shared = shared(fd)?;
        let how = (place, count, lists.len().min(self.depth() as usize));
        let lent = Lent(&mut self.ring);
        // SAFETY: the ring is empty when `lent` is dropped, and `free` is dropped with this function.
        let lists = lists.into_iter().map(|list| unsafe { buffers(list) });
        let mut free: Lists = lists.collect();
        // The list whose transfer ended first is at the front.
        let next = |free: &mut Lists, _| free.pop_front().expect("a list for each transfer");
        move_by_ring(lent.0, (fd, &shared), how, &mut free, next, on_event)
    }
}

fn shared(fd: BorrowedFd<'_>) -> Result<SharedDescriptor, ListError> {
    let owned = fd.try_clone_to_owned();
    let shared = owned.and_then(SharedDescriptor::new);
    shared.map_err(|error| ListError::new(0, 0, 0, error))
}

fn empty_queue(written: &mut Lists) -> Box<SegmentQueue> {
    match written.pop_back().map(|list| list.data) {
        Some(Data::Queue(queue)) => queue,
        _ => uncopied_queue(),
    }
}

/// The buffers of a list to read into.
///
/// # Safety
///
/// Nothing uses them when the borrow of the list ends.
unsafe fn buffers(list: ReadList<'_, '_>) -> RingList<&'static mut [u8]> {
    // SAFETY: see above.
    let lend =
        |segment: &mut &mut [u8]| unsafe { transmute::<&mut [u8], &'static mut [u8]>(segment) };
    RingList {
        bytes: list.iter().map(|segment| segment.len() as u64).sum(),
        data: Data::Buffers(list.iter_mut().map(lend).collect()),
    }
}
