//! The loop of transfers: one batch after another until the list's end, each by a call that a [`Sink`]
//! makes. Those of `Gather` that are one call never enter it.

use std::io::{self, IoSlice};
use std::os::fd::RawFd;

use crate::cursor::{Batch, SegmentCursor};
use crate::error::TransferError;

/// Where bytes go.
pub(crate) trait Sink: Sized {
    /// Makes one call, which is to take all of these slices: so many bytes. What it answered, if it did
    /// not. `may_adjoin` is false if none of them begins where the one before it ends.
    fn take_all(
        &mut self,
        slices: &[IoSlice<'_>],
        bytes: usize,
        may_adjoin: bool,
    ) -> Result<(), CallResult>;

    /// Makes one call of which nothing is expected: the same once more, when it was interrupted.
    fn call(&mut self, slices: &[IoSlice<'_>]) -> CallResult;

    /// The descriptor that it writes to, if there is one.
    fn descriptor(&self) -> Option<RawFd> {
        None
    }
}

/// An error, or so many bytes that were taken.
pub(crate) type CallResult = io::Result<usize>;

/// Whatever makes the calls.
pub(crate) struct FnSink<F>(pub(crate) F);

impl<F: FnMut(&[IoSlice<'_>]) -> io::Result<usize>> Sink for FnSink<F> {
    #[inline]
    fn take_all(
        &mut self,
        slices: &[IoSlice<'_>],
        bytes: usize,
        _: bool,
    ) -> Result<(), CallResult> {
        match self.0(slices) {
            Ok(taken) if taken == bytes => Ok(()),
            answer => Err(answer),
        }
    }

    fn call(&mut self, slices: &[IoSlice<'_>]) -> CallResult {
        self.0(slices)
    }
}

/// One call that was made.
pub(crate) struct Attempt {
    given: usize,
    end: SegmentCursor,
    result: io::Result<usize>,
}

impl Attempt {
    /// One of `given` bytes that would have ended there.
    pub(crate) fn of(given: usize, end: SegmentCursor, result: io::Result<usize>) -> Attempt {
        Attempt { given, end, result }
    }

    /// What the call answered.
    pub(crate) fn into_result(self) -> io::Result<usize> {
        self.result
    }
}

impl Batch<'_> {
    /// Gives the batch to `sink`, which makes one system call, until it is not interrupted.
    ///
    /// Inline, down to the call where the sink's is: the first function that is left behind it takes long
    /// ([`FastPath::send_whole`](crate::gather::fast_path::FastPath::send_whole)), and the loop is left once a list.
    #[inline(always)]
    pub(crate) fn send(self, sink: &mut impl Sink) -> Attempt {
        let result = send(sink, self.slices, self.bytes);
        Attempt::of(self.bytes, self.end, result)
    }
}

/// Makes a call, and makes it again until it is not interrupted.
#[inline(always)]
pub(crate) fn send(sink: &mut impl Sink, slices: &[IoSlice<'_>], bytes: usize) -> CallResult {
    match sink.take_all(slices, bytes, true) {
        Ok(()) => Ok(bytes),
        Err(Err(error)) => again(error, &mut || sink.call(slices)),
        Err(taken) => taken,
    }
}

/// Makes a call that has failed again, if it was interrupted, until it is not.
///
/// An interrupted call has moved nothing ("Errors" of write(2)), so it is made again as it was.
///
/// Out of line: who is not interrupted should not have to pass it.
#[cold]
pub(crate) fn again(
    mut error: io::Error,
    call: &mut dyn FnMut() -> io::Result<usize>,
) -> io::Result<usize> {
    while error.kind() == io::ErrorKind::Interrupted {
        match call() {
            Err(other) => error = other,
            result => return result,
        }
    }
    Err(error)
}

/// Keeps a list from becoming several messages where it was meant to be one stream of bytes.
///
/// Whether a descriptor keeps messages apart costs a system call to find out, a good part of what a
/// short write takes. So it is asked only where the answer matters, and at most once a transfer: a
/// list that goes out whole in its first call is one message at any descriptor.
pub(crate) struct SplitGuard<F> {
    start: SegmentCursor,
    may_split: AskOnce<F>,
}

impl<F: FnOnce() -> io::Result<()>> SplitGuard<F> {
    /// Asks at once if the list has been split already, or holds no bytes: an empty message is
    /// a message, and would be dropped. A list that has gone to its end asks nothing.
    pub(crate) fn new(
        segments: &[IoSlice<'_>],
        start: SegmentCursor,
        may_split: F,
    ) -> Result<SplitGuard<F>, TransferError> {
        let mut guard = SplitGuard {
            start,
            may_split: AskOnce::new(may_split),
        };
        let has_begun = start != SegmentCursor::new();
        if has_begun != start.is_at_end(segments) {
            guard
                .may_split
                .ask()
                .map_err(|error| TransferError::new(0, error))?;
        }
        Ok(guard)
    }

    /// Asks, if it was not asked before.
    pub(crate) fn may_split(&mut self) -> io::Result<()> {
        self.may_split.ask()
    }

    /// Sends the batch that begins at `from`, or fails if it may not be one of several.
    #[inline(always)]
    pub(crate) fn send(
        &mut self,
        segments: &[IoSlice<'_>],
        from: SegmentCursor,
        batch: Batch<'_>,
        sink: &mut impl Sink,
    ) -> Attempt {
        let is_whole = from == self.start && batch.end.is_at_end(segments);
        if !is_whole && let Err(error) = self.may_split.ask() {
            return Attempt {
                given: batch.bytes,
                end: batch.end,
                result: Err(error),
            };
        }
        batch.send(sink)
    }
}

/// A question that is asked at most once: whoever was not refused may go on.
pub(crate) struct AskOnce<F>(Option<F>);

impl<F: FnOnce() -> io::Result<()>> AskOnce<F> {
    pub(crate) fn new(question: F) -> AskOnce<F> {
        AskOnce(Some(question))
    }

    pub(crate) fn ask(&mut self) -> io::Result<()> {
        self.0.take().map_or(Ok(()), |question| question())
    }
}

/// Makes attempts from `cursor` on until `attempt` finds nothing left; moves the cursor along.
///
/// `attempt` plans and makes the call at a position, and returns `None` at the end of the list. A
/// short write moves the cursor in the caller's list, and the next call is planned anew from there:
/// what was staged or built for the last call is never a position.
///
/// # Errors
///
/// The first error other than `EINTR`, and `WriteZero` for a call that moved nothing.
pub(crate) fn send_all(
    segments: &[IoSlice<'_>],
    cursor: &mut SegmentCursor,
    mut attempt: impl FnMut(SegmentCursor) -> Option<Attempt>,
) -> Result<u64, TransferError> {
    let mut transferred = 0;
    while let Some(Attempt { given, end, result }) = attempt(*cursor) {
        match result {
            Ok(0) => {
                let nothing = io::Error::new(
                    io::ErrorKind::WriteZero,
                    "the system call wrote none of the bytes it was given",
                );
                return Err(TransferError::new(transferred, nothing));
            }
            Ok(written) => {
                assert!(
                    written <= given,
                    "the system call reported {written} bytes of {given}"
                );
                transferred += written as u64;
                if written == given {
                    *cursor = end;
                } else {
                    cursor.advance(segments, written);
                }
            }
            Err(error) => return Err(TransferError::new(transferred, error)),
        }
    }
    Ok(transferred)
}
