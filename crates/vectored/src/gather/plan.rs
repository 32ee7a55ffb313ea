//! The plan of one gathering call: which segments are copied, which are referenced.
//!
//! Pure: lengths and positions decide, and no system call is made. What was planned is a [`Batch`],
//! which a test can look at as well as the kernel.

use std::io::IoSlice;

use crate::cursor::{Batch, SegmentCursor, next_is_small};
use crate::sys::copy::Copier;
use crate::sys::staging::{StagingBuffer, StagingTail};
use crate::transfer::runs::RunPolicy;

/// The staging buffer, which costs nothing until something is copied.
pub(crate) struct Staging<'a> {
    /// Without memory until it is allocated, then of `bytes`.
    pub(crate) memory: &'a mut StagingBuffer,
    /// Its size.
    pub(crate) bytes: usize,
}

impl<'a> Staging<'a> {
    /// The buffer, empty.
    pub(crate) fn allocated(self) -> StagingTail<'a> {
        allocate(self.memory, self.bytes);
        StagingTail::with_content(self.memory)
    }
}

/// Empties `memory`, and makes it of so many bytes, if it has none yet. If there is no memory for them, it
/// stays without: nothing can be staged then.
#[inline]
pub(crate) fn allocate(memory: &mut StagingBuffer, bytes: usize) {
    memory.clear();
    if memory.capacity() < bytes {
        allocate_new(memory, bytes);
    }
}

#[cold]
fn allocate_new(memory: &mut StagingBuffer, bytes: usize) {
    if let Some(allocated) = StagingBuffer::try_with_capacity(bytes) {
        *memory = allocated;
    }
}

/// Plans the call at `from`; `None` at the end of the list.
///
/// Runs of two or more small segments are copied into `staging` and take one entry each. All else is referenced, a lone small
/// segment too: a copy would not save its entry. If nothing is to be
/// copied, the call is a part of the caller's list itself. When `staging` is full the call is, too:
/// the next one begins at its start again, while that is still in the cache.
///
/// `staging` and `iovecs` are overwritten. Only a plan that copies allocates `staging`.
pub(crate) fn plan<'b, 'a: 'b>(
    segments: &'a [IoSlice<'_>],
    from: SegmentCursor,
    rules: RunPolicy,
    staging: Staging<'a>,
    iovecs: &'b mut Vec<IoSlice<'a>>,
) -> Option<Batch<'b>> {
    let limits = rules.limits;
    limits.assert_allow_progress();
    // What is copied must fit in an empty staging buffer, or the plan would never get past it.
    let staging_bytes = staging.bytes;
    let small_bytes = rules.copy_below_bytes.min(staging_bytes);
    let start = from.skip_empty(segments);
    if start.segment() == segments.len() {
        return None;
    }
    let stretch = start.stretch(segments, limits, small_bytes);
    let is_filled = stretch.bytes >= rules.fill_bytes;
    if stretch.is_whole_call && (is_filled || start.segment() + stretch.count == segments.len()) {
        return Some(stretch.into_batch(segments, start));
    }

    iovecs.clear();
    iovecs.extend_from_slice(&segments[start.segment()..start.segment() + stretch.count]);
    let mut end = start;
    if stretch.count > 0 {
        end = SegmentCursor::at(start.segment() + stretch.count, 0);
    }
    let memory = Memory::Unused(staging);
    Some(fill(
        segments,
        end,
        stretch.bytes,
        (small_bytes, rules),
        memory,
        iovecs,
    ))
}

/// Plans the call at the start of the list, of which the first `count` segments have been copied into
/// `room` already: they take its first entry.
pub(crate) fn plan_after_staged_prefix<'b, 'a: 'b>(
    segments: &'a [IoSlice<'_>],
    count: usize,
    rules: RunPolicy,
    mut room: StagingTail<'a>,
    iovecs: &'b mut Vec<IoSlice<'a>>,
) -> Batch<'b> {
    let run = room.take();
    iovecs.clear();
    let bytes = run.len();
    if bytes > 0 {
        iovecs.push(IoSlice::new(run));
    }
    // The room is what is left of a staging buffer: no segment that it would not have held when it
    // was empty may be waited for.
    let staging_bytes = bytes + room.free_bytes();
    let small_bytes = rules.copy_below_bytes.min(staging_bytes);
    let end = SegmentCursor::at(count, 0);
    let rules = (small_bytes, rules);
    fill(
        segments,
        end,
        bytes,
        rules,
        Memory::FastPathMiss(room),
        iovecs,
    )
}

