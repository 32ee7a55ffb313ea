//! The segment queue of a connection or a log: [`SegmentQueue`].

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

/// A queue of segments that a connection or a log owns. One system call writes many queued messages.
///
/// [`put_slice`](SegmentQueue::put_slice) copies. [`push`](SegmentQueue::push) copies short segments and keeps long
/// segments. The queue writes all bytes in the order in which the program put them in. On servers, fewer calls save
/// more time than the choice between copying and gathering within a call.
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
/// Write the queue when no more messages are at hand, not after each message. `flush` of the trait `Write` sends
/// nothing. [`write_to`](SegmentQueue::write_to) sends.
///
/// The queue owns the data and the position. A call removes exactly the bytes that were written, even if the call fails
/// or is cancelled. So no write loses or repeats bytes.
///
/// In a steady state, messages cost no allocation. When the queue becomes empty, a buffer of more than
/// [`retained_bytes`](QueuePolicy::retained_bytes) is freed.
///
/// Writing an empty queue makes no system call. Dropping a queue loses the bytes that are not written: check
/// [`is_empty`](SegmentQueue::is_empty) first.
pub struct SegmentQueue {
    policy: QueuePolicy,
    /// The copied bytes, in the order of the queue. The bytes before `copied_start` are already written.
    copied: Vec<u8>,
    copied_start: usize,
    /// The size of the first allocation after `copied` was freed. The value is the number of copied bytes at the last
    /// `clear`, but at least half of the previous value.
    regrow_bytes: usize,
    /// The kept segments, and the numbers of copied bytes before each kept segment. The remaining copied bytes follow
    /// the last kept segment.
    kept: Kept,
    record_ends: RecordEnds,
    /// The number of bytes that were written since the queue was made. The value wraps.
    written: u64,
    /// The number of bytes in a call to which the writer answered `Pending`. The next call gets at least this number.
    offered_bytes: usize,
}

impl SegmentQueue {
    /// Makes an empty queue with the default policy. Allocates nothing.
    #[must_use]
    pub const fn new() -> SegmentQueue {
        SegmentQueue::with_policy(QueuePolicy::for_target(crate::cost::TargetKind::Other))
    }

    /// Makes an empty queue with `policy`. Allocates nothing.
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

    /// Returns the policy of the queue.
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

    /// Appends a segment. A segment of up to [`copy_below_bytes`](QueuePolicy::copy_below_bytes) is copied. The queue
    /// keeps a longer segment until the segment is written.
    ///
    /// The method takes an owner, because the queue outlives a borrow. For borrowed bytes, use
    /// [`put_slice`](SegmentQueue::put_slice).
    ///
    /// # Panics
    ///
    /// If the kept segments have more than `isize::MAX` bytes together. Only segments that share memory can reach this
    /// number.
    #[inline]
    pub fn push(&mut self, segment: impl Into<Segment>) {
        self.append(segment.into());
    }

    /// Appends the bytes of an owner that the program keeps. Up to [`copy_below_bytes`](QueuePolicy::copy_below_bytes)
    /// bytes are copied. For more bytes, the queue keeps a clone of the owner.
    ///
    /// Use this method if cloning the owner is cheap, as for `Bytes` or `Arc<[u8]>`. Short bytes are copied because a
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

    /// Appends a segment as [`push`](SegmentQueue::push) does, if the queue has room for the segment.
    ///
    /// An empty queue has room for any segment. A queue that is not empty has room if the queue and the segment
    /// together have at most [`limit_bytes`](QueuePolicy::limit_bytes).
    ///
    /// # Errors
    ///
    /// If the queue has no room. The error holds the segment.
    pub fn try_push(&mut self, segment: impl Into<Segment>) -> Result<(), QueueFull> {
        let segment = segment.into();
        let has_room = self.len().saturating_add(segment.len()) <= self.policy.limit_bytes;
        if !has_room && !self.is_empty() {
            return Err(QueueFull(segment));
        }
        self.append(segment);
        Ok(())
    }

    /// Allocates memory for `bytes` more copied bytes and for one more kept segment, unless the queue has this memory
    /// already.
    ///
    /// After this call, [`put_slice`](SegmentQueue::put_slice) of up to `bytes` bytes allocates nothing.
    /// [`push`](SegmentQueue::push) of one kept segment allocates nothing either. For a segment that `push` copies,
    /// reserve the bytes of the segment.
    ///
    /// Use this method if the program must survive a refused allocation. Without a reservation, `put_slice` and `push`
    /// abort the process, as a `Vec` does.
    ///
    /// # Errors
    ///
    /// If memory is refused, or if the copied bytes would exceed `isize::MAX`. The queue is unchanged.
    #[inline]
    pub fn try_reserve(&mut self, bytes: usize) -> Result<(), TryReserveError> {
        if self.copied.capacity() - self.copied.len() < bytes {
            self.try_grow_copied(bytes)?;
        }
        self.kept.try_reserve_one()
    }

