//! Keeps lists in flight: begins them in order, and notes the first error.

use std::collections::VecDeque;
use std::io;

use crate::in_flight::list_queue::{Event, ListError, Place};

/// The lists that a queue has in flight on a descriptor. Each is moved whole, or ends with an error.
pub(super) trait Scope {
    type List;

    /// The number of lists that neither `wait` nor `take_ended` has returned.
    fn in_flight(&self) -> usize;

    /// Moves a list at an offset, or to or from a stream. Returns its bytes.
    fn begin(&mut self, number: u64, offset: Option<u64>, list: Self::List) -> u64;

    fn wait(&mut self) -> Option<Ended<Self::List>>;

    /// A list that is known to have ended. Makes no system call.
    fn take_ended(&mut self) -> Option<Ended<Self::List>>;
}

pub(super) struct Ended<L> {
    pub(super) number: u64,
    pub(super) moved: u64,
    pub(super) error: Option<io::Error>,
    pub(super) list: L,
}

pub(super) fn run<S: Scope>(
    scope: &mut S,
    (place, count, most): (Place, u64, usize),
    over: &mut VecDeque<S::List>,
    mut next: impl FnMut(&mut VecDeque<S::List>, u64) -> S::List,
    on_event: &mut dyn FnMut(Event),
) -> Result<(), ListError> {
    let (most, mut offset) = match place {
        Place::Offset(offset) => (most, Some(offset)),
        Place::Stream => (1, None),
    };
    let mut bytes_of = vec![0; count as usize];
    let (mut begun, mut failed) = (0, None::<ListError>);
    loop {
        while begun < count && failed.is_none() && scope.in_flight() < most {
            on_event(Event::Began(begun));
            let list = next(over, begun);
            let bytes = scope.begin(begun, offset, list);
            bytes_of[begun as usize] = bytes;
            // The kernel refuses an offset past the largest offset.
            offset = offset.map(|offset| offset.saturating_add(bytes));
            begun += 1;
        }
        let Some(first) = scope.wait() else {
            return failed.map_or(Ok(()), Err);
        };
        // All transfers that have ended are noticed before the next transfer begins.
        let mut ended = Some(first);
        while let Some(Ended {
            number,
            moved,
            error,
            list,
        }) = ended
        {
            over.push_back(list);
            let bytes = bytes_of[number as usize];
            if error.is_none() && moved == bytes {
                on_event(Event::Ended(number));
            } else if failed.as_ref().is_none_or(|first| number < first.list()) {
                let error = error.unwrap_or_else(ended_early);
                failed = Some(ListError::new(number, moved, bytes, error));
            }
            ended = scope.take_ended();
        }
    }
}

pub(super) fn ended_early() -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        "the file or stream ended within the list",
    )
}
