//! Finds the one system call that most lists take, and makes it.
//!
//! A *run* is two or more small segments in a row. A segment is small if it has at most the bytes of the
//! threshold ([`runs`](crate::runs)). If the list begins with a run, and its segments are not all adjacent in
//! memory, the run is copied into the staging buffer:
//!
//! - If the run is the whole list, one `write(2)` sends the copy ([`SingleCall::Staged`]).
//! - If few bytes follow the run, the remaining segments are copied too, and one `write(2)` sends the copy.
//! - If few segments follow the run, and all of them are to be referenced, one `writev(2)` sends the copy and the
//!   segments ([`SingleCall::StagedPrefix`]). For example, the run is a header in pieces, and one large body
//!   follows.
//!
//! If the list does not begin with a run, one `writev(2)` sends the caller's list ([`SingleCall::List`]). The
//! list must have no later run and no empty segment. If all segments are adjacent in memory, the same call sends
//! the list, even if the list begins with a run.
//!
//! [`Gather`](crate::Gather) sends all other lists by plans ([`plan`](mod@crate::plan)). A list that needs
//! several calls or is sent in chunks ([`ChunkPolicy`](crate::cost::ChunkPolicy)) misses the fast path
//! ([`FastPathMiss::NotSent`]). If the call was short or failed ([`FastPathMiss::Answered`]), `Gather` resumes.
//!
//! # Why the call is inline
//!
//! The call is made in the function that the program called. After a system call, the processor has lost its
//! prediction of return addresses. So a return from a function takes 2 ns at `/dev/null` and 16 ns at a socket,
//! and the first return on Zen 4 takes some 80 ns. A return before the call takes a fraction of this time.
//!
//! So most lists need only one function, which contains the cached threshold, the copy loop for short segments,
//! the scan and the system call. [`prepare_otherwise`](FastPath::prepare_otherwise) prepares all other lists, and
//! returns before the call.
//!
//! # Why a run is copied before the list is scanned
//!
//! A run at the start of a list is copied in every case, except if all segments are adjacent in memory. The copy
//! is the whole call, or the first entry of a longer call. So one loop reads each length and copies the segment.

use std::io::{self, IoSlice};

use crate::cost::CostModel;
use crate::cursor::SegmentCursor;
use crate::gather::threshold_cache::ThresholdCache;
use crate::runs::{ListScan, RunPolicy, begins_run, contiguous_bytes, is_small};
use crate::sys::coalesce::adjoins;
use crate::sys::copy::MAX_FEW_SEGMENTS;
use crate::sys::copy::sizes::{MAX_BY_16, MAX_BY_32};
use crate::sys::limits::{Limits, MAX_CALL_BYTES, iov_max};
use crate::sys::span::Span;
use crate::sys::staging::StagingBuffer;
use crate::transfer::write_loop::{Attempt, Sink, retry_interrupted};

/// In a list of more than [`MAX_FEW_SEGMENTS`] segments, a run is copied inline if its first segment is at most
/// this long. For longer segments, a separate function with wide registers is faster.
const MAX_SHORT_OF_MANY: usize = 32;

/// Page ends do not change the time of shorter segments.
const MIN_PAGE_FITTING_BYTES: usize = 512;

/// A longer list does not fit the array on the stack.
const MAX_PREFIX_ENTRIES: usize = 8;

/// A write of up to this many bytes to a pipe is atomic: `PIPE_BUF` of Linux (pipe(7)).
const PIPE_BUF: usize = 4096;