    /// Marks the end of a record. A call ends at the end of a record, unless the kernel ends the call earlier or the
    /// record is too long for one call.
    ///
    /// Records of several processes do not mix if the processes append to one file (`O_APPEND`). Records do not mix in
    /// a shared pipe if a call has at most `PIPE_BUF` bytes (`chunk_bytes` of 4096). A full disk or a signal can end a
    /// call within a record. A record of more than [`iov_max`](crate::limits::iov_max) segments or more than
    /// [`MAX_CALL_BYTES`] takes several calls.
    ///
    /// Bytes after the last end of a record are also written. So end a record before the queue is written.
    #[inline]
    pub fn end_record(&mut self) {
        let end = self.written.wrapping_add(self.len() as u64);
        if !self.record_ends.extend_group(end) {
            self.begin_group(end);
        }
    }

    /// Returns the number of bytes that are not written yet.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.copied.len() - self.copied_start + self.kept.bytes()
    }

    /// Returns whether the queue has no bytes.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether the queue holds [`limit_bytes`](QueuePolicy::limit_bytes) or more. Write a full queue before
    /// more bytes are put in. An empty queue is never full.
    #[must_use]
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len() >= self.policy.limit_bytes.max(1)
    }

    /// Returns the bytes that are not written yet, in order, in as few slices as possible. No slice is empty.
    pub fn segments(&self) -> impl Iterator<Item = &[u8]> {
        self.kept.slices(&self.copied[self.copied_start..])
    }

    /// Removes the first `bytes` bytes. Use this method after these bytes were written by other means.
    ///
    /// # Panics
    ///
    /// If the queue holds fewer bytes.
    #[inline]
    pub fn advance(&mut self, bytes: usize) {
        // In the usual case, one call took all bytes.
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
        // `kept.advance` returns the number of bytes in segments. All other written bytes were copied.
        self.copied_start += bytes - self.kept.advance(bytes);
        // `drop_owners` is last, because dropping an owner may panic.
        self.kept.drop_owners();
    }

    /// Removes all bytes. If a message was partly written, the rest of the message is lost.
    pub fn clear(&mut self) {
        self.written = self.written.wrapping_add(self.len() as u64);
        self.regrow_bytes = self.copied.len().max(self.regrow_bytes / 2);
        self.copied.clear();
        self.copied_start = 0;
        self.offered_bytes = 0;
        let group_bytes = self.group_bytes();
        self.record_ends.clear(self.written, group_bytes);
        // `kept.clear` is last, because dropping an owner may panic. All other fields are consistent here.
        if !self.kept.is_empty() {
            self.kept.clear();
        }
        self.free_beyond(self.policy.retained_bytes);
    }

    /// Returns the unwritten bytes as segments. Kept segments are returned without a copy. Copied bytes are copied
    /// again.
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
        // A clone may be empty although the original was not empty.
        if self.kept.push(copied_bytes, segment) {
            // A kept segment ends the group, because the number of segments in a call is limited. A run of copied bytes
            // counts as one segment.
            self.record_ends.end_group();
        }
    }

    #[inline(never)]
    fn begin_group(&mut self, end: u64) {
        let group_bytes = self.group_bytes();
        self.record_ends.push_group(end, self.written, group_bytes);
    }

    /// The largest size of a [group](RecordEnds) of records: an eighth of the smallest limit of a call.
    ///
    /// A call gets whole groups. So the size of a call may be below the limit by up to one group.
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

    /// Grows and copies out of line, so that `put_slice` has a single branch, and its copy knows that there is room.
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

    /// Reuses the memory of written bytes if at least half of the buffer is written. With this limit, each byte is
    /// moved once on average. If less than half is written, the buffer grows.
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

    /// Moves the unwritten bytes to the start of the buffer if at least half of the buffer is written. Returns the
    /// number of bytes to reserve, which is at least `bytes`.
    fn begin_growth(&mut self, bytes: usize) -> usize {
        if self.copied_start >= self.copied.len() / 2 {
            self.move_copied_to_start();
        }
        let at_once = match self.copied.capacity() {
            // A program writes a full queue. The last message may have exceeded the limit.
            0 => self
                .regrow_bytes
                .min(self.policy.limit_bytes.saturating_mul(2)),
            _ => 0,
        };
        bytes.max(at_once)
    }

    /// Frees the memory of an empty queue if the capacity exceeds `bytes`.
    ///
    /// The buffer is freed and not shrunk. After each shrink, glibc maps the pages again: 300 KB of short slices then
    /// took 3.5 times as long.
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
    /// Prints the number of bytes, not the bytes, because the bytes may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SegmentQueue")
            .field("len", &self.len())
            .field("kept_bytes", &self.kept.bytes())
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// Copies all bytes into the queue, even into a full queue. No method fails. `flush` does nothing, because this trait
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

/// The error of [`SegmentQueue::try_push`]: the queue is full. The error holds the refused segment.
#[derive(Debug)]
pub struct QueueFull(Segment);

impl QueueFull {
    /// Returns the refused segment.
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

/// Any thread may run the task that owns the queue.
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
