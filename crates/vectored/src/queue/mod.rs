//! A queue of the segments of a connection or a log: many messages, few calls.
//!
//! Short segments are copied when they are put in, into one buffer, as into a `Vec`; long segments are kept and referenced.
//! `call` decides how many bytes the next call gets, `write` makes the calls.

#[cfg(feature = "bytes")]
mod bufs;
pub(crate) mod call;
pub(crate) mod policy;
#[cfg(feature = "tokio")]
mod poll;
mod records;
pub(crate) mod segment;
mod sys;
pub(crate) mod write;

use std::collections::TryReserveError;
use std::error::Error;
use std::fmt;
use std::io::{self, IoSlice, Write};

use crate::queue::records::RecordEnds;
use crate::queue::sys::{Kept, append_within};
use crate::sys::limits::MAX_CALL_BYTES;

pub use self::policy::QueuePolicy;
pub use self::segment::Segment;

/// A queue of segments that a connection or a log owns, and that is written by as few calls as possible.
///
/// A program puts messages in: [`put_slice`](SegmentQueue::put_slice) copies, [`push`](SegmentQueue::push) copies short
/// segments and keeps long ones, in the same order. One call then writes many messages. On servers, few calls save more
/// than any choice between copying and gathering inside one call.
///
/// | to put in | use |
/// |---|---|
/// | bytes that are borrowed | [`put_slice`](SegmentQueue::put_slice), which copies; the traits `Write` and, with feature `bytes`, `BufMut` do the same |
/// | a `Vec`, a `String` or another owner that is not needed any more | [`push`](SegmentQueue::push) |
/// | a `Bytes` or an `Arc<[u8]>` that the program keeps | [`push_shared`](SegmentQueue::push_shared) |
/// | a `bytes::Buf` (feature `bytes`) | `push_buf` |
///
/// | to write it to | use |
/// |---|---|
/// | a blocking descriptor | [`write_to`](SegmentQueue::write_to) |
/// | a non-blocking descriptor that is ready | [`write_some`](SegmentQueue::write_some) |
/// | an `AsyncWrite` of tokio (feature `tokio`) | `drain_to`, or `poll_write_to` and `poll_write_some` in a `poll` function |
///
/// Write the queue when no more messages are at hand, and not after each message. `flush` of the trait `Write` sends
/// nothing: [`write_to`](SegmentQueue::write_to) does.
///
/// The queue owns the data and the position. Exactly the bytes that were written are gone from the queue, whether the
/// call succeeds, fails, or is cancelled. So no write loses or repeats bytes.
///
/// In a steady state, messages cost no allocation. When the queue becomes empty, memory of more than
/// [`retained_bytes`](QueuePolicy::retained_bytes) is freed.
///
/// Writing an empty queue makes no system call. If a queue is dropped, the bytes left in the queue are lost: check
/// [`is_empty`](SegmentQueue::is_empty) first.
pub struct SegmentQueue {
    policy: QueuePolicy,
    /// The copied bytes, in the order of the queue. The bytes before `copied_start` were written.
    copied: Vec<u8>,
    copied_start: usize,
    /// How many bytes are allocated at once after memory was freed: the copied bytes of the last filling, or half of
    /// the previous value, whichever is more.
    regrow_bytes: usize,
    /// The kept segments, and the copied bytes before each of them. The other copied bytes are after the last kept
    /// segment.
    kept: Kept,
    record_ends: RecordEnds,
    /// Bytes that were written since the queue was made.
    written: u64,
    /// The next call gets at least this many bytes: the writer was not ready for the last call, which had this many.
    offered_bytes: usize,
}

impl SegmentQueue {
    /// An empty queue with the default policy. Allocates nothing.
    #[must_use]
    pub const fn new() -> SegmentQueue {
        SegmentQueue::with_policy(QueuePolicy::for_target(crate::cost::TargetKind::Other))
    }

    /// An empty queue with `policy`. Allocates nothing.
    #[must_use]
    pub const fn with_policy(policy: QueuePolicy) -> SegmentQueue {
        SegmentQueue {
            policy,
            copied: Vec::new(),
            copied_start: 0,
            regrow_bytes: 0,
            kept: Kept::new(),
            record_ends: RecordEnds::new(),
            written: 0,
            offered_bytes: 0,
        }
    }

