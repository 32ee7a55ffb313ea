//! Writing a list by copying what is small and referencing what is large.

pub(crate) mod fast_path;
pub(crate) mod gathers;
pub(crate) mod pace;
pub(crate) mod plan;

use std::fmt;
use std::io::{self, IoSlice};
use std::mem;
use std::os::fd::{AsFd, BorrowedFd, RawFd};

use crate::Limits;
use crate::cost::CostModel;
use crate::cursor::SegmentCursor;
use crate::error::TransferError;
use crate::gather::fast_path::{FEW_ENTRIES, FastPath, FastPathMiss, SingleCall};
use crate::gather::pace::Pace;
use crate::gather::plan::{plan, plan_after_staged_prefix};
use crate::transfer::direct_retry::resend_uncopied;
use crate::transfer::message_sockets::refuse_messages;
use crate::transfer::unvectored::Stream;
use crate::transfer::write_loop::{
    Attempt, CallResult, FnSink, Sink, SplitGuard, again, send, send_all,
};
use crate::write::all::{send_all_referenced, write_from};
use crate::write::positional::{check_end, into_file};

/// A gathering writer: copies small segments together, references large ones, in one call.
///
/// To hand a segment to the kernel costs about 20 ns, however short it is; to copy one costs a few
/// nanoseconds and its bytes. So `Gather` copies runs of short segments into a staging buffer, where
/// a run takes one entry of the call, and leaves long ones where they are. A segment is short if it is no
/// longer than [`CostModel::copy_below_bytes`] for the number of segments of the list.
///
/// There is one more case: the list begins with a run, and at most 15 segments follow the run, as a body follows the
/// pieces of a header. The run is one entry of the call. So with `k` segments behind it the call has `k + 1` entries,
/// and the `k` segments are copied too if they fit the staging buffer and have no more than
/// `(k + 1) · copy_below_bytes(k + 1)` bytes together.
///
/// `Gather::default()` decides by the model of [`TargetKind::Other`](crate::TargetKind::Other): it does not ask what
/// a descriptor leads to.
///
/// Segments that adjoins in memory, pieces of one buffer, are one entry of a call without being copied,
/// and a list that is one piece altogether is never copied, if one call takes it.
///
/// Staging is aligned to a page, so a file that is open with `O_DIRECT` takes what is copied of an aligned
/// list. If it answers `EINVAL` all the same, what is left of the list is tried once more uncopied.
///
/// It owns the memory that this takes: the staging buffer, of
/// [`staging_bytes`](CostModel::staging_bytes) (if there is no memory for it, nothing is copied), and an array of
/// at most [`iov_max`](crate::iov_max)
/// entries. Each is allocated by the first list that needs it and kept, so keep the `Gather` and
/// use it again: further lists allocate nothing. The first list that is copied pays for all of the staging buffer,
/// however short the list is: with 256 KiB, two segments of 30 bytes to `/dev/null` took 17 µs by a new `Gather` and
/// 0.3 µs by one that was kept. One `Gather` serves all connections of a thread. For a program that writes one list
/// and ends, [`write_all_vectored`](crate::write_all_vectored) allocates nothing. A `Gather` holds none of a caller's
/// bytes back: a list is written when [`write_all`](Gather::write_all) returns, or an error says how much of it.
///
/// # Examples
///
/// ```
/// use std::io::{IoSlice, Read};
/// use vectored::{CostModel, Gather, TargetKind};
///
/// # fn main() -> std::io::Result<()> {
/// let (mut reader, writer) = std::io::pipe()?;
/// let mut gather = Gather::new(CostModel::default_for(TargetKind::Pipe));
///
/// let words = ["to ", "be ", "or ", "not ", "to ", "be\n"];
/// let segments: Vec<_> = words.iter().map(|word| IoSlice::new(word.as_bytes())).collect();
/// assert_eq!(gather.write_all(&writer, &segments)?, 19);
/// drop(writer);
///
/// let mut line = String::new();
/// reader.read_to_string(&mut line)?;
/// assert_eq!(line, "to be or not to be\n");
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct Gather {
    fast_path: FastPath,
    pace: Pace,
    /// Always empty between calls: kept for its memory.
    iovecs: Vec<IoSlice<'static>>,
    /// The same, for the chunks of a `bytes::Buf`.
    #[cfg(feature = "bytes")]
    pub(crate) slices: Vec<IoSlice<'static>>,
}

