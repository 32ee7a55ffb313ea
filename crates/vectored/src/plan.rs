//! Plans one call of a write: which segments are copied, and which segments are referenced.
//!
//! A plan depends only on lengths and positions, and makes no system call. The result is a [`Batch`] that a test
//! can inspect.

use std::io::IoSlice;

use crate::cursor::SegmentCursor;
use crate::runs::{RunPolicy, extends_run, is_small};
use crate::sys::limits::Limits;
use crate::sys::span::{Span, part};
use crate::sys::staging::StagingTail;

#[derive(Debug)]
pub(crate) struct Batch<'b> {
    /// At least one segment. No segment is empty.
    pub(crate) slices: &'b [IoSlice<'b>],
    pub(crate) bytes: usize,
    pub(crate) end: SegmentCursor,
}

impl SegmentCursor {
    /// The next batch: the segments that one call can take from the cursor on.
    ///
    /// The batch has no empty segment and keeps within `limits`. The batch is empty only at the end of the list.
    /// The cursor does not move: call [`advance`](SegmentCursor::advance) with the number of bytes that were
    /// written. A segment is split only if it exceeds the bytes of a call.
    ///
    /// If the cursor is at the start of a segment and no segment is empty, the batch is a part of `segments`
    /// itself. If not, the batch is built in `scratch`. The content of `scratch` is replaced, and the memory of
    /// `scratch` is reused for later batches of this list.
    ///
    /// # Panics
    ///
    /// If a limit is zero.
    pub fn batch<'b, 'a: 'b>(
        &self,
        segments: &'a [IoSlice<'_>],
        limits: Limits,
        scratch: &'b mut Vec<IoSlice<'a>>,
    ) -> &'b [IoSlice<'b>] {
        plan_uncopied(segments, *self, limits, scratch).map_or(&[], |batch| batch.slices)
    }
}

/// `None` at the end of the list.
pub(crate) fn plan_uncopied<'b, 'a: 'b>(
    segments: &'a [IoSlice<'_>],
    from: SegmentCursor,
    limits: Limits,
    iovecs: &'b mut Vec<IoSlice<'a>>,
) -> Option<Batch<'b>> {
    let policy = RunPolicy::new(0, limits);
    plan(segments, from, policy, StagingTail::none(), iovecs)
}

