//! Plans a scattering call: which segments are read through the staging buffer, and which segments in place.

use std::io::IoSliceMut;
use std::mem;

use crate::cursor::SegmentCursor;
use crate::runs::{RunPolicy, extends_run, is_small};
use crate::sys::copy::copy_into;
use crate::sys::span::{Span, part_mut};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadPlan {
    pub(crate) start: SegmentCursor,
    /// The position of the cursor after all bytes of the call are read.
    pub(crate) end: SegmentCursor,
    pub(crate) entries: usize,
    pub(crate) bytes: usize,
    /// Whether the entries of the call are unchanged neighbours in the caller's list.
    pub(crate) is_list: bool,
}

/// A run of small segments, which is one entry of the call. The staging buffer has the bytes of the runs in the order
/// of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    start: SegmentCursor,
    segment_count: usize,
    bytes: usize,
    /// The number of bytes of the call before the run.
    bytes_before: usize,
}

/// Plans the call at `from`. Returns `None` at the end of the list. `runs` is overwritten.
///
/// Each run becomes one entry. The call ends where the runs fill `staging_bytes`. A single small segment between large
/// segments is read in place.
pub(crate) fn plan_read<S: Span>(
    segments: &[S],
    from: SegmentCursor,
    policy: RunPolicy,
    staging_bytes: usize,
    runs: &mut Vec<Run>,
) -> Option<ReadPlan> {
    let limits = policy.limits;
    limits.assert_allow_progress();
    runs.clear();
    // A staged segment must fit into an empty staging buffer. Without this rule, the plan would stop at a longer
    // segment.
    let small_bytes = policy.copy_below_bytes.min(staging_bytes);
    let start = from.skip_empty(segments);
    if start.segment() == segments.len() {
        return None;
    }
    let stretch = start.stretch(segments, limits, small_bytes);
    let mut plan = ReadPlan {
        start,
        end: start,
        entries: stretch.count,
        bytes: stretch.bytes,
        is_list: stretch.is_whole_call,
    };
    if stretch.count > 0 {
        plan.end = SegmentCursor::at(start.segment() + stretch.count, 0);
    }
    if plan.is_list {
        return Some(plan);
    }

    let mut free = staging_bytes;
    while plan.entries < limits.segments {
        let Some(segment) = segments.get(plan.end.segment()) else {
            break;
        };
        let rest = segment.byte_len() - plan.end.offset();
        let room = limits.bytes - plan.bytes;
        if rest > room {
            if plan.entries == 0 {
                // The first segment exceeds the byte limit of the call.
                plan.entries = 1;
                plan.bytes = room;
                plan.end = SegmentCursor::at(plan.end.segment(), plan.end.offset() + room);
            }
            break;
        }
        let next = plan.end.segment() + 1;
        if rest == 0 {
            plan.end = SegmentCursor::at(next, 0);
            continue;
        }
        let mut bytes = rest;
        let mut following = 0;
        if rest <= small_bytes && extends_run(&segments[next..], small_bytes) {
            if rest > free {
                break;
            }
            let room = room.min(free);
            for segment in &segments[next..] {
                let len = segment.byte_len();
                if len > room - bytes || !is_small(segment, small_bytes) {
                    break;
                }
                bytes += len;
                following += 1;
            }
            runs.push(Run {
                start: plan.end,
                segment_count: 1 + following,
                bytes,
                bytes_before: plan.bytes,
            });
            free -= bytes;
        }
        plan.entries += 1;
        plan.bytes += bytes;
        plan.end = SegmentCursor::at(next + following, 0);
    }
    Some(plan)
}