impl Gather {
    /// A gathering writer that decides by `model`. Allocates nothing yet.
    #[must_use]
    pub const fn new(model: CostModel) -> Gather {
        Gather {
            fast_path: FastPath::new(model),
            pace: Pace::new(),
            iovecs: Vec::new(),
            #[cfg(feature = "bytes")]
            slices: Vec::new(),
        }
    }

    /// One whose calls keep within these limits.
    #[cfg(test)]
    pub(crate) fn within(limits: Limits, model: CostModel) -> Gather {
        Gather {
            fast_path: FastPath::within(limits, model),
            ..Gather::default()
        }
    }

    /// What one of its calls takes.
    #[cfg(any(test, feature = "bytes"))]
    pub(crate) fn limits(&self) -> Limits {
        self.fast_path.limits()
    }

    /// The model that decides.
    #[must_use]
    pub fn cost_model(&self) -> &CostModel {
        &self.fast_path.model
    }

    /// Writes all of `segments` in order and returns their bytes.
    ///
    /// Small segments are copied where two or more of them follow one another; other segments are referenced,
    /// except for a few behind a run at the start of the list ([details](Gather)). One call is a `writev(2)` of at
    /// most [`iov_max`](crate::iov_max) entries, of which one can hold many small segments, and
    /// [`MAX_CALL_BYTES`](crate::MAX_CALL_BYTES); it is a `write(2)` where one entry is all. It also ends where the staging buffer is full. As with
    /// [`write_all_vectored`](crate::write_all_vectored), a list may take several calls, other
    /// writers may come in between, and if all segments are empty nothing is written.
    ///
    /// # Errors
    ///
    /// As [`write_all_vectored`](crate::write_all_vectored): the first error other than `EINTR`, with
    /// the bytes of the list that were written before it. The `Gather` can be used again.
    #[inline]
    pub fn write_all(
        &mut self,
        fd: impl AsFd,
        segments: &[IoSlice<'_>],
    ) -> Result<u64, TransferError> {
        self.write_all_to(fd.as_fd(), segments)
    }

    /// Compiled once, and not for each kind of descriptor.
    #[inline(never)]
    fn write_all_to(
        &mut self,
        fd: BorrowedFd<'_>,
        segments: &[IoSlice<'_>],
    ) -> Result<u64, TransferError> {
        // And not by `write_from`: most transfers need no cursor.
        let mut stream = Stream::of(fd);
        match self.fast_path.send_in_one_call(segments, &mut stream) {
            Ok(bytes) => Ok(bytes),
            Err(miss) => {
                let (cursor, may_split) = (&mut SegmentCursor::new(), || refuse_messages(fd));
                let sent = self.resume_after_miss(miss, segments, cursor, may_split, stream);
                sent.or_else(|error| {
                    resend_uncopied(fd, error, |_| write_from(fd, segments, cursor))
                })
            }
        }
    }

    /// Writes `segments` from `cursor` to the end of the list, and returns the bytes of this call.
    ///
    /// It is to [`write_all`](Gather::write_all) what [`write_from`] is to
    /// [`write_all_vectored`](crate::write_all_vectored): whether it succeeds or fails, `cursor` has
    /// moved in the caller's list by exactly the bytes that went, and with it the transfer goes on
    /// after [`WouldBlock`](io::ErrorKind::WouldBlock). Nothing that was staged outlives the call,
    /// so another `Gather`, or none, may go on in its place.
    ///
    /// # `SIGPIPE`
    ///
    /// If the reader of a pipe or socket is gone, the call raises `SIGPIPE`, which ends the process unless the signal is
    /// ignored, blocked or handled; then the error is [`BrokenPipe`](io::ErrorKind::BrokenPipe). A Rust program ignores it
    /// from its start. ([Which functions raise none](crate#signals-timeouts-and-full-descriptors).)
    ///
    /// # Errors
    ///
    /// As [`write_from`].
    ///
    /// # Panics
    ///
    /// If the cursor lies outside of the list.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::{ErrorKind, IoSlice};
    /// use std::os::unix::net::UnixStream;
    /// use vectored::{Gather, SegmentCursor};
    ///
    /// # fn main() -> std::io::Result<()> {
    /// let (writer, reader) = UnixStream::pair()?;
    /// writer.set_nonblocking(true)?;
    /// let words = vec![IoSlice::new(b"word "); 1_000_000];
    /// let mut gather = Gather::default();
    /// let mut cursor = SegmentCursor::new();
    ///
    /// let full = gather.write_from(&writer, &words, &mut cursor).unwrap_err();
    /// assert_eq!(full.kind(), ErrorKind::WouldBlock);
    /// let left = cursor.remaining_bytes(&words);
    /// assert_eq!(full.transferred() + left, 5_000_000);
    /// # drop(reader);
    /// # Ok(())
    /// # }
    /// ```
    pub fn write_from(
        &mut self,
        fd: impl AsFd,
        segments: &[IoSlice<'_>],
        cursor: &mut SegmentCursor,
    ) -> Result<u64, TransferError> {
        let fd = fd.as_fd();
        let sent = self.send_from(segments, cursor, || refuse_messages(fd), Stream::of(fd));
        sent.or_else(|error| resend_uncopied(fd, error, |_| write_from(fd, segments, cursor)))
    }

    /// Writes all of `segments` in order into a file, from `offset` bytes after its start on, and
    /// returns their bytes.
    ///
    /// It is to [`write_all`](Gather::write_all) what
    /// [`write_all_vectored_at`](crate::write_all_vectored_at) is to
    /// [`write_all_vectored`](crate::write_all_vectored): the file's position is neither used nor
    /// moved, except that Linux appends through a descriptor opened with `O_APPEND`, whatever the
    /// offset is.
    ///
    /// # Errors
    ///
    /// As [`write_all_vectored_at`](crate::write_all_vectored_at).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::IoSlice;
    /// use vectored::Gather;
    ///
    /// # fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("vectored-doc-all-at-{}", std::process::id()));
    /// let page = std::fs::File::create(&path)?;
    /// let header = [IoSlice::new(b"key"), IoSlice::new(b"="), IoSlice::new(b"value")];
    /// Gather::default().write_all_at(&page, &header, 2)?;
    /// assert_eq!(std::fs::read(&path)?, b"\0\0key=value");
    /// # std::fs::remove_file(&path)
    /// # }
    /// ```
    pub fn write_all_at(
        &mut self,
        fd: impl AsFd,
        segments: &[IoSlice<'_>],
        offset: u64,
    ) -> Result<u64, TransferError> {
        check_end(segments, offset)?;
        let (fd, cursor) = (fd.as_fd(), &mut SegmentCursor::new());
        let sent = self.send_all(segments, cursor, || Ok(()), into_file(fd, offset));
        sent.or_else(|error| {
            resend_uncopied(fd, error, |before| {
                let file = into_file(fd, offset + before);
                send_all_referenced(segments, cursor, Limits::default(), || Ok(()), file)
            })
        })
    }

    /// `write_from` by any calls.
    pub(crate) fn send_all(
        &mut self,
        segments: &[IoSlice<'_>],
        cursor: &mut SegmentCursor,
        may_split: impl FnOnce() -> io::Result<()>,
        call: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> Result<u64, TransferError> {
        self.send_from(segments, cursor, may_split, FnSink(call))
    }

    /// `write_from` into any sink.
    #[inline(always)]
    pub(crate) fn send_from(
        &mut self,
        segments: &[IoSlice<'_>],
        cursor: &mut SegmentCursor,
        may_split: impl FnOnce() -> io::Result<()>,
        mut sink: impl Sink,
    ) -> Result<u64, TransferError> {
        if *cursor != SegmentCursor::new() {
            let descriptor = sink.descriptor();
            let result = self.resume(segments, cursor, may_split, sink, None);
            self.end(segments, descriptor);
            return result;
        }
        match self.fast_path.send_in_one_call(segments, &mut sink) {
            Ok(bytes) => {
                *cursor = SegmentCursor::at(segments.len(), 0);
                Ok(bytes)
            }
            Err(miss) => self.resume_after_miss(miss, segments, cursor, may_split, sink),
        }
    }

    /// A transfer that has begun like that.
    #[inline(always)]
    fn resume_after_miss(
        &mut self,
        miss: FastPathMiss,
        segments: &[IoSlice<'_>],
        cursor: &mut SegmentCursor,
        may_split: impl FnOnce() -> io::Result<()>,
        sink: impl Sink,
    ) -> Result<u64, TransferError> {
        match miss {
            FastPathMiss::NotSent if self.fast_path.is_long(segments) => {
                self.resume_paced(segments, cursor, may_split, sink)
            }
            miss => self.resume_behind(miss, segments, cursor, may_split, sink),
        }
    }

    /// The same, for a list that is not long or whose way is found.
    #[inline(always)]
    fn resume_behind(
        &mut self,
        miss: FastPathMiss,
        segments: &[IoSlice<'_>],
        cursor: &mut SegmentCursor,
        may_split: impl FnOnce() -> io::Result<()>,
        sink: impl Sink,
    ) -> Result<u64, TransferError> {
        match miss {
            FastPathMiss::NotSent => {
                self.resume_after_staged_prefix(segments, cursor, may_split, sink)
            }
            FastPathMiss::Answered(whole, answer) => {
                self.resume_after_short_call(segments, cursor, may_split, sink, (whole, answer))
            }
        }
    }

    /// A transfer of a list that is long for its target: in pieces if it begins without a pause.
    #[inline(never)]
    fn resume_paced(
        &mut self,
        segments: &[IoSlice<'_>],
        cursor: &mut SegmentCursor,
        may_split: impl FnOnce() -> io::Result<()>,
        sink: impl Sink,
    ) -> Result<u64, TransferError> {
        let descriptor = sink.descriptor();
        let is_burst = self.pace.begin(descriptor);
        self.fast_path.set_burst(is_burst);
        let result = if is_burst {
            match self.pace.ask(descriptor, may_split) {
                Ok(()) => self.resume(segments, cursor, || Ok(()), sink, None),
                // It keeps messages apart, so the list goes as after a pause.
                Err(error) => {
                    self.fast_path.set_burst(false);
                    self.resume_after_pause(segments, cursor, || Err(error), sink)
                }
            }
        } else {
            self.resume_after_pause(segments, cursor, may_split, sink)
        };
        self.end(segments, descriptor);
        result
    }

    /// A transfer of a long list outside of a burst.
    fn resume_after_pause(
        &mut self,
        segments: &[IoSlice<'_>],
        cursor: &mut SegmentCursor,
        may_split: impl FnOnce() -> io::Result<()>,
        mut sink: impl Sink,
    ) -> Result<u64, TransferError> {
        match self.fast_path.send_long_in_one_call(segments, &mut sink) {
            Ok(bytes) => {
                *cursor = SegmentCursor::at(segments.len(), 0);
                Ok(bytes)
            }
            Err(miss) => self.resume_behind(miss, segments, cursor, may_split, sink),
        }
    }

    /// A transfer ends here, perhaps before the end of its list.
    fn end(&mut self, segments: &[IoSlice<'_>], descriptor: Option<RawFd>) {
        if self.fast_path.is_long(segments) {
            self.pace.end(descriptor);
        }
    }

    /// A transfer that was to be one call, which has answered something else.
    #[cold]
    fn resume_after_short_call(
        &mut self,
        segments: &[IoSlice<'_>],
        cursor: &mut SegmentCursor,
        may_split: impl FnOnce() -> io::Result<()>,
        mut sink: impl Sink,
        (whole, answer): (SingleCall, CallResult),
    ) -> Result<u64, TransferError> {
        let result = match answer {
            // As it was: it may be a message, and another list is another.
            Err(error) => again(error, &mut || match whole.is_staged {
                true => sink.call(&[IoSlice::new(&self.fast_path.staging)]),
                false => sink.call(segments),
            }),
            answer => answer,
        };
        let end = SegmentCursor::at(segments.len(), 0);
        let attempt = Attempt::of(whole.bytes, end, result);
        self.resume(segments, cursor, may_split, sink, Some(attempt))
    }

    /// A transfer that is not known to be one call. Segments at its start may be staged.
    #[inline(never)]
    fn resume_after_staged_prefix(
        &mut self,
        segments: &[IoSlice<'_>],
        cursor: &mut SegmentCursor,
        may_split: impl FnOnce() -> io::Result<()>,
        mut sink: impl Sink,
    ) -> Result<u64, TransferError> {
        let count = self.fast_path.run();
        if count == 0 {
            return self.resume(segments, cursor, may_split, sink, None);
        }
        let mut room = [IoSlice::new(&[]); FEW_ENTRIES];
        if let Some(entries) = self
            .fast_path
            .entries_after_staged_prefix(segments, &mut room)
        {
            let bytes = entries.iter().map(|entry| entry.len()).sum();
            let end = SegmentCursor::at(segments.len(), 0);
            let result = send(&mut sink, entries, bytes);
            if matches!(result, Ok(taken) if taken == bytes) {
                *cursor = end;
                return Ok(bytes as u64);
            }
            let attempt = Attempt::of(bytes, end, result);
            return self.resume(segments, cursor, may_split, sink, Some(attempt));
        }
        let rules = self.fast_path.rules(segments);
        if self.fast_path.staging.len() > rules.limits.bytes {
            // It goes in pieces, of which the first is shorter: staged anew.
            return self.resume(segments, cursor, may_split, sink, None);
        }
        let mut guard = SplitGuard::new(segments, *cursor, may_split)?;
        let mut iovecs = recycle(mem::take(&mut self.iovecs));
        let batch =
            plan_after_staged_prefix(segments, count, rules, self.fast_path.staged(), &mut iovecs);
        let attempt = guard.send(segments, *cursor, batch, &mut sink);
        self.iovecs = recycle(iovecs);
        let may_split = || guard.may_split();
        self.resume(segments, cursor, may_split, sink, Some(attempt))
    }

    /// All calls of a transfer, but for a first one that was made already.
    #[inline(never)]
    fn resume(
        &mut self,
        segments: &[IoSlice<'_>],
        cursor: &mut SegmentCursor,
        may_split: impl FnOnce() -> io::Result<()>,
        mut sink: impl Sink,
        mut first: Option<Attempt>,
    ) -> Result<u64, TransferError> {
        let mut guard = SplitGuard::new(segments, *cursor, may_split)?;
        let rules = self.fast_path.rules(segments);
        send_all(segments, cursor, |from| {
            if let Some(attempt) = first.take() {
                return Some(attempt);
            }
            if from.is_at_end(segments) {
                return None;
            }
            let rules = self.fast_path.rules_for_rest(rules, segments, from);
            let mut iovecs = recycle(mem::take(&mut self.iovecs));
            let attempt = plan(segments, from, rules, self.fast_path.empty(), &mut iovecs)
                .map(|batch| guard.send(segments, from, batch, &mut sink));
            self.iovecs = recycle(iovecs);
            attempt
        })
    }
}

impl fmt::Debug for Gather {
    /// Without the bytes of the staging buffer, which are a caller's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gather")
            .field("model", self.cost_model())
            .finish_non_exhaustive()
    }
}

/// The memory of an array of slices, empty and free for slices of another lifetime.
///
/// `collect` reuses the allocation of a `Vec` that it consumes where the item's size is the same.
/// The standard library does not promise that; if it ever stopped, a test here would tell, and the
/// result would still be right.
pub(crate) fn recycle<'a>(mut slices: Vec<IoSlice<'_>>) -> Vec<IoSlice<'a>> {
    slices.clear();
    slices.into_iter().map(|_| IoSlice::new(&[])).collect()
}

#[cfg(test)]
mod pace_tests;
#[cfg(test)]
mod pieces_tests;
#[cfg(test)]
mod warm_tests;
#[cfg(test)]
mod tests {
    use super::*;
    use crate::TargetKind;
    use crate::cost::thresholds::CopyThresholds;
    use crate::testing::{
        Answer, ScriptedSink, any_even_sizes, any_limits, any_script, any_sizes, any_wide_limits,
        check_against_model, for_a_descriptor_of_messages, for_all_cuts_of_small_lists, list,
        payload,
    };
    use proptest::prelude::*;

    /// One that copies so much, and whose calls keep within these limits.
    fn gather_within(limits: Limits, copy_below_bytes: usize, staging_bytes: usize) -> Gather {
        let model = CostModel {
            copy_thresholds: CopyThresholds::everywhere(copy_below_bytes as u32),
            staging_bytes,
            ..CostModel::default()
        };
        Gather::within(limits, model)
    }

    fn gather_with_staging(staging_bytes: usize) -> Gather {
        Gather::new(CostModel {
            staging_bytes,
            ..CostModel::default()
        })
    }

    fn check(gather: &mut Gather, sizes: &[usize], script: &[Answer]) {
        let limits = gather.limits();
        check_against_model(sizes, script, limits, |segments, cursor, sink| {
            let may_split = || Ok(());
            gather.send_all(segments, cursor, may_split, |slices| sink.call(slices))
        });
    }

    /// The lengths of the entries of each call for a list, all of which is taken.
    fn entries_of_calls(gather: &mut Gather, segments: &[IoSlice<'_>]) -> Vec<Vec<usize>> {
        let mut calls: Vec<Vec<usize>> = Vec::new();
        let mut cursor = SegmentCursor::new();
        let sink = |slices: &[IoSlice<'_>]| {
            let entries: Vec<usize> = slices.iter().map(|slice| slice.len()).collect();
            let bytes = entries.iter().sum();
            calls.push(entries);
            Ok(bytes)
        };
        let sent = gather.send_all(segments, &mut cursor, || Ok(()), sink);
        let bytes: usize = segments.iter().map(|segment| segment.len()).sum();
        assert_eq!(sent.unwrap(), bytes as u64);
        assert!(cursor.is_at_end(segments));
        calls
    }

    /// The calls that the default model makes of a list of these sizes.
    fn calls_of(sizes: &[usize]) -> usize {
        let mut gather = Gather::default();
        let data = payload(sizes);
        let mut sink = ScriptedSink::new(Vec::new(), gather.limits());
        let mut cursor = SegmentCursor::new();
        let result = gather.send_all(
            &list(&data),
            &mut cursor,
            || Ok(()),
            |slices| sink.call(slices),
        );
        assert_eq!(result.unwrap(), data.concat().len() as u64);
        assert_eq!(sink.taken, data.concat());
        sink.calls
    }

    proptest! {
        #[test]
        fn any_list_by_any_rules_arrives_whole_in_order_and_counted(
            lists in prop::collection::vec((any_sizes(), any_script()), 1..4),
            copy_below_bytes in prop_oneof![Just(0), 1..70_usize, Just(1000)],
            staging_bytes in prop_oneof![Just(0), 1..300_usize],
            limits in any_limits(),
        ) {
            // One `Gather` for several lists: nothing of one may come through into the next.
            let mut gather = gather_within(limits, copy_below_bytes, staging_bytes);
            for (sizes, script) in lists {
                check(&mut gather, &sizes, &script);
            }
        }
    }

    proptest! {
        #[test]
        fn lists_like_the_last_one_arrive_as_that_did(
            lists in prop::collection::vec((any_even_sizes(), any_script()), 1..4),
            copy_below_bytes in prop_oneof![Just(0), 1..70_usize, 129..700_usize, Just(3000)],
            staging_bytes in prop_oneof![1..300_usize, 1000..6000_usize],
            limits in any_wide_limits(),
        ) {
            let mut gather = gather_within(limits, copy_below_bytes, staging_bytes);
            for (sizes, script) in lists {
                // What the first finds out is known to the second, and the memory is there.
                check(&mut gather, &sizes, &[]);
                check(&mut gather, &sizes, &script);
            }
        }
    }

    #[test]
    fn a_model_with_more_staging_than_there_is_memory_writes_all_the_same() {
        let data = payload(&[3, 5, 70_000, 4]);
        let mut gather = gather_with_staging(usize::MAX);
        let (mut reader, writer) = std::io::pipe().unwrap();
        // From the middle, too, where the general loop begins.
        let mut cursor = SegmentCursor::at(0, 1);
        let segments = list(&data);
        let moving = std::thread::spawn(move || {
            let mut all = Vec::new();
            std::io::Read::read_to_end(&mut reader, &mut all).map(|_| all)
        });
        gather.write_all(&writer, &segments).unwrap();
        gather.write_from(&writer, &segments, &mut cursor).unwrap();
        drop(writer);
        let model = data.concat();
        let arrived = moving.join().unwrap().unwrap();
        assert!(arrived == [&model[..], &model[1..]].concat());
    }

    #[test]
    fn a_list_that_is_one_piece_is_passed_as_it_is() {
        let data = payload(&[60]).concat();
        let touching = [&data[0..10], &data[10..20], &data[20..25], &data[25..50]];
        let limits = Limits {
            segments: 4,
            bytes: 50,
        };
        let mut gather = gather_within(limits, 100, 50);
        let calls = entries_of_calls(&mut gather, &touching.map(IoSlice::new));
        assert_eq!(calls, [[10, 10, 5, 25]]);
        assert_eq!(gather.fast_path.staging.capacity(), 0, "nothing is copied");
    }

    #[test]
    fn short_writes_resume_at_every_cut_of_small_lists_at_every_border() {
        for copy_below_bytes in 0..=3 {
            let limits = Limits {
                segments: 3,
                bytes: 8,
            };
            let mut gather = gather_within(limits, copy_below_bytes, 5);
            for_all_cuts_of_small_lists(|sizes, script| check(&mut gather, sizes, script));
        }
    }

    #[test]
    fn an_error_at_any_point_carries_what_went_before_it() {
        let mut gather = gather_within(Limits::default(), 3, 100);
        for before in 0..22 {
            for code in [libc::EAGAIN, libc::EIO, libc::ENOSPC, libc::EPIPE] {
                let mut script = vec![Answer::Take(1); before];
                script.push(Answer::Fail(code));
                check(&mut gather, &[2, 3, 0, 8, 1, 3, 5], &script);
            }
        }
    }

    #[test]
    fn only_a_list_that_is_one_whole_call_goes_to_a_descriptor_of_messages() {
        for copy_below_bytes in [0, 25] {
            let limits = Limits {
                segments: 3,
                bytes: 100,
            };
            let mut gather = gather_within(limits, copy_below_bytes, 45);
            for_a_descriptor_of_messages(|segments, cursor, sink| {
                let refuse = || Err(io::ErrorKind::InvalidInput.into());
                gather.send_all(segments, cursor, refuse, |slices| sink.call(slices))
            });
        }
    }

    #[test]
    fn many_more_small_segments_than_iov_max_go_in_one_call() {
        for count in [1, 2, 1023, 1024, 1025, 2048, 2049, 3000] {
            assert_eq!(calls_of(&vec![50; count]), 1, "{count}");
        }
    }

    #[test]
    fn small_segments_that_do_not_fit_the_staging_buffer_go_call_by_call() {
        // 10,000 segments of 100 bytes are 1,000,000 bytes: four buffers of 256 KiB.
        assert_eq!(calls_of(&[100; 10_000]), 4);
    }

    #[test]
    fn a_run_and_what_is_behind_it_are_as_many_entries_however_many() {
        for count in 1..20 {
            let sizes = [vec![10, 20], vec![50_000; count]].concat();
            let data = payload(&sizes);
            let entries = entries_of_calls(&mut Gather::default(), &list(&data)).concat();
            assert_eq!(entries, [vec![30], vec![50_000; count]].concat());
        }
    }

    #[test]
    fn a_second_run_is_an_entry_as_well() {
        let data = payload(&[10, 20, 50_000, 30, 40, 50_000]);
        let calls = entries_of_calls(&mut Gather::default(), &list(&data));
        assert_eq!(calls, [[30, 50_000, 70, 50_000]]);
    }

    #[test]
    fn large_segments_go_by_iov_max() {
        for (count, calls) in [(1023, 1), (1024, 1), (1025, 2), (2048, 2), (3000, 3)] {
            assert_eq!(calls_of(&vec![1000; count]), calls, "{count}");
        }
    }

    #[test]
    fn a_list_of_more_than_half_a_pipe_goes_in_pieces() {
        let calls_of = |sizes: &[usize]| -> Vec<usize> {
            let mut gather = Gather::new(CostModel::default_for(TargetKind::Pipe));
            let data = payload(sizes);
            let calls = entries_of_calls(&mut gather, &list(&data));
            calls.iter().map(|entries| entries.iter().sum()).collect()
        };
        // Half of what it holds goes at once, however it is cut.
        for whole in [
            vec![32_768],
            vec![4096; 8],
            vec![64; 512],
            vec![64, 100, 32_604],
        ] {
            assert_eq!(calls_of(&whole), [32_768]);
        }
        // The last piece may be half as long again.
        assert_eq!(calls_of(&[32_769]), [8192, 8192, 8192, 8193]);
        assert_eq!(calls_of(&[4096; 9]), [8192, 8192, 8192, 12_288]);
        assert_eq!(calls_of(&[7000; 10]), [7000; 10]);
        assert_eq!(calls_of(&[64; 513]), [8192, 8192, 8192, 8256]);
        // What does not begin as it goes on.
        let header_and_body = calls_of(&[64, 100, 32_605]);
        assert_eq!(header_and_body, [8192, 8192, 8192, 8193]);
        assert_eq!(calls_of(&[16, 8192].repeat(16))[..3], [8192, 8192, 8192]);
        let growing = [vec![8; 100], vec![1000; 70]].concat();
        assert_eq!(calls_of(&growing)[..2], [7800, 8000]);
    }

    #[test]
    fn a_list_that_touches_and_is_no_longer_than_one_call_is_one() {
        let data = payload(&[30_080]).concat();
        let (first, rest) = data.split_at(30_000);
        let mut segments = vec![IoSlice::new(first)];
        segments.extend(rest.chunks(8).map(IoSlice::new));
        let mut gather = Gather::new(CostModel::default_for(TargetKind::Pipe));
        let calls = entries_of_calls(&mut gather, &segments);
        assert_eq!(calls.len(), 1);
        assert_eq!(
            calls[0].len(),
            11,
            "as it is: it is one piece to the kernel"
        );
    }

    #[test]
    fn pieces_that_are_longer_than_the_list_are_no_reason_to_copy_less() {
        let pieces = Some(crate::ChunkPolicy {
            threshold_bytes: 0,
            chunk_bytes: 8192,
        });
        let mut gather = Gather::new(CostModel {
            chunk_policy: pieces,
            ..CostModel::default()
        });
        let data = payload(&[8; 1000]);
        for _ in 0..2 {
            assert_eq!(entries_of_calls(&mut gather, &list(&data)), [[8000]]);
        }
    }

    #[test]
    fn a_piece_is_copied_as_a_list_of_so_many_segments_would_be() {
        let mut borders = CopyThresholds::everywhere(10);
        borders.set(8, Some(1000)).unwrap();
        let mut gather = Gather::new(CostModel {
            copy_thresholds: borders,
            ..CostModel::default_for(TargetKind::Pipe)
        });
        let data = payload(&[1000; 32]);
        let calls = entries_of_calls(&mut gather, &list(&data));
        assert_eq!(calls, [vec![1000; 32]]);
        let data = payload(&[1000; 67]);
        let calls = entries_of_calls(&mut gather, &list(&data));
        assert_eq!(calls[..2], [[8000], [8000]]);
    }

    #[test]
    fn empty_lists_make_no_call() {
        assert_eq!(calls_of(&[]), 0);
        assert_eq!(calls_of(&[0; 3000]), 0);
    }

    #[test]
    fn empty_lists_make_no_call_after_others_either() {
        let mut gather = Gather::default();
        for sizes in [&[10, 20, 30][..], &[0, 0, 0], &[], &[0, 0]] {
            let data = payload(sizes);
            let calls = entries_of_calls(&mut gather, &list(&data));
            assert_eq!(calls.len(), usize::from(sizes.contains(&10)), "{sizes:?}");
        }
    }

    #[test]
    fn working_memory_is_kept_and_does_not_grow() {
        let mut gather = Gather::default();
        let sizes: Vec<usize> = (0..4000).map(|i| [10, 20, 5000, 30][i % 4]).collect();
        let data = payload(&sizes);
        let segments = list(&data);
        let sink = std::fs::File::create("/dev/null").unwrap();
        let memory = |gather: &Gather| {
            let (staging, iovecs) = (&gather.fast_path.staging, &gather.iovecs);
            (
                (staging.as_ptr(), staging.capacity()),
                (iovecs.as_ptr(), iovecs.capacity()),
            )
        };
        gather.write_all(&sink, &segments).unwrap();
        let first = memory(&gather);
        assert!(
            first.1.1 > 0,
            "the list must need an array for this to say anything"
        );
        for _ in 0..10 {
            gather.write_all(&sink, &segments).unwrap();
            assert_eq!(memory(&gather), first);
        }
    }

    #[test]
    fn a_gather_that_copies_nothing_allocates_nothing() {
        let mut gather = gather_with_staging(0);
        let data = payload(&[10; 100]);
        let sink = std::fs::File::create("/dev/null").unwrap();
        gather.write_all(&sink, &list(&data)).unwrap();
        assert_eq!(
            (
                gather.fast_path.staging.capacity(),
                gather.iovecs.capacity()
            ),
            (0, 0)
        );
    }

    #[test]
    fn a_list_of_large_segments_allocates_no_staging_buffer() {
        let mut gather = Gather::default();
        let sink = std::fs::File::create("/dev/null").unwrap();
        // Neither whole, nor from within a segment, nor with a lone small one among them.
        let data = payload(&[5000, 10, 5000, 0, 5000]);
        for cursor in [(0, 0), (0, 7), (2, 4999)] {
            let mut cursor = SegmentCursor::at(cursor.0, cursor.1);
            let result = gather.write_from(&sink, &list(&data), &mut cursor);
            assert!(result.is_ok(), "{result:?}");
            assert_eq!(gather.fast_path.staging.capacity(), 0);
        }
        let small = payload(&[10, 10]);
        gather.write_all(&sink, &list(&small)).unwrap();
        assert_eq!(
            gather.fast_path.staging.capacity(),
            gather.cost_model().staging_bytes
        );
    }

    #[test]
    fn recycled_slices_keep_their_memory() {
        let slices: Vec<IoSlice<'_>> = Vec::with_capacity(100);
        let (address, capacity) = (slices.as_ptr(), slices.capacity());
        let recycled: Vec<IoSlice<'static>> = recycle(slices);
        assert_eq!(
            (recycled.as_ptr(), recycled.capacity()),
            (address, capacity)
        );
    }

    #[test]
    fn a_gather_can_be_used_again_after_an_error() {
        let mut gather = gather_within(Limits::default(), 10, 64);
        check(&mut gather, &[4, 5, 60], &[Answer::Fail(libc::EIO)]);
        check(&mut gather, &[1, 2, 3], &[]);
    }

    #[test]
    fn its_debug_form_shows_no_bytes_of_a_caller() {
        let text = format!("{:?}", Gather::default());
        assert!(text.starts_with("Gather { model: CostModel"), "{text}");
        assert!(!text.contains("staging:"), "{text}");
    }
}