    /// The policy of the queue.
    #[must_use]
    pub fn policy(&self) -> &QueuePolicy {
        &self.policy
    }

    /// Appends a copy of `bytes`, even if the queue is full.
    #[inline]
    pub fn put_slice(&mut self, bytes: &[u8]) {
        if !append_within(&mut self.copied, bytes) {
            self.grow_and_put(bytes);
        }
    }

    /// Appends a segment: copies a segment of up to [`copy_below_bytes`](QueuePolicy::copy_below_bytes), and keeps a
    /// longer segment until it is written. The method takes the owner, since the queue outlives a borrow. For borrowed
    /// bytes, use [`put_slice`](SegmentQueue::put_slice).
    ///
    /// # Panics
    ///
    /// If the kept segments have more than `isize::MAX` bytes together. This is possible only with segments that
    /// share memory.
    #[inline]
    pub fn push(&mut self, segment: impl Into<Segment>) {
        self.append(segment.into());
    }

    /// Appends the bytes of an owner that the program keeps: copies them if there are up to
    /// [`copy_below_bytes`](QueuePolicy::copy_below_bytes), otherwise keeps a clone of the owner.
    ///
    /// For an owner whose clone is cheap, such as `Bytes` or `Arc<[u8]>`. Short bytes are copied without a clone: a
    /// clone costs two atomic operations.
    #[inline]
    pub fn push_shared<T: AsRef<[u8]> + Clone + Into<Segment>>(&mut self, owner: &T) {
        let bytes = owner.as_ref();
        if bytes.len() <= self.policy.copy_below_bytes {
            self.put_slice(bytes);
        } else {
            self.keep(owner.clone().into());
        }
    }

    /// Appends a segment as [`push`](SegmentQueue::push) does, if the queue has room for it.
    ///
    /// An empty queue has room for any segment. Any other queue has room if, with the segment, it holds no more than
    /// [`limit_bytes`](QueuePolicy::limit_bytes).
    ///
    /// # Errors
    ///
    /// If there is no room. The error holds the segment.
    pub fn try_push(&mut self, segment: impl Into<Segment>) -> Result<(), QueueFull> {
        let segment = segment.into();
        let has_room = self.len().saturating_add(segment.len()) <= self.policy.limit_bytes;
        if !has_room && !self.is_empty() {
            return Err(QueueFull(segment));
        }
        self.append(segment);
        Ok(())
    }

    /// Allocates memory for `bytes` more copied bytes and one more kept segment, unless the memory is there already:
    /// the next [`put_slice`](SegmentQueue::put_slice) of up to `bytes` bytes, or the next [`push`](SegmentQueue::push)
    /// of a segment that is kept, needs no other memory. A pushed segment up to `copy_below_bytes` is copied: reserve
    /// its bytes.
    ///
    /// This is for programs that do not end when memory is refused. `put_slice` and `push` then abort the process, as a
    /// `Vec` does.
    ///
    /// # Errors
    ///
    /// If memory is refused, or if the bytes are more than `isize::MAX`. The queue is unchanged.
    #[inline]
    pub fn try_reserve(&mut self, bytes: usize) -> Result<(), TryReserveError> {
        if self.copied.capacity() - self.copied.len() < bytes {
            self.try_grow_copied(bytes)?;
        }
        self.kept.try_reserve_one()
    }

    /// Marks the end of a record: calls end at the end of a record, unless the kernel ends them earlier.
    ///
    /// So records of several processes do not mix if the processes append to one file (`O_APPEND`), or write to one pipe
    /// with up to `PIPE_BUF` bytes a call (`chunk_bytes` of 4096). A full disk or a signal can still end a call within a
    /// record. A record of more than [`iov_max`](crate::limits::iov_max) segments, or more than [`MAX_CALL_BYTES`], takes
    /// several calls. Bytes after the last end are also written, so end a record before the queue is written.
    #[inline]
    pub fn end_record(&mut self) {
        let end = self.written.wrapping_add(self.len() as u64);
        if !self.record_ends.extend_group(end) {
            self.begin_group(end);
        }
    }

