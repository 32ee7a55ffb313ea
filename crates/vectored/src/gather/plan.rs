//! Plans one gathering call: which segments are copied and which are referenced.
//!
//! Pure: lengths and positions decide, and no system call is made. A plan is a [`Batch`], which a test can look at as
//! well as the kernel.

use std::io::IoSlice;

use crate::cursor::{Batch, SegmentCursor};
use crate::runs::{RunPolicy, extends_run, is_small};
use crate::sys::span::{Span, part};
use crate::sys::staging::StagingTail;

/// Plans the call at `from`; `None` at the end of the list.
///
/// Runs are copied into `staging` and take one entry each. Other segments are referenced. If nothing is to be copied,
/// the call is a part of the caller's list itself. The call ends where `staging` is full: the next one begins at the
/// start of the buffer again, while that is still in the cache.
///
/// `iovecs` is overwritten. Only a plan that copies allocates the staging buffer.
pub(crate) fn plan<'b, 'a: 'b>(
    segments: &'a [IoSlice<'_>],
    from: SegmentCursor,
    policy: RunPolicy,
    staging: StagingTail<'a>,
    iovecs: &'b mut Vec<IoSlice<'a>>,
) -> Option<Batch<'b>> {
    policy.limits.assert_allow_progress();
    let start = from.skip_empty(segments);
    if start.segment() == segments.len() {
        return None;
    }
    let policy = policy.within(staging.size());
    let stretch = start.stretch(segments, policy.limits, policy.copy_below_bytes);
    let is_filled = !policy.fills || stretch.bytes == policy.limits.bytes;
    if stretch.is_whole_call && (is_filled || start.segment() + stretch.count == segments.len()) {
        return Some(start.batch_of(stretch, segments));
    }

    let stretch_end = start.segment() + stretch.count;
    iovecs.clear();
    iovecs.extend_from_slice(&segments[start.segment()..stretch_end]);
    let end = match stretch.count {
        0 => start,
        _ => SegmentCursor::at(stretch_end, 0),
    };
    let bytes = stretch.bytes;
    Some(fill(segments, end, bytes, policy, staging, iovecs))
}

/// Plans the call at the start of the list, of which the first `count` segments are the content of `staging`: they are
/// its first entry.
pub(crate) fn plan_after_staged_prefix<'b, 'a: 'b>(
    segments: &'a [IoSlice<'_>],
    count: usize,
    policy: RunPolicy,
    mut staging: StagingTail<'a>,
    iovecs: &'b mut Vec<IoSlice<'a>>,
) -> Batch<'b> {
    let policy = policy.within(staging.size());
    let prefix = staging.take();
    iovecs.clear();
    let bytes = prefix.len();
    if bytes > 0 {
        iovecs.push(IoSlice::new(prefix));
    }
    let end = SegmentCursor::at(count, 0);
    fill(segments, end, bytes, policy, staging, iovecs)
}