pub(crate) struct FastPath {
    pub(crate) model: CostModel,
    thresholds: ThresholdCache,
    pub(crate) staging: StagingBuffer,
    /// Limits of each call, in addition to the system's limits.
    most: Limits,
    /// A longer list is sent in chunks.
    whole_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SingleCall {
    Staged,
    List(ListScan),
    /// The first `count` segments are staged.
    StagedPrefix {
        count: usize,
        bytes: usize,
    },
}

pub(crate) enum FastPathMiss {
    /// The call failed, or its result is not the number of bytes of the list.
    Answered(SingleCall, io::Result<usize>),
    /// No call was made. The first `staged_count` segments are staged.
    NotSent { staged_count: usize },
}

impl Default for FastPath {
    fn default() -> FastPath {
        FastPath::new(CostModel::default())
    }
}

impl FastPath {
    pub(crate) const fn new(model: CostModel) -> FastPath {
        let most = Limits {
            segments: usize::MAX,
            bytes: MAX_CALL_BYTES,
        };
        FastPath::within(most, model)
    }

    /// The calls also keep within the system's limits.
    pub(crate) const fn within(most: Limits, model: CostModel) -> FastPath {
        let whole_bytes = match model.chunk_policy {
            // A list of one chunk is sent in one call.
            Some(chunks) => max(max(chunks.threshold_bytes, chunks.chunk_bytes), PIPE_BUF),
            None => usize::MAX,
        };
        // The staging buffer need not be larger than the longest list that is sent in one call.
        let staging_bytes = min(model.staging_within(most), whole_bytes);
        FastPath {
            model,
            thresholds: ThresholdCache::new(),
            staging: StagingBuffer::unallocated(staging_bytes),
            most,
            whole_bytes,
        }
    }

