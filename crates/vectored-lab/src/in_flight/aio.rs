//! The queue of Linux native AIO.

use std::io;
use std::os::fd::BorrowedFd;

use crate::in_flight::ListQueue;
use crate::in_flight::engine::{self, FreeLists, Request};
use crate::in_flight::error::ListError;
use crate::in_flight::list::{ReadList, WriteList};
use crate::in_flight::place::{Event, Place};
use crate::in_flight::sys::Flights;
use crate::in_flight::unavailable::Unavailable;

/// Lists moved by Linux native AIO: io_submit(2).
///
/// The working memory is kept from call to call. Each [`write`](ListQueue::write) and [`read`](ListQueue::read) allocates
/// once; its lists allocate nothing, if they have no more segments than earlier ones.
#[derive(Debug)]
pub struct AioQueue(Flights);

impl AioQueue {
    /// A queue that has up to `depth` lists in flight.
    ///
    /// # Errors
    ///
    /// Those of [`queue_of`](crate::in_flight::queue_of).
    pub fn new(depth: u32) -> io::Result<AioQueue> {
        match Flights::new(depth) {
            Ok(flights) => Ok(AioQueue(flights)),
            Err(error) => Err(Unavailable::new(depth, error).into()),
        }
    }
}

impl ListQueue for AioQueue {
    fn depth(&self) -> u32 {
        self.0.depth()
    }

    fn write<'b>(
        &mut self,
        fd: BorrowedFd<'b>,
        place: Place,
        count: u64,
        list: &mut dyn FnMut(u64) -> WriteList<'b>,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), ListError> {
        let request = Request { fd, place, count };
        engine::run(&mut self.0, request, list, on_event)
    }

    fn read(
        &mut self,
        fd: BorrowedFd<'_>,
        place: Place,
        count: u64,
        lists: &mut [ReadList<'_, '_>],
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), ListError> {
        assert!(
            count == 0 || !lists.is_empty(),
            "there is no list to read into"
        );
        let mut free: FreeLists<'_, '_, '_> = lists.iter_mut().collect();
        let request = Request { fd, place, count };
        engine::run(&mut self.0, request, &mut free, on_event)
    }
}