/// Where a plan copies to.
enum Memory<'a> {
    /// Costs nothing until something is copied.
    Unused(Staging<'a>),
    FastPathMiss(StagingTail<'a>),
}

impl<'a> Memory<'a> {
    fn begun(self) -> StagingTail<'a> {
        match self {
            Memory::Unused(staging) => staging.allocated(),
            Memory::FastPathMiss(room) => room,
        }
    }
}

/// Goes on with a call that ends before `end` so far and holds so many `bytes`, in `iovecs`.
fn fill<'b, 'a: 'b>(
    segments: &'a [IoSlice<'_>],
    end: SegmentCursor,
    bytes: usize,
    (mut small_bytes, rules): (usize, RunPolicy),
    memory: Memory<'a>,
    iovecs: &'b mut Vec<IoSlice<'a>>,
) -> Batch<'b> {
    let mut memory = Some(memory);
    let mut room = StagingTail::new(&mut []);
    let mut left = rules.limits.bytes - bytes;
    // Of the first segment, only what the transfer has not moved yet; the others are `behind` it.
    let mut offset = end.offset();
    let mut rest = &segments[end.segment()..];
    while iovecs.len() < rules.limits.segments
        && let [segment, behind @ ..] = rest
    {
        let data = &segment[offset..];
        if data.len() > left {
            if iovecs.is_empty() {
                let from = SegmentCursor::at(segments.len() - rest.len(), offset);
                return from.cut(data, left, iovecs);
            }
            if rules.limits.bytes - left < rules.fill_bytes {
                iovecs.push(IoSlice::new(&data[..left]));
                offset += left;
                left = 0;
            }
            break;
        }
        if data.is_empty() || data.len() > small_bytes || !next_is_small(behind, small_bytes) {
            if !data.is_empty() {
                left -= data.len();
                iovecs.push(IoSlice::new(data));
            }
            (rest, offset) = (behind, 0);
            continue;
        }
        if data.len() > room.free_bytes() {
            if let Some(memory) = memory.take() {
                let is_new = matches!(memory, Memory::Unused(_));
                room = memory.begun();
                if is_new && room.free_bytes() == 0 {
                    // There is no memory for a staging buffer: reference everything.
                    small_bytes = 0;
                    continue;
                }
            }
            if data.len() > room.free_bytes() {
                break;
            }
        }
        room.push(data);
        let count = copy_run(&mut room, behind, small_bytes, left - data.len());
        let run = room.take();
        left -= run.len();
        iovecs.push(IoSlice::new(run));
        (rest, offset) = (&behind[count..], 0);
    }
    let end = SegmentCursor::at(segments.len() - rest.len(), offset);
    Batch {
        slices: iovecs,
        bytes: rules.limits.bytes - left,
        end,
    }
}

/// Longer segments are left to a loop.
const MAX_ALONE_BYTES: usize = 128;