    /// The number of bytes to be written.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.copied.len() - self.copied_start + self.kept.bytes()
    }

    /// Whether there is no byte to be written.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the queue holds [`limit_bytes`](QueuePolicy::limit_bytes) or more. If so, write the queue before more is
    /// put in. An empty queue is never full.
    #[must_use]
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len() >= self.policy.limit_bytes.max(1)
    }

    /// The bytes to be written, in order, in as few slices as possible. No slice is empty.
    pub fn segments(&self) -> impl Iterator<Item = &[u8]> {
        self.kept.slices(&self.copied[self.copied_start..])
    }

    /// Removes the first `bytes`, which were written by other means.
    ///
    /// # Panics
    ///
    /// If the queue holds fewer bytes.
    #[inline]
    pub fn advance(&mut self, bytes: usize) {
        // The usual case: one call took all.
        if bytes == self.len() { self.clear() } else { self.advance_within(bytes) }
    }

    fn advance_within(&mut self, bytes: usize) {
        let remaining = self.len();
        assert!(
            bytes < remaining,
            "cannot remove {bytes} bytes of a queue of {remaining}"
        );
        self.offered_bytes = self.offered_bytes.saturating_sub(bytes);
        self.written = self.written.wrapping_add(bytes as u64);
        self.record_ends.forget_to(self.written);
        // Written bytes that are not in `kept` were copied.
        self.copied_start += bytes - self.kept.advance(bytes);
        // This comes last, since an owner may panic when it is dropped.
        self.kept.drop_owners();
    }

    /// Removes all bytes. If a message was written in part, its rest is lost.
    pub fn clear(&mut self) {
        self.written = self.written.wrapping_add(self.len() as u64);
        self.regrow_bytes = self.copied.len().max(self.regrow_bytes / 2);
        self.copied.clear();
        self.copied_start = 0;
        self.offered_bytes = 0;
        let group_bytes = self.group_bytes();
        self.record_ends.clear(self.written, group_bytes);
        // This comes last, when all else is consistent: an owner may panic when it is dropped.
        if !self.kept.is_empty() {
            self.kept.clear();
        }
        self.free_beyond(self.policy.retained_bytes);
    }

    /// The unwritten bytes as segments: kept segments are handed over, copied bytes are copied again.
    pub fn into_unsent(mut self) -> impl Iterator<Item = Segment> {
        let enclosed_end = self.copied_start + self.kept.enclosed_bytes();
        let mut segments = self.kept.into_segments(&self.copied[self.copied_start..]);
        self.copied.drain(..enclosed_end);
        if !self.copied.is_empty() {
            segments.push(Segment::from(self.copied));
        }
        segments.into_iter()
    }

    #[inline]
    fn append(&mut self, segment: Segment) {
        if segment.len() <= self.policy.copy_below_bytes {
            self.put_slice(&segment);
        } else {
            self.keep(segment);
        }
    }

    fn keep(&mut self, segment: Segment) {
        let copied_bytes = self.copied.len() - self.copied_start;
        // A clone may be empty although its original was not.
        if self.kept.push(copied_bytes, segment) {
            // A call also has a limit of segments, and a stretch of copied bytes counts as one segment.
            self.record_ends.end_group();
        }
    }

    #[inline(never)]
    fn begin_group(&mut self, end: u64) {
        let group_bytes = self.group_bytes();
        self.record_ends.push_group(end, self.written, group_bytes);
    }

    /// The most bytes of a [group](RecordEnds) of records: an eighth of the smallest limit of a call. A call holds
    /// whole groups, so a call may have up to one group less than its limit.
    #[inline]
    fn group_bytes(&self) -> usize {
        let policy = &self.policy;
        let most = policy.chunk_bytes.min(policy.join_below_bytes);
        most.min(MAX_CALL_BYTES) / 8
    }

    #[inline]
    fn only_copied(&self) -> Option<&[u8]> {
        let is_kept = !self.kept.is_empty();
        (!is_kept).then(|| &self.copied[self.copied_start..])
    }

    /// Grows and copies, so that `put_slice` has one branch, and its copy knows that there is room.
    #[cold]
    #[inline(never)]
    fn grow_and_put(&mut self, bytes: &[u8]) {
        self.grow_copied(bytes.len());
        self.copied.extend_from_slice(bytes);
    }

    #[inline]
    fn reserve_copied(&mut self, bytes: usize) {
        if self.copied.capacity() - self.copied.len() < bytes {
            self.grow_copied(bytes);
        }
    }

    /// Uses the memory of written bytes again, if they are half of the buffer or more; so each byte is moved once on
    /// average. Otherwise the buffer grows.
    #[cold]
    fn grow_copied(&mut self, bytes: usize) {
        let bytes = self.begin_growth(bytes);
        self.copied.reserve(bytes);
    }

    #[cold]
    fn try_grow_copied(&mut self, bytes: usize) -> Result<(), TryReserveError> {
        let usual_bytes = self.begin_growth(bytes);
        let reserved = self.copied.try_reserve(usual_bytes);
        reserved.or_else(|_| self.copied.try_reserve_exact(bytes))
    }

    /// Moves the unwritten bytes to the start of the buffer, if that pays. Returns how many bytes to make room for:
    /// `bytes` or more.
    fn begin_growth(&mut self, bytes: usize) -> usize {
        if self.copied_start >= self.copied.len() / 2 {
            self.move_copied_to_start();
        }
        let at_once = match self.copied.capacity() {
            // A queue is written as soon as it is full. The last message may have taken the queue over the limit.
            0 => self
                .regrow_bytes
                .min(self.policy.limit_bytes.saturating_mul(2)),
            _ => 0,
        };
        bytes.max(at_once)
    }

    /// Frees the memory of an empty queue if the memory exceeds `bytes`.
    ///
    /// The memory is freed and not shrunk: glibc maps the pages of a shrunk buffer again each time, so that 300 KB of
    /// short slices took 3.5 times as long.
    #[inline]
    fn free_beyond(&mut self, bytes: usize) {
        if self.copied.capacity() > bytes {
            self.copied = Vec::new();
        }
        self.kept.free_beyond(bytes);
        self.record_ends.free_beyond(bytes / size_of::<u64>());
    }

    fn move_copied_to_start(&mut self) {
        self.copied.drain(..self.copied_start);
        self.copied_start = 0;
    }
}