/// Completes a call that so far ends before `end` and has `bytes` bytes, in `iovecs`.
fn fill<'b, 'a: 'b>(
    segments: &'a [IoSlice<'_>],
    end: SegmentCursor,
    bytes: usize,
    policy: RunPolicy,
    mut staging: StagingTail<'a>,
    iovecs: &'b mut Vec<IoSlice<'a>>,
) -> Batch<'b> {
    let mut small_bytes = policy.copy_below_bytes;
    let mut left = policy.limits.bytes - bytes;
    // The first segment may be done in part; the others are `behind` it.
    let mut offset = end.offset();
    let mut rest = &segments[end.segment()..];
    while iovecs.len() < policy.limits.segments {
        let [segment, behind @ ..] = rest else {
            break;
        };
        let data = part(segment, offset, segment.byte_len());
        let len = data.byte_len();
        if len > left {
            if iovecs.is_empty() {
                let from = SegmentCursor::at(segments.len() - rest.len(), offset);
                return from.cut(data, left, iovecs);
            }
            if policy.fills && left > 0 {
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
                // Without memory for a staging buffer, everything is referenced.
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
    let end = SegmentCursor::at(segments.len() - rest.len(), offset);
    Batch {
        slices: iovecs,
        bytes: policy.limits.bytes - left,
        end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::limits::Limits;
    use crate::sys::staging::StagingBuffer;
    use crate::testing::{any_limits, any_sizes, list, payload};
    use proptest::prelude::*;

    /// The plan of the first call for segments of these sizes, in words: `copied` and `lent` bytes
    /// entry by entry, and the segment and offset where it ends.
    #[track_caller]
    fn check(sizes: &[usize], policy: (usize, usize, usize, usize), expected: &str) {
        let (copy_below_bytes, staging_bytes, segments, bytes) = policy;
        let policy = RunPolicy {
            copy_below_bytes,
            limits: Limits { segments, bytes },
            fills: false,
        };
        let data = payload(sizes);
        assert_eq!(describe(&list(&data), policy, staging_bytes), expected);
    }

    fn describe(segments: &[IoSlice<'_>], policy: RunPolicy, staging_bytes: usize) -> String {
        let mut staging = StagingBuffer::with_capacity(staging_bytes);
        let start = staging.as_ptr();
        let staged = start..start.wrapping_add(staging_bytes);
        let staging = StagingTail::of(&mut staging);
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
    fn small_ones_are_copied_into_one_entry() {
        check(&[3, 0, 4, 5], (10, 64, MANY, MANY), "copied 12 to 4.0");
    }

    #[test]
    fn short_and_long_ones_of_a_run_keep_within_the_bytes_of_a_call_together() {
        let policy = (1000, 10_000, MANY, 450);
        check(&[100, 100, 100, 150, 1], policy, "copied 450 to 4.0");
        check(&[100, 100, 100, 200, 1], policy, "copied 300 to 3.0");
    }

    #[test]
    fn one_between_two_runs_is_referenced_if_it_is_larger_than_the_threshold() {
        let policy = (10, 150, MANY, MANY);
        check(
            &[3, 4, 11, 5, 10, 6, 7],
            policy,
            "copied 7 lent 11 copied 28 to 7.0",
        );
        check(&[3, 4, 11, 0], policy, "copied 7 lent 11 to 4.0");
    }

    #[test]
    fn large_ones_are_referenced_by_the_list_itself() {
        check(
            &[30, 40],
            (10, 64, MANY, MANY),
            "as it is: lent 30 lent 40 to 2.0",
        );
    }

    #[test]
    fn runs_of_small_ones_between_large_ones_take_an_entry_each() {
        check(
            &[30, 4, 5, 40, 6, 7, 8],
            (10, 64, MANY, MANY),
            "lent 30 copied 9 lent 40 copied 21 to 7.0",
        );
    }

    #[test]
    fn a_lone_small_one_is_referenced() {
        let policy = (10, 64, MANY, MANY);
        check(&[5], policy, "as it is: lent 5 to 1.0");
        check(
            &[5, 30, 6],
            policy,
            "as it is: lent 5 lent 30 lent 6 to 3.0",
        );
        check(&[0, 5, 0, 30], policy, "lent 5 lent 30 to 4.0");
        check(
            &[3, 4, 30, 5, 0, 40],
            policy,
            "copied 7 lent 30 lent 5 lent 40 to 6.0",
        );
    }

    #[test]
    fn empties_do_not_part_a_run() {
        check(&[0, 3, 0, 0, 4, 0], (10, 64, MANY, MANY), "copied 7 to 6.0");
    }

    #[test]
    fn a_segment_of_the_threshold_is_copied() {
        check(&[10, 10], (10, 64, MANY, MANY), "copied 20 to 2.0");
        check(
            &[11, 11],
            (10, 64, MANY, MANY),
            "as it is: lent 11 lent 11 to 2.0",
        );
    }

    #[test]
    fn the_call_ends_where_the_staging_buffer_is_full() {
        check(&[8, 8, 8, 8], (10, 20, MANY, MANY), "copied 16 to 2.0");
        check(
            &[30, 8, 8, 8, 8],
            (10, 20, MANY, MANY),
            "lent 30 copied 16 to 3.0",
        );
    }

    #[test]
    fn a_segment_that_no_staging_buffer_holds_is_referenced() {
        check(
            &[25, 25],
            (30, 20, MANY, MANY),
            "as it is: lent 25 lent 25 to 2.0",
        );
        check(
            &[5, 5],
            (30, 0, MANY, MANY),
            "as it is: lent 5 lent 5 to 2.0",
        );
    }

    #[test]
    fn entries_are_limited_and_a_run_is_one_entry() {
        check(
            &[3, 3, 3, 30, 40],
            (10, 64, 2, MANY),
            "copied 9 lent 30 to 4.0",
        );
        check(
            &[30, 3, 3, 3, 40],
            (10, 64, 2, MANY),
            "lent 30 copied 9 to 4.0",
        );
    }

    #[test]
    fn bytes_are_limited_and_only_a_segment_beyond_them_is_cut() {
        check(&[3, 3, 3, 3], (10, 64, MANY, 10), "copied 9 to 3.0");
        check(&[3, 3, 30], (10, 64, MANY, 10), "copied 6 to 2.0");
        check(&[30, 3], (10, 64, MANY, 10), "lent 10 to 0.10");
        check(&[8, 8], (10, 64, MANY, 5), "lent 5 to 0.5");
    }

    #[test]
    fn nothing_but_empties_is_the_end() {
        check(&[0, 0], (10, 64, MANY, MANY), "end");
        check(&[], (10, 64, MANY, MANY), "end");
    }

    proptest! {
        #[test]
        fn a_plan_that_copies_nothing_is_the_cursors_batch(
            sizes in any_sizes(), limits in any_limits(), skip in 0..100_usize
        ) {
            let data = payload(&sizes);
            let segments = list(&data);
            let mut cursor = SegmentCursor::new();
            cursor.advance(&segments, skip.min(data.concat().len()));
            let policy = RunPolicy { copy_below_bytes: 0, limits, fills: false };
            let (mut built, mut planned) = (Vec::new(), Vec::new());
            let mut memory = StagingBuffer::unallocated(64);
            let staging = StagingTail::of(&mut memory);
            let batch = cursor.next_batch(&segments, limits, &mut built);
            let plan = plan(&segments, cursor, policy, staging, &mut planned);
            let shape = |batch: Option<Batch<'_>>| batch.map(|batch| {
                let entries: Vec<_> =
                    batch.slices.iter().map(|slice| (slice.as_ptr(), slice.len())).collect();
                (entries, batch.bytes, batch.end)
            });
            prop_assert_eq!(shape(batch), shape(plan));
            prop_assert_eq!(memory.capacity(), 0);
        }
    }
}