/// Copies a run behind what is in `room` already.
#[inline(always)]
fn copy_run(
    room: &mut StagingTail<'_>,
    segments: &[IoSlice<'_>],
    small_bytes: usize,
    most_bytes: usize,
) -> usize {
    // Most runs between large segments are two small ones: for one more no loop is entered.
    if let [second, third, ..] = segments
        && third.len() > small_bytes
        && second.len() <= small_bytes.min(MAX_ALONE_BYTES)
        && second.len() <= most_bytes.min(room.free_bytes())
    {
        room.push(second);
        return 1;
    }
    copy_long_run(room, segments, small_bytes, most_bytes)
}

/// The same for longer runs.
#[inline(never)]
fn copy_long_run(
    room: &mut StagingTail<'_>,
    segments: &[IoSlice<'_>],
    small_bytes: usize,
    most_bytes: usize,
) -> usize {
    let free_before = room.free_bytes();
    let mut count = 0;
    if !is_run(segments, MIN_FOR_COPIER, small_bytes) {
        count = room.push_short_run(segments, small_bytes, most_bytes);
    }
    let rest = &segments[count..];
    if is_run(rest, 1, small_bytes) {
        let left = most_bytes - (free_before - room.free_bytes());
        count += room.push_run_by(Copier::for_list(rest), rest, small_bytes, left);
    }
    count
}

/// Whether a list begins with so many small segments.
#[inline(always)]
fn is_run(segments: &[IoSlice<'_>], count: usize, small_bytes: usize) -> bool {
    let is_small = |segment: &IoSlice<'_>| segment.len() <= small_bytes;
    segments.len() >= count && segments[..count].iter().all(is_small)
}

/// To ask for a copier takes longer than to copy a run of fewer segments.
const MIN_FOR_COPIER: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::testing::{any_limits, any_sizes, list, payload};
    use proptest::prelude::*;

    /// The plan of the first call for segments of these sizes, in words: `copied` and `lent` bytes
    /// entry by entry, and the segment and offset where it ends.
    #[track_caller]
    fn check(sizes: &[usize], rules: (usize, usize, usize, usize), expected: &str) {
        let (copy_below_bytes, staging_bytes, segments, bytes) = rules;
        let rules = RunPolicy {
            copy_below_bytes,
            limits: Limits { segments, bytes },
            fill_bytes: 0,
        };
        let data = payload(sizes);
        assert_eq!(describe(&list(&data), rules, staging_bytes), expected);
    }

    fn describe(segments: &[IoSlice<'_>], rules: RunPolicy, staging_bytes: usize) -> String {
        let mut staging = StagingBuffer::with_capacity(staging_bytes);
        let start = staging.as_ptr();
        let staged = start..start.wrapping_add(staging_bytes);
        let staging = Staging {
            memory: &mut staging,
            bytes: staging_bytes,
        };
        let mut iovecs = vec![IoSlice::new(b"of an earlier call")];
        let from = SegmentCursor::new();
        let Some(batch) = plan(segments, from, rules, staging, &mut iovecs) else {
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
        let rules = (1000, 10_000, MANY, 450);
        check(&[100, 100, 100, 150, 1], rules, "copied 450 to 4.0");
        check(&[100, 100, 100, 200, 1], rules, "copied 300 to 3.0");
    }

    #[test]
    fn one_between_two_runs_is_referenced_if_it_is_larger_than_the_border() {
        let rules = (10, 150, MANY, MANY);
        check(
            &[3, 4, 11, 5, 10, 6, 7],
            rules,
            "copied 7 lent 11 copied 28 to 7.0",
        );
        check(&[3, 4, 11, 0], rules, "copied 7 lent 11 to 4.0");
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
        let rules = (10, 64, MANY, MANY);
        check(&[5], rules, "as it is: lent 5 to 1.0");
        check(&[5, 30, 6], rules, "as it is: lent 5 lent 30 lent 6 to 3.0");
        check(&[0, 5, 0, 30], rules, "lent 5 lent 30 to 4.0");
        check(
            &[3, 4, 30, 5, 0, 40],
            rules,
            "copied 7 lent 30 lent 5 lent 40 to 6.0",
        );
    }

    #[test]
    fn empties_do_not_part_a_run() {
        check(&[0, 3, 0, 0, 4, 0], (10, 64, MANY, MANY), "copied 7 to 6.0");
    }

    #[test]
    fn the_border_itself_is_copied() {
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
            let rules = RunPolicy { copy_below_bytes: 0, limits, fill_bytes: 0 };
            let (mut built, mut planned, mut memory) = (Vec::new(), Vec::new(), StagingBuffer::new());
            let staging = Staging { memory: &mut memory, bytes: 64 };
            let batch = cursor.next_batch(&segments, limits, &mut built);
            let plan = plan(&segments, cursor, rules, staging, &mut planned);
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
