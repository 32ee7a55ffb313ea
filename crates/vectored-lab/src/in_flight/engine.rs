//! Keeps lists in flight: begins them in order, and notes the first error.

use std::collections::VecDeque;
use std::io;

use crate::in_flight::error::ListError;
use crate::in_flight::list::WriteList;
use crate::in_flight::place::{Event, Place};

/// The lists that a queue has in flight on a descriptor. Each is moved whole, or ends with an error.
pub(super) trait Scope<'b> {
    /// A list to read into.
    type Buffers;

    /// The number of lists that neither `wait` nor `take_ended` has returned.
    fn in_flight(&self) -> usize;

    /// Writes a list at an offset, or to a stream. Returns its bytes.
    fn write(&mut self, number: u64, offset: Option<u64>, list: WriteList<'b>) -> u64;

    /// Fills a list from an offset on, or from a stream.
    fn read(&mut self, number: u64, offset: Option<u64>, list: Self::Buffers);

    /// Waits until a list has ended; `None` if none is in flight.
    fn wait(&mut self) -> Option<Ended<Self::Buffers>>;

    /// A list of which it is known that it has ended. Makes no system call.
    fn take_ended(&mut self) -> Option<Ended<Self::Buffers>>;
}

/// A list that is over.
pub(super) struct Ended<B> {
    pub(super) number: u64,
    pub(super) moved: u64,
    pub(super) error: Option<io::Error>,
    /// Those of a read.
    pub(super) buffers: Option<B>,
}

/// Where the lists come from.
pub(super) enum Source<'s, 'b, B> {
    Write(&'s mut dyn FnMut(u64) -> WriteList<'b>),
    /// The lists without a transfer, with their bytes, the one that has had none for the longest time first.
    Read(VecDeque<(B, u64)>),
}

/// Moves `count` lists, at most `depth` at a time: see `ListQueue::write`.
///
/// # Panics
///
/// If there is no list to read into.
pub(super) fn run<'b, S: Scope<'b>>(
    scope: &mut S,
    (place, count, depth): (Place, u64, u32),
    mut source: Source<'_, 'b, S::Buffers>,
    on_event: &mut dyn FnMut(Event),
) -> Result<(), ListError> {
    let (mut most, mut offset) = match place {
        Place::Offset(offset) => (depth as usize, Some(offset)),
        Place::Stream => (1, None),
    };
    if let Source::Read(lists) = &source {
        assert!(
            count == 0 || !lists.is_empty(),
            "there is no list to read into"
        );
        most = most.min(lists.len());
    }
    let mut bytes_of = vec![0; count as usize];
    let (mut begun, mut failed) = (0, None::<ListError>);
    loop {
        while begun < count && failed.is_none() && scope.in_flight() < most {
            on_event(Event::Began(begun));
            let bytes = match &mut source {
                Source::Write(list) => scope.write(begun, offset, list(begun)),
                Source::Read(free) => {
                    let (list, bytes) = free.pop_front().expect("a list for each transfer");
                    scope.read(begun, offset, list);
                    bytes
                }
            };
            bytes_of[begun as usize] = bytes;
            // The kernel refuses an offset past the largest one.
            offset = offset.map(|offset| offset.saturating_add(bytes));
            begun += 1;
        }
        let Some(first) = scope.wait() else {
            return failed.map_or(Ok(()), Err);
        };
        // All that have ended are noticed before the next one begins.
        let mut next = Some(first);
        while let Some(ended) = next {
            let Ended {
                number,
                moved,
                error,
                buffers,
            } = ended;
            let bytes = bytes_of[number as usize];
            if let (Source::Read(free), Some(list)) = (&mut source, buffers) {
                free.push_back((list, bytes));
            }
            if error.is_none() && moved == bytes {
                on_event(Event::Ended(number));
            } else if failed.as_ref().is_none_or(|first| number < first.list()) {
                let error = error.unwrap_or_else(ended_early);
                failed = Some(ListError::new(number, moved, bytes, error));
            }
            next = scope.take_ended();
        }
    }
}

fn ended_early() -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        "the file or stream ended within the list",
    )
}
