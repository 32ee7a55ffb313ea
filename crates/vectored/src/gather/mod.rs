//! Writes a list by copying its small segments together and referencing its large segments.
//!
//! The [fast path](fast_path) makes the one call that most lists take. [`Gather::finish`] makes all other calls
//! by a [`plan`](mod@crate::plan).

pub(crate) mod fast_path;
mod threshold_cache;
pub(crate) mod vectored_write;

use std::fmt;
use std::io::{self, IoSlice};
use std::mem;

use crate::cost::{CostModel, TargetKind};
use crate::cursor::SegmentCursor;
use crate::descriptor::AsDescriptor;
use crate::descriptor::borrowed::BorrowedDescriptor;
use crate::error::TransferError;
use crate::gather::fast_path::{FastPath, FastPathMiss};
use crate::plan::plan;
use crate::runs::RunPolicy;
use crate::sys::codes;
#[cfg(test)]
use crate::sys::limits::Limits;
use crate::sys::span::are_objects;
use crate::sys::staging::StagingTail;
use crate::transfer::message_sockets::refuse_messages;
use crate::transfer::unvectored::Stream;
use crate::transfer::write_loop::{Attempt, FnSink, Sink, SplitGuard, send_all};
use crate::write::positional::{check_end, into_file};

/// A gathering writer that copies small segments together and references large segments in one call.
///
/// Each segment of a call costs about 20 ns in the kernel, even if the segment is short. Copying a short segment
/// costs a few nanoseconds. So a `Gather` copies runs of small segments into a staging buffer, and references
/// large segments. A run takes one entry of the call.
///
/// A segment is small if its length is at most [`CostModel::copy_below_bytes`] of the list's number of segments.
/// A run is two or more small segments in a row.
///
/// If a list begins with a run, up to 15 segments after the run may also be copied, for example a body after the
/// pieces of a header. If `k` segments after the run are copied, these segments have at most `(k + 1) ·
/// copy_below_bytes(k + 1)` bytes together.
///
/// [`Gather::new`] decides by the model of [`TargetKind::Other`], and does not query the kind of a descriptor.
///
/// Segments that are adjacent in memory become one entry of a call without being copied.
///
/// The staging buffer is aligned to a page, so a file that is open with `O_DIRECT` takes the copied segments of
/// an aligned list.
///
/// A `Gather` owns a staging buffer of [`staging_bytes`](CostModel::staging_bytes), and an array of at most
/// [`iov_max`](crate::limits::iov_max) entries. The first list that needs this memory allocates the memory. If
/// there is no memory for the staging buffer, no segment is copied. The first list took 17 µs with a buffer of
/// 256 KiB, and a later list took 0.3 µs. So keep the `Gather`, and use it for all connections of a thread. A
/// `Gather` keeps no bytes for later calls.
///
/// # Secrets
///
/// Copied bytes stay in memory. The staging buffers of [`Gather`], [`GatherWriter`](crate::GatherWriter),
/// [`Scatter`](crate::Scatter) and [`ScatterReader`](crate::ScatterReader) are never wiped, even when they are
/// freed. The copy for a file that refuses lists is also not wiped. The functions [`write_all`](crate::write_all)
/// and [`read_exact`](crate::read_exact) copy only for a file that refuses lists.
/// [`write_once`](crate::write_once) copies nothing.
///
/// [The first page](crate#a-record-to-a-file) has an example.
#[derive(Default)]
pub struct Gather {
    fast_path: FastPath,
    /// Always empty between calls. The field keeps the allocation.
    iovecs: Vec<IoSlice<'static>>,
}

impl Gather {
    /// A gathering writer that decides by the model of [`TargetKind::Other`]. Allocates no memory yet.
    #[must_use]
    pub const fn new() -> Gather {
        Gather::with_model(CostModel::for_target(TargetKind::Other))
    }

    /// A gathering writer that decides by `model`. Allocates no memory yet.
    #[must_use]
    pub const fn with_model(model: CostModel) -> Gather {
        Gather {
            fast_path: FastPath::new(model),
            iovecs: Vec::new(),
        }
    }

    #[cfg(test)]
    pub(crate) fn within(limits: Limits, model: CostModel) -> Gather {
        Gather {
            fast_path: FastPath::within(limits, model),
            ..Gather::default()
        }
    }

    #[cfg(test)]
    pub(crate) fn limits(&self) -> Limits {
        self.fast_path.limits()
    }

