//! The queue of io_uring: lends borrowed memory to a [`Ring`], which otherwise owns its memory.
//!
//! # Safety
//!
//! [`RingQueue::write`] and [`RingQueue::read`] return, or unwind, only when the ring is empty: dropping a [`Lent`] waits
//! for that. So a transfer may use whatever is borrowed for a lifetime that is a parameter of the function, since such a
//! lifetime is longer than the function runs. The ring gets the borrowed memory as `'static`, and nothing else gets it as
//! such: the queues that are kept are empty, and the buffers of reads are dropped with the function. If it cannot be learnt
//! whether a transfer has ended, the process is aborted.

use std::collections::VecDeque;
use std::io;
use std::mem::transmute;
use std::os::fd::BorrowedFd;

use vectored::uring::{Data, Ring, SharedDescriptor};

use crate::in_flight::engine::{Event, ListQueue, Place, ReadList, WriteList};
use crate::in_flight::ring::{move_by_ring, persist, uncopied_queue};

type Lists = VecDeque<Data<&'static mut [u8]>>;

pub struct RingQueue {
    /// The ring is empty outside of `write` and `read`.
    ring: Ring<&'static mut [u8]>,
    written: Lists,
}

/// A ring that has lists of borrowed memory. Dropping this value waits until the ring is empty.
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

    fn write<'b>(
        &mut self,
        fd: BorrowedFd<'b>,
        place: Place,
        count: u64,
        list: &mut dyn FnMut(u64) -> WriteList<'b>,
        on_event: &mut dyn FnMut(Event),
    ) -> io::Result<()> {
        let shared = SharedDescriptor::new(fd.try_clone_to_owned()?)?;
        let how = (place, count, self.ring.depth() as usize);
        let lent = Lent(&mut self.ring);
        let next = |written: &mut Lists, number| {
            let segments = list(number);
            let empty = written.pop_back().and_then(Data::into_queue);
            let mut queue = empty.unwrap_or_else(uncopied_queue);
            for segment in segments {
                // SAFETY: the queue is read by transfers of the ring alone, which end before `lent` is dropped.
                queue.push(unsafe { transmute::<&'b [u8], &'static [u8]>(segment) });
            }
            Data::Queue(queue)
        };
        move_by_ring(lent.0, &shared, how, &mut self.written, next, on_event)
    }

    fn read(
        &mut self,
        fd: BorrowedFd<'_>,
        place: Place,
        count: u64,
        lists: Vec<ReadList<'_, '_>>,
        on_event: &mut dyn FnMut(Event),
    ) -> io::Result<()> {
        let shared = SharedDescriptor::new(fd.try_clone_to_owned()?)?;
        let how = (place, count, lists.len().min(self.ring.depth() as usize));
        let lent = Lent(&mut self.ring);
        // SAFETY: the ring is empty when `lent` is dropped, and `free` is dropped with this function.
        let lend =
            |segment: &mut &mut [u8]| unsafe { transmute::<&mut [u8], &'static mut [u8]>(segment) };
        let lists = lists.into_iter();
        let mut free: Lists = lists
            .map(|list| Data::Buffers(list.iter_mut().map(lend).collect()))
            .collect();
        let next = |free: &mut Lists, _| free.pop_front().expect("a list for each transfer");
        move_by_ring(lent.0, &shared, how, &mut free, next, on_event)
    }
}
