//! The loop of writes, which passes batches to a [`Sink`] until the end of the list.

use std::io::{self, IoSlice};

use crate::cursor::SegmentCursor;
use crate::error::TransferError;
use crate::interruption::{CallEnd, go_on_after};
use crate::plan::Batch;

/// Makes the system calls of a transfer. Tests replace the system calls by a script.
pub(crate) trait Sink: Sized {
    /// Makes one call that is expected to take all `bytes` of `slices`. If the call does not take all bytes, `Err` has
    /// the result of the call: the number of bytes, or the error.
    ///
    /// `_may_adjoin` is false if no two neighbouring slices are adjacent in memory.
    #[inline]
    fn take_all(
        &mut self,
        slices: &[IoSlice<'_>],
        bytes: usize,
        _may_adjoin: bool,
    ) -> Result<(), io::Result<usize>> {
        whole(self.call(slices), bytes)
    }

    /// Like [`take_all`](Sink::take_all), for one slice that this process owns.
    #[inline(always)]
    fn take_bytes(&mut self, bytes: &[u8]) -> Result<(), io::Result<usize>> {
        self.take_all(&[IoSlice::new(bytes)], bytes.len(), false)
    }

    /// Makes one call that may take fewer bytes than `slices` has: a retry.
    fn call(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize>;
}

/// Turns the result of a call that was expected to take `bytes` into the result of [`Sink::take_all`].
#[inline(always)]
pub(crate) fn whole(result: io::Result<usize>, bytes: usize) -> Result<(), io::Result<usize>> {
    match result {
        Ok(taken) if taken == bytes => Ok(()),
        answer => Err(answer),
    }
}

pub(crate) struct FnSink<F>(pub(crate) F);

impl<F: FnMut(&[IoSlice<'_>]) -> io::Result<usize>> Sink for FnSink<F> {
    #[inline]
    fn call(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0(slices)
    }
}

pub(crate) struct Attempt {
    given: usize,
    end: SegmentCursor,
    result: io::Result<usize>,
}

impl Attempt {
    pub(crate) fn new(given: usize, end: SegmentCursor, result: io::Result<usize>) -> Attempt {
        Attempt { given, end, result }
    }

    pub(crate) fn into_result(self) -> io::Result<usize> {
        self.result
    }
}

impl Batch<'_> {
    /// Passes the batch to `sink`, which makes one system call. Repeats the call after each interruption.
    ///
    /// The method and the methods of the sink are inline. After a system call, the first return from a function takes
    /// long ([`fast_path`](crate::gather::fast_path)).
    #[inline(always)]
    pub(crate) fn send(self, sink: &mut impl Sink) -> Attempt {
        let result = send(sink, self.slices, self.bytes, true);
        Attempt::new(self.bytes, self.end, result)
    }
}

/// Makes a call, and retries the call after `EINTR`. [`Sink::take_all`] describes `may_adjoin`.
#[inline(always)]
pub(crate) fn send(
    sink: &mut impl Sink,
    slices: &[IoSlice<'_>],
    bytes: usize,
    may_adjoin: bool,
) -> io::Result<usize> {
    match sink.take_all(slices, bytes, may_adjoin) {
        Ok(()) => Ok(bytes),
        Err(Err(error)) => retry_interrupted(error, &mut || sink.call(slices)),
        Err(taken) => taken,
    }
}

/// Retries a call that failed with `EINTR`, until the error is not `EINTR` or the program stops the transfer.
///
/// An interrupted call has moved no bytes ("Errors" of write(2)), so the call is repeated without a change. The
/// function is out of line to keep the path without interruptions short.
#[cold]
pub(crate) fn retry_interrupted(
    mut error: io::Error,
    call: &mut dyn FnMut() -> io::Result<usize>,
) -> io::Result<usize> {
    while error.kind() == io::ErrorKind::Interrupted {
        go_on_after(CallEnd::Cut)?;
        match call() {
            Err(other) => error = other,
            result => return result,
        }
    }
    Err(error)
}

/// Prevents a list from being sent as several messages to a descriptor that keeps messages apart.
///
/// To query the descriptor takes a system call, which is long beside a short write. A list that the first call takes
/// whole is one message on any descriptor. So the guard queries only for other lists, and at most once in a transfer.
pub(crate) struct SplitGuard<F> {
    start: SegmentCursor,
    /// The query, until the query was made.
    may_split: Option<F>,
}

impl<F: FnOnce() -> io::Result<()>> SplitGuard<F> {
    /// Queries at once if a part of the list was already sent. Also queries for a list without bytes, because an empty
    /// message would be dropped. Does not query if the whole list was already sent.
    pub(crate) fn new(
        segments: &[IoSlice<'_>],
        start: SegmentCursor,
        may_split: F,
    ) -> Result<SplitGuard<F>, TransferError> {
        let mut guard = SplitGuard::unasked(start, may_split);
        let has_begun = start != SegmentCursor::new();
        if has_begun != start.is_end_of(segments) {
            guard.ask().map_err(|error| TransferError::new(0, error))?;
        }
        Ok(guard)
    }

    pub(crate) fn unasked(start: SegmentCursor, may_split: F) -> SplitGuard<F> {
        SplitGuard {
            start,
            may_split: Some(may_split),
        }
    }

    /// Queries whether the list may be split, unless the guard has queried before.
    pub(crate) fn ask(&mut self) -> io::Result<()> {
        self.may_split
            .take()
            .map_or(Ok(()), |may_split| may_split())
    }

    /// Sends the batch that begins at `from`. Fails if the batch is only a part of the list and the list may not be
    /// split.
    #[inline(always)]
    pub(crate) fn send(
        &mut self,
        segments: &[IoSlice<'_>],
        from: SegmentCursor,
        batch: Batch<'_>,
        sink: &mut impl Sink,
    ) -> Attempt {
        let is_whole = from == self.start && batch.end.is_end_of(segments);
        let may_send = if is_whole { Ok(()) } else { self.ask() };
        match may_send {
            Ok(()) => batch.send(sink),
            Err(error) => Attempt::new(batch.bytes, batch.end, Err(error)),
        }
    }
}

/// Calls `attempt` from `cursor` on until `attempt` returns `None`, and moves the cursor.
///
/// `attempt` plans and makes the call at a position. At the end of the list, `attempt` returns `None`. A short write
/// moves the cursor in the caller's list, and the next call is planned from the cursor. A position in the staging
/// buffer is never kept. After a call that moved bytes, the cursor is at the next byte or at the end of the list, as
/// described for [`advance`](SegmentCursor::advance).
///
/// # Errors
///
/// The first error other than `EINTR`, `WriteZero` for a call that moved nothing, and `EINTR` if the program stops the
/// transfer.
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
                let mut call_end = CallEnd::Other;
                if written == given {
                    *cursor = end.skip_empty(segments);
                } else {
                    cursor.advance_over(segments, written);
                    call_end = CallEnd::Cut;
                }
                if cursor.segment() < segments.len() {
                    go_on_after(call_end)
                        .map_err(|error| TransferError::new(transferred, error))?;
                }
            }
            Err(error) => return Err(TransferError::new(transferred, error)),
        }
    }
    // If all segments are empty, no call has moved the cursor.
    *cursor = SegmentCursor::at(segments.len(), 0);
    Ok(transferred)
}