    /// The model that decides which segments are copied.
    #[must_use]
    pub fn cost_model(&self) -> &CostModel {
        &self.fast_path.model
    }

    /// Writes all of `segments` in order and returns the number of bytes.
    ///
    /// Each call is a `writev(2)` of at most [`iov_max`](crate::limits::iov_max) entries and
    /// [`MAX_CALL_BYTES`](crate::limits::MAX_CALL_BYTES) bytes, or a `write(2)` of one entry. One entry can
    /// contain many small segments. A call ends when the staging buffer is full. On a pipe, a list of more than
    /// 28 KiB is sent in calls of 8 KiB if the model is a model for pipes
    /// ([`chunk_policy`](CostModel::chunk_policy)). If all segments are empty, no call is made.
    ///
    /// # Errors
    ///
    /// The errors of the function [`write_all`](crate::write_all): the first error other than `EINTR`, with the
    /// number of bytes of the list that were written before the error. The `Gather` can be used again. After
    /// [`WouldBlock`](io::ErrorKind::WouldBlock), a second `write_all` would begin at the start of the list. For
    /// non-blocking descriptors, use [`resume_write`](Gather::resume_write).
    #[inline]
    pub fn write_all(
        &mut self,
        fd: impl AsDescriptor,
        segments: &[IoSlice<'_>],
    ) -> Result<u64, TransferError> {
        self.write_all_to(fd.as_descriptor(), segments, false)
    }

    /// Not generic, so that the compiler makes one copy for all kinds of descriptors.
    ///
    /// A raw list with a segment of more than `isize::MAX` bytes is refused. The fast path never takes such a
    /// list, so only `write_otherwise` checks the lengths.
    #[inline(never)]
    pub(crate) fn write_all_to(
        &mut self,
        fd: BorrowedDescriptor<'_>,
        segments: &[IoSlice<'_>],
        is_raw: bool,
    ) -> Result<u64, TransferError> {
        // `resume_write` is not called here, because most transfers need no cursor.
        let mut stream = Stream::new(fd);
        let sent = self.fast_path.send_in_one_call(segments, &mut stream);
        sent.or_else(|miss| self.write_otherwise(miss, fd, segments, is_raw, stream))
    }

    #[cold]
    fn write_otherwise(
        &mut self,
        miss: FastPathMiss,
        fd: BorrowedDescriptor<'_>,
        segments: &[IoSlice<'_>],
        is_raw: bool,
        stream: Stream<'_>,
    ) -> Result<u64, TransferError> {
        if is_raw && !are_objects(segments) {
            let refusal = io::Error::from_raw_os_error(codes::EINVAL);
            return Err(TransferError::new(0, refusal));
        }
        let may_split = || refuse_messages(fd);
        self.finish(miss, segments, &mut SegmentCursor::new(), may_split, stream)
    }

    /// Writes `segments` from `cursor` to the end of the list, and returns how many bytes the method wrote.
    ///
    /// The method is like [`write_all`](Gather::write_all), but can be resumed like the function
    /// [`resume_write`](crate::resume_write). Staged bytes are not kept after the call. So another `Gather` or
    /// the function `resume_write` may resume.
    ///
    /// # `SIGPIPE`
    ///
    /// See the function [`resume_write`](crate::resume_write#sigpipe).
    pub fn resume_write(
        &mut self,
        fd: impl AsDescriptor,
        segments: &[IoSlice<'_>],
        cursor: &mut SegmentCursor,
    ) -> Result<u64, TransferError> {
        let fd = fd.as_descriptor();
        self.send_from(segments, cursor, || refuse_messages(fd), Stream::new(fd))
    }

    /// Writes all of `segments` in order into a file at `offset`, and returns the number of bytes.
    ///
    /// The method copies short segments like [`write_all`](Gather::write_all), and writes at an offset like the
    /// function [`write_all_at`](crate::files::write_all_at). The method does not use or move the position of the
    /// file. Through a descriptor opened with `O_APPEND`, Linux ignores the offset and appends (pwrite(2)).
    pub fn write_all_at(
        &mut self,
        fd: impl AsDescriptor,
        segments: &[IoSlice<'_>],
        offset: u64,
    ) -> Result<u64, TransferError> {
        check_end(segments, offset)?;
        let fd = fd.as_descriptor();
        let call = into_file(fd, offset);
        let cursor = &mut SegmentCursor::new();
        self.send_from(segments, cursor, || Ok(()), FnSink(call))
    }

    #[cfg(test)]
    pub(crate) fn send_all(
        &mut self,
        segments: &[IoSlice<'_>],
        cursor: &mut SegmentCursor,
        may_split: impl FnOnce() -> io::Result<()>,
        call: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> Result<u64, TransferError> {
        self.send_from(segments, cursor, may_split, FnSink(call))
    }

    #[inline(always)]
    pub(crate) fn send_from(
        &mut self,
        segments: &[IoSlice<'_>],
        cursor: &mut SegmentCursor,
        may_split: impl FnOnce() -> io::Result<()>,
        mut sink: impl Sink,
    ) -> Result<u64, TransferError> {
        let miss = if *cursor == SegmentCursor::new() {
            match self.fast_path.send_in_one_call(segments, &mut sink) {
                Ok(bytes) => {
                    *cursor = SegmentCursor::at(segments.len(), 0);
                    return Ok(bytes);
                }
                Err(miss) => miss,
            }
        } else {
            FastPathMiss::NotSent { staged_count: 0 }
        };
        self.finish(miss, segments, cursor, may_split, sink)
    }

    /// Makes the calls that the fast path did not make. Takes over the segments that the fast path staged, and the
    /// result of its call.
    #[inline(never)]
    fn finish(
        &mut self,
        miss: FastPathMiss,
        segments: &[IoSlice<'_>],
        cursor: &mut SegmentCursor,
        may_split: impl FnOnce() -> io::Result<()>,
        mut sink: impl Sink,
    ) -> Result<u64, TransferError> {
        let (mut staged_count, mut first) = match miss {
            FastPathMiss::NotSent { staged_count } => (staged_count, None),
            FastPathMiss::Answered(call, result) => {
                let attempt = self.fast_path.retried(call, result, segments, &mut sink);
                (0, Some(attempt))
            }
        };
        let mut guard = SplitGuard::new(segments, *cursor, may_split)?;
        let policy = self.fast_path.policy(segments);
        if self.fast_path.staging.len() > policy.limits.bytes {
            // The list is sent in chunks. The first chunk is shorter than the staged bytes, so the chunk is
            // staged anew.
            staged_count = 0;
        }
        send_all(segments, cursor, |from| {
            let staged_count = mem::take(&mut staged_count);
            match first.take() {
                Some(attempt) => Some(attempt),
                None => self.send_next(segments, from, policy, staged_count, &mut guard, &mut sink),
            }
        })
    }

    /// `None` at the end of the list. The staging buffer holds the first `staged_count` segments.
    fn send_next(
        &mut self,
        segments: &[IoSlice<'_>],
        from: SegmentCursor,
        policy: RunPolicy,
        staged_count: usize,
        guard: &mut SplitGuard<impl FnOnce() -> io::Result<()>>,
        sink: &mut impl Sink,
    ) -> Option<Attempt> {
        let policy = self.fast_path.policy_for_rest(policy, segments, from);
        let mut iovecs = recycle(mem::take(&mut self.iovecs));
        let (begin, staging) = match staged_count {
            0 => (from, StagingTail::whole(&mut self.fast_path.staging)),
            count => {
                let staging = StagingTail::with_content(&mut self.fast_path.staging);
                (SegmentCursor::at(count, 0), staging)
            }
        };
        let batch = plan(segments, begin, policy, staging, &mut iovecs);
        let attempt = batch.map(|batch| guard.send(segments, from, batch, sink));
        self.iovecs = recycle(iovecs);
        attempt
    }
}

impl fmt::Debug for Gather {
    /// Does not show the bytes of the staging buffer, because these bytes may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gather")
            .field("model", self.cost_model())
            .finish_non_exhaustive()
    }
}

/// Empties an array of slices, and keeps its allocation for slices of another lifetime.
///
/// `collect` reuses the allocation of a `Vec` that it consumes if the items have the same size. The standard
/// library does not guarantee this reuse. Without the reuse, the result stays correct, but a test of the memory
/// fails.
pub(crate) fn recycle<'a>(mut slices: Vec<IoSlice<'_>>) -> Vec<IoSlice<'a>> {
    slices.clear();
    slices.into_iter().map(|_| IoSlice::new(&[])).collect()
}

#[cfg(test)]
mod chunks_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod warm_tests;