    #[inline]
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            segments: self.most.segments.min(iov_max()),
            bytes: self.most.bytes,
        }
    }

    #[inline(always)]
    pub(crate) fn send_in_one_call(
        &mut self,
        segments: &[IoSlice<'_>],
        sink: &mut impl Sink,
    ) -> Result<u64, FastPathMiss> {
        match self.prepare(segments) {
            Ok(call) => self.send(call, segments, sink),
            Err(staged_count) => Err(FastPathMiss::NotSent { staged_count }),
        }
    }

    #[inline(always)]
    fn send(
        &self,
        call: SingleCall,
        segments: &[IoSlice<'_>],
        sink: &mut impl Sink,
    ) -> Result<u64, FastPathMiss> {
        // Each arm has its own result, because a common result would be computed after the system call.
        match call {
            SingleCall::Staged => {
                let bytes = self.staging.len();
                completed(call, bytes, sink.take_bytes(&self.staging))
            }
            SingleCall::List(ListScan { bytes, may_adjoin }) => {
                completed(call, bytes, sink.take_all(segments, bytes, may_adjoin))
            }
            SingleCall::StagedPrefix { bytes, .. } => {
                completed(call, bytes, self.send_prefixed(call, segments, sink))
            }
        }
    }

    /// Not inlined, because its array of entries is large.
    #[inline(never)]
    fn send_prefixed(
        &self,
        call: SingleCall,
        segments: &[IoSlice<'_>],
        sink: &mut impl Sink,
    ) -> Result<(), io::Result<usize>> {
        let bytes = self.bytes_of(call);
        self.with_entries(call, segments, |entries| {
            sink.take_all(entries, bytes, true)
        })
    }

    /// Retries the call of a list if the call was interrupted.
    ///
    /// The retry sends the same entries, because a socket that preserves message boundaries receives the list as
    /// one message.
    #[cold]
    pub(crate) fn retried(
        &self,
        call: SingleCall,
        result: io::Result<usize>,
        segments: &[IoSlice<'_>],
        sink: &mut impl Sink,
    ) -> Attempt {
        let result = result.or_else(|error| {
            retry_interrupted(error, &mut || {
                self.with_entries(call, segments, |entries| sink.call(entries))
            })
        });
        let end = SegmentCursor::at(segments.len(), 0);
        Attempt::new(self.bytes_of(call), end, result)
    }

    #[inline(always)]
    fn bytes_of(&self, call: SingleCall) -> usize {
        match call {
            SingleCall::Staged => self.staging.len(),
            SingleCall::List(scan) => scan.bytes,
            SingleCall::StagedPrefix { bytes, .. } => bytes,
        }
    }

    fn with_entries<R>(
        &self,
        call: SingleCall,
        segments: &[IoSlice<'_>],
        take: impl FnOnce(&[IoSlice<'_>]) -> R,
    ) -> R {
        match call {
            SingleCall::Staged => take(&[IoSlice::new(&self.staging)]),
            SingleCall::List(_) => take(segments),
            SingleCall::StagedPrefix { count, .. } => {
                let rest = &segments[count..];
                let mut entries = [IoSlice::new(&[]); MAX_PREFIX_ENTRIES];
                entries[0] = IoSlice::new(&self.staging);
                entries[1..=rest.len()].copy_from_slice(rest);
                take(&entries[..=rest.len()])
            }
        }
    }

    /// Finds one call that takes the whole list, and stages the segments that the call copies. If no such call is
    /// found, returns the number of staged segments.
    #[inline(always)]
    fn prepare(&mut self, segments: &[IoSlice<'_>]) -> Result<SingleCall, usize> {
        let small_bytes = self.threshold(segments.len());
        let mut staged = 0;
        match segments {
            [first, second, ..] if begins_run(segments, small_bytes) && !adjoins(first, second) => {
                if self.staging.is_allocated() {
                    staged = self.stage_run(segments, small_bytes);
                    if staged == segments.len() && is_call(self.staging.len(), self.whole_bytes) {
                        return Ok(SingleCall::Staged);
                    }
                }
            }
            _ => {
                if let Some(scan) = self.scan(segments, small_bytes) {
                    return Ok(SingleCall::List(scan));
                }
            }
        }
        self.prepare_otherwise(segments, small_bytes, staged)
    }

    /// Stages the run at the start of a list, and returns the number of staged segments. If only a part of the
    /// run is staged, [`prepare_otherwise`](FastPath::prepare_otherwise) completes the run.
    #[inline(always)]
    fn stage_run(&mut self, segments: &[IoSlice<'_>], small_bytes: usize) -> usize {
        let is_few = segments.len() <= MAX_FEW_SEGMENTS;
        let short_bytes = if is_few { MAX_BY_16 } else { MAX_SHORT_OF_MANY };
        let first_bytes = segments[0].byte_len();
        if first_bytes <= short_bytes {
            self.staging.fill_short_run(segments, small_bytes)
        } else if (is_few || first_bytes > MAX_BY_32 && !self.is_likely_long(segments))
            && self.fitting_pages(small_bytes, segments) == small_bytes
        {
            self.staging.fill_by_memcpy(segments, small_bytes)
        } else if first_bytes < MIN_PAGE_FITTING_BYTES && !self.is_likely_long(segments) {
            self.staging.clear();
            self.staging.push_run_up_to(segments, small_bytes)
        } else {
            0
        }
    }

    /// Estimates from the length of the first segment. The estimate costs less than an unnecessary copy of the
    /// list.
    #[inline(always)]
    fn is_likely_long(&self, segments: &[IoSlice<'_>]) -> bool {
        segments.len().saturating_mul(segments[0].byte_len()) > self.whole_bytes
    }

    /// The first `staged` segments are staged.
    #[inline(never)]
    fn prepare_otherwise(
        &mut self,
        segments: &[IoSlice<'_>],
        threshold: usize,
        staged: usize,
    ) -> Result<SingleCall, usize> {
        let mut small_bytes = threshold;
        if staged == 0 {
            small_bytes = self.fitting_pages(threshold, segments);
            if let Some(scan) = self.scan_contiguous(segments) {
                return Ok(SingleCall::List(scan));
            }
            if !begins_run(segments, small_bytes) {
                let is_new = small_bytes < threshold;
                let scan = is_new.then(|| self.scan(segments, small_bytes));
                return scan.flatten().map(SingleCall::List).ok_or(0);
            }
            if self.is_likely_long(segments) && start_beyond(segments, self.whole_bytes).is_some() {
                return Err(0);
            }
            self.staging.start();
        }
        let mut count = staged;
        if segments
            .get(staged)
            .is_some_and(|next| is_small(next, small_bytes))
        {
            count += self
                .staging
                .push_run_up_to(&segments[staged..], small_bytes);
        }
        let rest = &segments[count..];
        if rest.is_empty() || self.stage_rest(rest) {
            return if is_call(self.staging.len(), self.whole_bytes) {
                Ok(SingleCall::Staged)
            } else {
                Err(0)
            };
        }
        let bytes = self.with_staged_prefix(rest, small_bytes);
        match bytes {
            Some(bytes) => Ok(SingleCall::StagedPrefix { count, bytes }),
            None => Err(count),
        }
    }

    /// `None` if one call of few entries does not take the prefix and `rest`, or if a segment of `rest` must be
    /// copied.
    fn with_staged_prefix(&self, rest: &[IoSlice<'_>], small_bytes: usize) -> Option<usize> {
        let limits = self.limits();
        let staged_bytes = self.staging.len();
        if staged_bytes == 0 || rest.len() >= MAX_PREFIX_ENTRIES.min(limits.segments) {
            return None;
        }
        let bytes = staged_bytes.checked_add(ListScan::over(rest, small_bytes)?.bytes)?;
        is_call(bytes, self.whole_bytes.min(limits.bytes)).then_some(bytes)
    }

    /// Also copies the `rest` after a staged run if copying takes less time.
    ///
    /// Together with the rest, the run would be one entry of a list. The model copies a list of `entries`
    /// segments up to `entries` times the threshold. So the rest is copied if it has at most this number of
    /// bytes. For example, the rest is a body after a header in pieces.
    fn stage_rest(&mut self, rest: &[IoSlice<'_>]) -> bool {
        if rest.len() >= MAX_FEW_SEGMENTS {
            return false;
        }
        let entries = 1 + rest.len();
        let lengths = rest.iter().map(Span::byte_len);
        let bytes = lengths.fold(0, usize::saturating_add);
        let worth_bytes = entries.saturating_mul(self.threshold(entries));
        let is_worth_it = bytes <= worth_bytes && bytes <= self.staging.free_bytes();
        if is_worth_it {
            rest.iter().for_each(|segment| self.staging.push(segment));
        }
        is_worth_it
    }

    /// `None` if a segment must be copied or is empty, or if one call does not take the list.
    #[inline(always)]
    fn scan(&self, segments: &[IoSlice<'_>], small_bytes: usize) -> Option<ListScan> {
        let limits = self.limits();
        if segments.len() > limits.segments {
            return None;
        }
        ListScan::over(segments, small_bytes)
            .filter(|scan| is_call(scan.bytes, self.whole_bytes.min(limits.bytes)))
    }

    /// The list must be contiguous in memory. The lengths of the segments do not matter.
    fn scan_contiguous(&self, segments: &[IoSlice<'_>]) -> Option<ListScan> {
        let limits = self.limits();
        let bytes = contiguous_bytes(segments)?;
        let is_one_call =
            segments.len() <= limits.segments && is_call(bytes, self.whole_bytes.min(limits.bytes));
        is_one_call.then_some(ListScan {
            bytes,
            may_adjoin: true,
        })
    }

    #[inline(always)]
    fn threshold(&mut self, segment_count: usize) -> usize {
        match self.thresholds.get(segment_count) {
            Some(threshold) => threshold,
            None => self.ask_model(segment_count),
        }
    }

    #[cold]
    #[inline(never)]
    fn ask_model(&mut self, segment_count: usize) -> usize {
        // A copied segment must fit an empty staging buffer.
        let staging_bytes = self.staging.size();
        let threshold = |count| self.model.copy_below_bytes(count).min(staging_bytes);
        self.thresholds.ask(segment_count, threshold)
    }

    /// The threshold is lower if the first two segments have the same length and end at page ends.
    #[inline(always)]
    fn fitting_pages(&self, threshold: usize, segments: &[IoSlice<'_>]) -> usize {
        match segments {
            [first, second, ..]
                if first.byte_len() == second.byte_len()
                    && (MIN_PAGE_FITTING_BYTES..=threshold).contains(&first.byte_len())
                    && !self.model.copies_up_to(threshold, first.byte_len()) =>
            {
                first.byte_len() - 1
            }
            _ => threshold,
        }
    }

    pub(crate) fn policy(&mut self, segments: &[IoSlice<'_>]) -> RunPolicy {
        let mut limits = self.limits();
        let mut segment_count = segments.len();
        let mut fills = false;
        let chunks = self.model.chunk_policy;
        let long = chunks.and_then(|chunks| {
            let (count, bytes) = start_beyond(segments, self.whole_bytes)?;
            Some((chunks, count, bytes))
        });
        if let Some((chunks, count, bytes)) = long {
            limits.bytes = limits.bytes.min(chunks.chunk_bytes.max(1));
            fills = true;
            // The kernel sees each chunk as one list. The first segments of the list determine the number of
            // segments of a chunk.
            let share = (limits.bytes as f64 / bytes as f64).min(1.0);
            segment_count = (count as f64 * share) as usize;
        }
        let threshold = self.threshold(segment_count);
        RunPolicy {
            copy_below_bytes: self.fitting_pages(threshold, segments),
            limits,
            fills,
        }
    }

    /// The policy for the next call of a list. The last of several chunks may have up to 1.5 times the bytes of a
    /// chunk, so that the last chunk is never shorter than half a chunk.
    ///
    /// After a shorter last call, the reader would sleep before the next list begins, and waking the reader takes
    /// microseconds.
    #[inline]
    pub(crate) fn policy_for_rest(
        &self,
        policy: RunPolicy,
        segments: &[IoSlice<'_>],
        from: SegmentCursor,
    ) -> RunPolicy {
        if !policy.fills || from == SegmentCursor::new() {
            return policy;
        }
        let chunk_bytes = policy.limits.bytes;
        let bytes = chunk_bytes
            .saturating_add(chunk_bytes / 2)
            .min(self.most.bytes);
        let rest = &segments[from.segment()..];
        if start_beyond(rest, bytes.saturating_add(from.offset())).is_some() {
            return policy;
        }
        let limits = Limits {
            bytes,
            ..policy.limits
        };
        RunPolicy { limits, ..policy }
    }
}

#[inline(always)]
fn completed(
    call: SingleCall,
    bytes: usize,
    taken: Result<(), io::Result<usize>>,
) -> Result<u64, FastPathMiss> {
    match taken {
        Ok(()) => Ok(bytes as u64),
        Err(result) => Err(FastPathMiss::Answered(call, result)),
    }
}

/// True if `bytes` is from 1 to `most_bytes`.
#[inline(always)]
fn is_call(bytes: usize, most_bytes: usize) -> bool {
    bytes.wrapping_sub(1) < most_bytes
}

/// The smallest number of segments at the start of the list whose sum exceeds `bytes`, and the sum. Later segments
/// are not read, because the function is called for each call of a transfer.
fn start_beyond(segments: &[IoSlice<'_>], bytes: usize) -> Option<(usize, usize)> {
    let mut sum = 0_usize;
    for (index, segment) in segments.iter().enumerate() {
        sum = sum.saturating_add(segment.byte_len());
        if sum > bytes {
            return Some((index + 1, sum));
        }
    }
    None
}

const fn min(one: usize, other: usize) -> usize {
    if one < other { one } else { other }
}

const fn max(one: usize, other: usize) -> usize {
    if one < other { other } else { one }
}

#[cfg(test)]
mod tests;
