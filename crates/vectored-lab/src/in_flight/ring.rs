//! The queue of io_uring.

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;

use vectored::uring::SetupError;

use crate::in_flight::ListQueue;
use crate::in_flight::error::ListError;
use crate::in_flight::list::{ReadList, WriteList};
use crate::in_flight::place::{Event, Place};
use crate::in_flight::sys::{Ended, LentRing, RingScope};

/// Lists moved by [`vectored::uring::Ring`].
///
/// A list that is written is put into a [`SegmentQueue`](vectored::SegmentQueue), which the transfer consumes.
pub struct RingQueue(LentRing);

impl RingQueue {
    /// A queue that has up to `depth` lists in flight.
    ///
    /// # Errors
    ///
    /// Those of [`Ring::new`](vectored::uring::Ring::new).
    pub fn new(depth: u32) -> Result<RingQueue, SetupError> {
        Ok(RingQueue(LentRing::new(depth)?))
    }

    /// Moves lists, at most `most` at a time.
    fn run<'b>(
        &mut self,
        fd: BorrowedFd<'b>,
        (place, count, most): (Place, u64, usize),
        mut source: Source<'_, 'b>,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), ListError> {
        let (most, mut offset) = match place {
            Place::Offset(offset) => (most.min(self.0.depth() as usize), Some(offset)),
            Place::Stream => (1, None),
        };
        let moved = self.0.scope(fd, place == Place::Stream, |scope| {
            let (mut begun, mut failed) = (0, None::<ListError>);
            loop {
                while begun < count && failed.is_none() && scope.in_flight() < most {
                    on_event(Event::Began(begun));
                    let bytes = source.begin(scope, begun, offset);
                    offset = offset.map(|offset| offset.saturating_add(bytes));
                    begun += 1;
                }
                let Some(first) = scope.wait() else {
                    return failed.map_or(Ok(()), Err);
                };
                // All that have ended are noticed before the next one begins.
                let mut ended = Some(first);
                while let Some(done) = ended {
                    match source.end(done) {
                        (number, Ok(())) => on_event(Event::Ended(number)),
                        (number, Err(error)) => {
                            if failed.as_ref().is_none_or(|first| number < first.list()) {
                                failed = Some(error);
                            }
                        }
                    }
                    ended = scope.take_ended();
                }
            }
        });
        moved.unwrap_or_else(|error| Err(ListError::new(0, 0, 0, error)))
    }
}

/// Where the lists come from.
enum Source<'s, 'b> {
    Write(&'s mut dyn FnMut(u64) -> WriteList<'b>),
    Read {
        /// The lists without a transfer, with their bytes, the one that has had none for the longest time first.
        free: VecDeque<(Vec<&'b mut [u8]>, u64)>,
        /// Of each transfer, the bytes of its list.
        bytes_of: Vec<u64>,
    },
}

impl<'b> Source<'_, 'b> {
    /// Submits the list of a number at an offset, and returns its bytes.
    fn begin(&mut self, scope: &mut RingScope<'_, 'b>, number: u64, offset: Option<u64>) -> u64 {
        match self {
            Source::Write(list) => scope.write(number, offset, list(number)),
            Source::Read { free, bytes_of } => {
                let (list, bytes) = free.pop_front().expect("a list for each transfer");
                bytes_of[number as usize] = bytes;
                scope.read(number, offset, list);
                bytes
            }
        }
    }

    /// Takes a list back. Returns its number, and the error if it was not moved whole.
    fn end(&mut self, done: Ended<'b>) -> (u64, Result<(), ListError>) {
        let Ended {
            number,
            result,
            left,
            buffers,
        } = done;
        let (moved, error) = match result {
            Ok(moved) => (moved, None),
            Err(error) => (error.transferred(), Some(error.into_io_error())),
        };
        let bytes = match self {
            Source::Write(_) => moved + left,
            Source::Read { free, bytes_of } => {
                let bytes = bytes_of[number as usize];
                free.push_back((buffers, bytes));
                bytes
            }
        };
        let error = match error {
            None if moved == bytes => return (number, Ok(())),
            None => io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the file or stream ended within the list",
            ),
            Some(error) => error,
        };
        (number, Err(ListError::new(number, moved, bytes, error)))
    }
}

/// The segments of a list, and their bytes.
fn buffers<'b>(list: &'b mut ReadList<'_, '_>) -> (Vec<&'b mut [u8]>, u64) {
    let list: Vec<&mut [u8]> = match list {
        ReadList::Slices(list) => list.iter_mut().map(|segment| &mut **segment).collect(),
        ReadList::Array(list) => list.iter_mut().map(|segment| &mut **segment).collect(),
    };
    let bytes = list.iter().map(|segment| segment.len() as u64).sum();
    (list, bytes)
}

impl ListQueue for RingQueue {
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
        let moved = (place, count, usize::MAX);
        self.run(fd, moved, Source::Write(list), on_event)
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
        let moved = (place, count, lists.len());
        let source = Source::Read {
            free: lists.iter_mut().map(buffers).collect(),
            bytes_of: vec![0; count as usize],
        };
        self.run(fd, moved, source, on_event)
    }
}