impl Default for SegmentQueue {
    fn default() -> SegmentQueue {
        SegmentQueue::new()
    }
}

impl fmt::Debug for SegmentQueue {
    /// Shows numbers of bytes and not the bytes, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SegmentQueue")
            .field("len", &self.len())
            .field("kept_bytes", &self.kept.bytes())
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// Copies everything into the queue, whether it is full or not. No function fails. `flush` does nothing, since this trait
/// writes to no descriptor.
impl Write for SegmentQueue {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.put_slice(bytes);
        Ok(bytes.len())
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let bytes = slices.iter().map(|slice| slice.len()).sum();
        self.reserve_copied(bytes);
        for slice in slices {
            self.copied.extend_from_slice(slice);
        }
        Ok(bytes)
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.put_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The error of [`SegmentQueue::try_push`]: the queue is full. The error holds the segment that was not put in.
#[derive(Debug)]
pub struct QueueFull(Segment);

impl QueueFull {
    /// The segment that was not put in.
    #[must_use]
    pub fn into_segment(self) -> Segment {
        self.0
    }
}

impl fmt::Display for QueueFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.len();
        write!(
            f,
            "the queue has no room for {bytes} bytes more: write it before more is put in"
        )
    }
}

impl Error for QueueFull {}

/// A server keeps a queue in a task that any thread may run.
const _: () = {
    const fn is_send_sync_unpin<T: Send + Sync + Unpin + 'static>() {}
    is_send_sync_unpin::<SegmentQueue>();
    is_send_sync_unpin::<Segment>();
    is_send_sync_unpin::<QueueFull>();
};

#[cfg(all(test, feature = "tokio"))]
mod poll_tests;
#[cfg(test)]
mod tests;
