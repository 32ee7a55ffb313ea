//! Starts lists and counts the bytes that their calls moved.

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;

use crate::in_flight::error::ListError;
use crate::in_flight::list::{ReadList, WriteList};
use crate::in_flight::place::{Event, Place};
use crate::in_flight::sys::{Flights, List, Operation, Scope};

/// What is moved, and where.
pub(super) struct Request<'b> {
    pub(super) fd: BorrowedFd<'b>,
    pub(super) place: Place,
    pub(super) count: u64,
}

/// Where the lists come from.
pub(super) trait ListSource<L> {
    /// The list of this number; `None` if one in flight has to end first.
    fn next(&mut self, number: u64) -> Option<L>;

    /// Takes a list back whose transfer has ended.
    fn give_back(&mut self, list: L);
}

impl<'b, F: FnMut(u64) -> WriteList<'b> + ?Sized> ListSource<WriteList<'b>> for &mut F {
    fn next(&mut self, number: u64) -> Option<WriteList<'b>> {
        Some(self(number))
    }

    fn give_back(&mut self, _list: WriteList<'b>) {}
}

/// The lists to read into that have no transfer, the one that has had none for the longest time first.
pub(super) type FreeLists<'s, 'l, 'b> = VecDeque<&'s mut ReadList<'l, 'b>>;

impl<'s, 'l, 'b> ListSource<&'s mut ReadList<'l, 'b>> for &mut FreeLists<'s, 'l, 'b> {
    fn next(&mut self, _number: u64) -> Option<&'s mut ReadList<'l, 'b>> {
        self.pop_front()
    }

    fn give_back(&mut self, list: &'s mut ReadList<'l, 'b>) {
        self.push_back(list);
    }
}

/// A list that has a slot.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    number: u64,
    /// Where it begins, if it is at an offset.
    offset: Option<u64>,
    bytes: u64,
    moved: u64,
}

impl Progress {
    fn failed(&self, error: io::Error) -> ListError {
        ListError::new(self.number, self.moved, self.bytes, error)
    }
}

/// Moves the lists, see `ListQueue::write`.
pub(super) fn run<L: List>(
    flights: &mut Flights,
    request: Request<'_>,
    source: impl ListSource<L>,
    on_event: &mut dyn FnMut(Event),
) -> Result<(), ListError> {
    if let Err(error) = flights.check_process() {
        return Err(ListError::new(0, 0, 0, error));
    }
    let depth = flights.depth() as usize;
    let Request { fd, place, count } = request;
    let (width, next_offset) = match place {
        Place::Offset(offset) => (depth, Some(offset)),
        Place::Stream => (1, None),
    };
    flights.scope(fd, |scope| {
        let mut run = Run {
            scope,
            source,
            on_event,
            count,
            begun: 0,
            next_offset,
            free: (0..width).rev().collect(),
            progress: vec![Progress::default(); width],
            failed: None,
        };
        run.move_all();
        run.failed.map_or(Ok(()), Err)
    })
}

struct Run<'r, 's, L: List, S> {
    scope: &'r mut Scope<'s, L>,
    source: S,
    on_event: &'r mut dyn FnMut(Event),
    count: u64,
    begun: u64,
    /// Where the next list begins.
    next_offset: Option<u64>,
    /// The slots without a list.
    free: Vec<usize>,
    /// Of the list of each slot.
    progress: Vec<Progress>,
    /// The error of the first list that has one.
    failed: Option<ListError>,
}

impl<L: List, S: ListSource<L>> Run<'_, '_, L, S> {
    /// Moves all lists, or those before an error, and waits for every call.
    fn move_all(&mut self) {
        loop {
            self.begin_lists();
            if self.scope.in_flight() == 0 {
                return;
            }
            self.scope.wait();
            while let Some((slot, result)) = self.scope.next_ended() {
                self.call_ended(slot, result);
            }
        }
    }

    /// Begins lists while there are slots and lists. After an error none is begun.
    fn begin_lists(&mut self) {
        while self.failed.is_none()
            && self.begun < self.count
            && let Some(&slot) = self.free.last()
        {
            let Some(list) = self.source.next(self.begun) else {
                return;
            };
            (self.on_event)(Event::Began(self.begun));
            self.free.pop();
            let bytes = self.scope.load(slot, list);
            self.progress[slot] = Progress {
                number: self.begun,
                offset: self.next_offset,
                bytes,
                moved: 0,
            };
            self.begun += 1;
            match end_offset(self.next_offset, bytes) {
                Ok(end) => self.next_offset = end,
                Err(error) => {
                    self.fail(slot, error);
                    return;
                }
            }
            self.start_or_end(slot);
        }
    }

    /// Takes the result of a call.
    fn call_ended(&mut self, slot: usize, result: Result<usize, i32>) {
        let given = self.scope.given_bytes(slot);
        match result {
            Ok(0) => self.fail(slot, moved_nothing(L::OPERATION)),
            Ok(moved) if moved > given => {
                let message = format!("a call of {given} bytes reported {moved}");
                self.fail(slot, io::Error::other(message));
            }
            Ok(moved) => {
                self.scope.advance(slot, moved);
                self.progress[slot].moved += moved as u64;
                self.start_or_end(slot);
            }
            // Interrupted before it moved a byte.
            Err(libc::EINTR) => self.start_or_end(slot),
            Err(code) => self.fail(slot, io::Error::from_raw_os_error(code)),
        }
    }

    /// Makes the next call of a list, or ends it if all of it was moved.
    fn start_or_end(&mut self, slot: usize) {
        let progress = self.progress[slot];
        if progress.moved == progress.bytes {
            (self.on_event)(Event::Ended(progress.number));
            self.release(slot);
            return;
        }
        // It is before the end of the list, which is in range.
        let offset = progress.offset.map(|offset| offset + progress.moved);
        self.scope.start(slot, offset);
    }

    /// Notes the error of the first list that has one.
    fn fail(&mut self, slot: usize, error: io::Error) {
        let error = self.progress[slot].failed(error);
        if self
            .failed
            .as_ref()
            .is_none_or(|first| error.list() < first.list())
        {
            self.failed = Some(error);
        }
        self.release(slot);
    }

    fn release(&mut self, slot: usize) {
        let list = self.scope.unload(slot);
        self.source.give_back(list);
        self.free.push(slot);
    }
}

/// The offset after a list.
fn end_offset(offset: Option<u64>, bytes: u64) -> io::Result<Option<u64>> {
    let Some(offset) = offset else {
        return Ok(None);
    };
    let end = offset.checked_add(bytes);
    match end.filter(|end| i64::try_from(*end).is_ok()) {
        Some(end) => Ok(Some(end)),
        None => {
            let message = format!(
                "{bytes} bytes at offset {offset} end past the largest file offset, 2^63 - 1"
            );
            Err(io::Error::new(io::ErrorKind::InvalidInput, message))
        }
    }
}

fn moved_nothing(operation: Operation) -> io::Error {
    match operation {
        Operation::Write => io::Error::new(
            io::ErrorKind::WriteZero,
            "the kernel took no byte of a write",
        ),
        Operation::Read => io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the file or stream ended within the list",
        ),
    }
}