impl ReadPlan {
    pub(crate) fn as_list<'s, 'a>(
        &self,
        segments: &'s mut [IoSliceMut<'a>],
    ) -> &'s mut [IoSliceMut<'a>] {
        &mut segments[self.start.segment()..self.end.segment()]
    }

    /// Replaces the content of `iovecs` by the entries of the call.
    pub(crate) fn build<'b>(
        &self,
        segments: &'b mut [IoSliceMut<'_>],
        runs: &[Run],
        mut staging: &'b mut [u8],
        iovecs: &mut Vec<IoSliceMut<'b>>,
    ) {
        iovecs.clear();
        iovecs.reserve(self.entries);
        let mut runs = runs.iter().peekable();
        let mut index = self.start.segment();
        let mut offset = self.start.offset();
        let mut left = segments[index..].iter_mut();
        while iovecs.len() < self.entries {
            let Some(segment) = left.next() else {
                break;
            };
            if let Some(run) = runs.next_if(|run| run.start.segment() == index) {
                let (staged, free) = mem::take(&mut staging).split_at_mut(run.bytes);
                iovecs.push(IoSliceMut::new(staged));
                staging = free;
                if run.segment_count > 1 {
                    left.nth(run.segment_count - 2);
                }
                index += run.segment_count;
            } else {
                let is_cut = index == self.end.segment();
                let end = if is_cut { self.end.offset() } else { segment.byte_len() };
                if end > offset {
                    iovecs.push(part_mut(segment, offset, end));
                }
                index += 1;
            }
            offset = 0;
        }
    }
}

/// Copies the staged runs to their segments after a call that read `read` bytes.
pub(crate) fn split(
    runs: &[Run],
    mut staging: &[u8],
    read: usize,
    segments: &mut [IoSliceMut<'_>],
) {
    for run in runs {
        if run.bytes_before >= read {
            break;
        }
        let staged = run.bytes.min(read - run.bytes_before);
        copy_out(&staging[..staged], run.start, segments);
        staging = &staging[run.bytes..];
    }
}

/// Copies as many bytes of `from` as fit into the list at a position. Returns the number of copied bytes.
pub(crate) fn copy_out(
    mut from: &[u8],
    at: SegmentCursor,
    segments: &mut [IoSliceMut<'_>],
) -> usize {
    let whole = from.len();
    let mut offset = at.offset();
    for segment in &mut segments[at.segment()..] {
        let free = segment.byte_len() - offset;
        let (here, after) = from.split_at(from.len().min(free));
        copy_into(here, &mut part_mut(segment, offset, offset + here.len()));
        from = after;
        if from.is_empty() {
            break;
        }
        offset = 0;
    }
    whole - from.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::limits::Limits;
    use crate::sys::staging::{StagingBuffer, StagingTail};
    use crate::testing::{any_limits, any_sizes, list, payload};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn reads_and_writes_are_planned_alike(
            sizes in any_sizes(),
            copy_below_bytes in prop_oneof![Just(0), 1..70_usize],
            staging_bytes in prop_oneof![Just(0), 1..300_usize],
            limits in any_limits(),
            skip in 0..300_usize,
        ) {
            let data = payload(&sizes);
            let segments = list(&data);
            let mut cursor = SegmentCursor::new();
            cursor.advance(&segments, skip.min(data.concat().len()));
            let policy = RunPolicy::new(copy_below_bytes, limits);
            let (mut memory, mut iovecs, mut runs) = (StagingBuffer::unallocated(staging_bytes), Vec::new(), Vec::new());
            let staging = StagingTail::whole(&mut memory);
            let write = crate::plan::plan(&segments, cursor, policy, staging, &mut iovecs)
                .map(|batch| (batch.slices.len(), batch.bytes, batch.end));
            let read = plan_read(&segments, cursor, policy, staging_bytes, &mut runs)
                .map(|plan| (plan.entries, plan.bytes, plan.end));
            prop_assert_eq!(read, write);
        }
    }

    #[test]
    fn a_list_without_small_or_empty_segments_is_the_call_itself() {
        let data = payload(&[30, 40]);
        let policy = RunPolicy::new(10, Limits::default());
        let mut runs = Vec::new();
        let plan = plan_read(&data, SegmentCursor::new(), policy, 64, &mut runs).unwrap();
        assert!(plan.is_list);
        assert!(runs.is_empty());
    }
}