/// Plans the call at `from`. `None` at the end of the list.
///
/// Runs are copied into `staging` and take one entry each. Other segments are referenced. `staging` may already
/// hold the segments before `from`, which are then the first entry. If no segment is to be copied, the call is a
/// part of the caller's list itself.
///
/// The call ends when `staging` is full. The next call begins at the start of the buffer, while the buffer is
/// still in the cache.
///
/// The content of `iovecs` is replaced. Only a plan that copies allocates the staging buffer.
pub(crate) fn plan<'b, 'a: 'b>(
    segments: &'a [IoSlice<'_>],
    from: SegmentCursor,
    policy: RunPolicy,
    mut staging: StagingTail<'a>,
    iovecs: &'b mut Vec<IoSlice<'a>>,
) -> Option<Batch<'b>> {
    policy.limits.assert_allow_progress();
    let (most_entries, most_bytes) = (policy.limits.segments, policy.limits.bytes);
    // A longer segment would never fit the staging buffer, and the transfer would not progress.
    let mut small_bytes = policy.copy_below_bytes.min(staging.size());
    let staged = staging.take();
    let mut left = most_bytes - staged.len();
    iovecs.clear();
    let mut end = from;
    if staged.is_empty() {
        end = from.skip_empty(segments);
        if end.segment() == segments.len() {
            return None;
        }
        let stretch = end.stretch(segments, policy.limits, small_bytes);
        let slices = &segments[end.segment()..][..stretch.count];
        if stretch.count > 0 {
            end = SegmentCursor::at(end.segment() + stretch.count, 0);
        }
        let is_filled = !policy.fills || stretch.bytes == most_bytes;
        if stretch.is_whole_call && (is_filled || end.segment() == segments.len()) {
            let bytes = stretch.bytes;
            return Some(Batch { slices, bytes, end });
        }
        if small_bytes == 0 {
            // Reserves once, without doubling. Empty segments may leave some of the memory unused.
            iovecs.reserve(most_entries.min(segments.len() - from.segment()));
        }
        iovecs.extend_from_slice(slices);
        left -= stretch.bytes;
    } else {
        iovecs.push(IoSlice::new(staged));
    }

    // The call may begin inside the first segment of `rest`. `behind` is the later segments.
    let mut offset = end.offset();
    let mut rest = &segments[end.segment()..];
    while iovecs.len() < most_entries {
        let [segment, behind @ ..] = rest else {
            break;
        };
        let data = part(segment, offset, segment.byte_len());
        let len = data.byte_len();
        if len > left {
            // A segment is split only if it exceeds the bytes of a call, or if the policy fills each call.
            if left > 0 && (policy.fills || iovecs.is_empty()) {
                iovecs.push(part(&data, 0, left));
                offset += left;
                left = 0;
            }
            break;
        }
        let is_run = len > 0 && is_small(&data, small_bytes);
        if !is_run || !extends_run(behind, small_bytes) {
            if len > 0 {
                left -= len;
                iovecs.push(data);
            }
            (rest, offset) = (behind, 0);
            continue;
        }
        if len > staging.free_bytes() {
            if !staging.reserve() {
                // Without memory for a staging buffer, all segments are referenced.
                small_bytes = 0;
                continue;
            }
            if len > staging.free_bytes() {
                break;
            }
        }
        staging.push(&data);
        let count = staging.push_run_up_to(behind, small_bytes, left - len);
        let run = staging.take();
        left -= run.len();
        iovecs.push(IoSlice::new(run));
        (rest, offset) = (&behind[count..], 0);
    }
    Some(Batch {
        slices: iovecs,
        bytes: most_bytes - left,
        end: SegmentCursor::at(segments.len() - rest.len(), offset),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::staging::StagingBuffer;
    use crate::testing::{list, payload};

    /// A plan is described by the `copied` or `lent` bytes of each entry, and by the segment and offset of its end.
    #[track_caller]
    fn check(sizes: &[usize], policy: (usize, usize, usize, usize), expected: &str) {
        let (copy_below_bytes, staging_bytes, segments, bytes) = policy;
        let policy = RunPolicy::new(copy_below_bytes, Limits { segments, bytes });
        let data = payload(sizes);
        assert_eq!(describe(&list(&data), policy, staging_bytes), expected);
    }

    fn describe(segments: &[IoSlice<'_>], policy: RunPolicy, staging_bytes: usize) -> String {
        let mut staging = StagingBuffer::with_capacity(staging_bytes);
        let start = staging.as_ptr();
        let staged = start..start.wrapping_add(staging_bytes);
        let staging = StagingTail::whole(&mut staging);
        let mut iovecs = vec![IoSlice::new(b"of an earlier call")];
        let from = SegmentCursor::new();
        let Some(batch) = plan(segments, from, policy, staging, &mut iovecs) else {
            return "end".to_string();
        };
        let is_list = segments.as_ptr_range().contains(&batch.slices.as_ptr());
        let mut words: Vec<String> = batch
            .slices
            .iter()
            .map(|slice| {
                let is_copied = staged.contains(&slice.as_ptr());
                let how = if is_copied { "copied" } else { "lent" };
                format!("{how} {}", slice.len())
            })
            .collect();
        if is_list {
            words.insert(0, "as it is:".to_string());
        }
        words.push(format!("to {}.{}", batch.end.segment(), batch.end.offset()));
        words.join(" ")
    }

    const MANY: usize = 1000;

    #[test]
    fn a_call_is_planned_by_the_sizes_and_the_policy() {
        let usual = (10, 64, MANY, MANY);
        let long = (1000, 10_000, MANY, 450);
        let wide = (10, 150, MANY, MANY);
        // Small segments are copied into one entry. A segment as long as the threshold is small. Empty segments
        // do not end a run.
        check(&[3, 0, 4, 5], usual, "copied 12 to 4.0");
        check(&[0, 3, 0, 0, 4, 0], usual, "copied 7 to 6.0");
        check(&[10, 10], usual, "copied 20 to 2.0");
        check(&[11, 11], usual, "as it is: lent 11 lent 11 to 2.0");
        check(&[30, 40], usual, "as it is: lent 30 lent 40 to 2.0");
        let between = "lent 30 copied 9 lent 40 copied 21 to 7.0";
        check(&[30, 4, 5, 40, 6, 7, 8], usual, between);
        let between = "copied 7 lent 11 copied 28 to 7.0";
        check(&[3, 4, 11, 5, 10, 6, 7], wide, between);
        check(&[3, 4, 11, 0], wide, "copied 7 lent 11 to 4.0");
        // A single small segment is referenced.
        check(&[5], usual, "as it is: lent 5 to 1.0");
        let apart = "as it is: lent 5 lent 30 lent 6 to 3.0";
        check(&[5, 30, 6], usual, apart);
        check(&[0, 5, 0, 30], usual, "lent 5 lent 30 to 4.0");
        let behind = "copied 7 lent 30 lent 5 lent 40 to 6.0";
        check(&[3, 4, 30, 5, 0, 40], usual, behind);
        // The call ends when the staging buffer is full. A segment that does not fit an empty staging buffer is
        // referenced.
        let narrow = (10, 20, MANY, MANY);
        check(&[8, 8, 8, 8], narrow, "copied 16 to 2.0");
        check(&[30, 8, 8, 8, 8], narrow, "lent 30 copied 16 to 3.0");
        let unheld = "as it is: lent 25 lent 25 to 2.0";
        check(&[25, 25], (30, 20, MANY, MANY), unheld);
        let unheld = "as it is: lent 5 lent 5 to 2.0";
        check(&[5, 5], (30, 0, MANY, MANY), unheld);
        // A run takes one entry.
        let two = (10, 64, 2, MANY);
        check(&[3, 3, 3, 30, 40], two, "copied 9 lent 30 to 4.0");
        check(&[30, 3, 3, 3, 40], two, "lent 30 copied 9 to 4.0");
        // A segment is split only if it exceeds the bytes of a call.
        let ten = (10, 64, MANY, 10);
        check(&[3, 3, 3, 3], ten, "copied 9 to 3.0");
        check(&[3, 3, 30], ten, "copied 6 to 2.0");
        check(&[30, 3], ten, "lent 10 to 0.10");
        check(&[8, 8], (10, 64, MANY, 5), "lent 5 to 0.5");
        check(&[100, 100, 100, 150, 1], long, "copied 450 to 4.0");
        check(&[100, 100, 100, 200, 1], long, "copied 300 to 3.0");
        check(&[0, 0], usual, "end");
        check(&[], usual, "end");
    }
}
