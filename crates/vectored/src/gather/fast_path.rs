//! What a gathering transfer begins with: for most lists, the only call of it.

use std::io::IoSlice;
use std::{mem, ptr};

use crate::cost::CostModel;
use crate::cursor::SegmentCursor;
use crate::gather::plan::{Staging, allocate};
use crate::sys::coalesce::adjoins;
use crate::sys::copy::Copier;
use crate::sys::copy::sizes::{MAX_BY_16, MAX_BY_WIDEST};
use crate::sys::list_scan::{ListScan, scan_few, scan_many};
use crate::sys::staging::{StagingBuffer, StagingTail};
use crate::transfer::runs::RunPolicy;
use crate::transfer::write_loop::{CallResult, Sink};
use crate::{Limits, MAX_CALL_BYTES, iov_max};

/// Who decides what is copied, and the memory for it.
pub(crate) struct FastPath {
    pub(crate) model: CostModel,
    /// How many segments are staged at the start of a list that does not go whole.
    run: usize,
    borders: ThresholdCache,
    /// Without memory until first used, then with that of the model's `staging_bytes` for good. Its
    /// content is of the call that is being made, or of the last one.
    pub(crate) staging: StagingBuffer,
    /// How long that becomes: a loaded model may say anything.
    staging_bytes: usize,
    most: Limits,
    /// A list of more bytes is long: [`begin`](FastPath::begin) and [`send_in_one_call`](FastPath::send_in_one_call) leave it to
    /// [`send_long_in_one_call`](FastPath::send_long_in_one_call).
    whole_bytes: usize,
    /// A list of more bytes goes in pieces even if it begins after a pause.
    threshold_bytes: usize,
    /// Whether the last long list began without a pause: all lists of more than `whole_bytes` go in pieces.
    is_burst: bool,
    /// What a call takes of a list of a few segments that goes as it is.
    few_bytes: usize,
}

impl Default for FastPath {
    fn default() -> FastPath {
        FastPath::new(CostModel::default())
    }
}

/// In lists of more than a few segments wider registers gain more than to enter another function takes,
/// but for segments of so few bytes.
const SHORT_BYTES_OF_MANY: usize = 32;

/// Lists of more segments than this are many to that.
const MAX_SHORT_SEGMENTS: usize = 32;

/// Shorter segments are not asked whether they fit pages: so many of them do not differ by that.
const MIN_FITTING_BYTES: usize = 512;

/// A pipe takes a call of up to so many bytes as one piece between those of other writers: `PIPE_BUF` of Linux
/// (pipe(7)).
const PIPE_BUF: usize = 4096;

/// CopyThresholds of lists of up to so many segments are kept, and of longer ones that of the last.
const CACHED_COUNTS: usize = 16;

/// The longest segments that are copied, by the number of segments of the list: to ask the model
/// takes as long as copying ten segments.
struct ThresholdCache {
    few: [usize; CACHED_COUNTS + 1],
    are_few_known: bool,
    /// A number of segments, and the border for it.
    last: (usize, usize),
}

/// The one call that is a whole transfer, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SingleCall {
    /// Of the list; 0 if it is not one call, or was not looked at to its end.
    pub(crate) bytes: usize,
    /// Whether all of it is staged, or goes as it is.
    pub(crate) is_staged: bool,
}

/// How a transfer began that is not at its end.
pub(crate) enum FastPathMiss {
    /// The call that was to be the whole of it answered something else.
    Answered(SingleCall, CallResult),
    /// No call was made. [`FastPath::run`] says what is staged.
    NotSent,
}

const NOT_SINGLE: SingleCall = SingleCall {
    bytes: 0,
    is_staged: false,
};

impl FastPath {
    pub(crate) const fn new(model: CostModel) -> FastPath {
        let whatever_the_system_takes = Limits {
            segments: usize::MAX,
            bytes: MAX_CALL_BYTES,
        };
        FastPath::within(whatever_the_system_takes, model)
    }

    /// One whose calls keep within these limits as well as those of the system.
    pub(crate) const fn within(most: Limits, model: CostModel) -> FastPath {
        let (whole_bytes, threshold_bytes) = match model.chunk_policy {
            Some(pieces) => {
                // A list of one piece is one call.
                let threshold_bytes = max(pieces.threshold_bytes, pieces.chunk_bytes);
                // Two calls for little more than a piece take longer than one.
                let short_bytes = pieces.chunk_bytes.saturating_add(pieces.chunk_bytes / 2);
                (
                    min(max(short_bytes, PIPE_BUF), threshold_bytes),
                    threshold_bytes,
                )
            }
            None => (usize::MAX, usize::MAX),
        };
        let staging_bytes = model.staging_within(most);
        // Any system takes so many segments.
        let few_bytes = match most.segments < CACHED_COUNTS {
            true => 0,
            false => min(most.bytes, whole_bytes),
        };
        FastPath {
            // No more is staged of a list that goes whole.
            staging_bytes: min(staging_bytes, threshold_bytes),
            whole_bytes,
            threshold_bytes,
            is_burst: false,
            few_bytes,
            model,
            run: 0,
            borders: ThresholdCache {
                few: [0; CACHED_COUNTS + 1],
                are_few_known: false,
                last: (0, 0),
            },
            staging: StagingBuffer::new(),
            most,
        }
    }

    /// What a call takes.
    #[inline]
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            segments: self.most.segments.min(iov_max()),
            bytes: self.most.bytes,
        }
    }

    /// What the call that is a whole transfer takes.
    #[inline]
    fn limits_of_whole(&self) -> Limits {
        let limits = self.limits();
        Limits {
            bytes: limits.bytes.min(self.whole_bytes),
            ..limits
        }
    }

    /// The rules for such a list.
    pub(crate) fn rules(&mut self, segments: &[IoSlice<'_>]) -> RunPolicy {
        let mut limits = self.limits();
        let mut segment_count = segments.len();
        let mut fill_bytes = 0;
        if let Some(pieces) = self.model.chunk_policy
            && let Some((count, bytes)) = start_beyond(segments, self.most_in_one_call())
        {
            limits.bytes = limits.bytes.min(pieces.chunk_bytes.max(1));
            fill_bytes = limits.bytes / 2;
            // Each piece is a list of its own to the kernel, of so many by how the list begins.
            let share = (limits.bytes as f64 / bytes as f64).min(1.0);
            segment_count = (count as f64 * share) as usize;
        }
        RunPolicy {
            copy_below_bytes: self.copy_below_bytes(segments, segment_count),
            limits,
            fill_bytes,
        }
    }

    /// The rules for the next call of a list: the last of several pieces may have half as many bytes again, so
    /// that it has half of a piece or more.
    ///
    /// The reader is done with a shorter one before the next list begins, and sleeps: to wake it takes microseconds.
    #[inline]
    pub(crate) fn rules_for_rest(
        &self,
        rules: RunPolicy,
        segments: &[IoSlice<'_>],
        from: SegmentCursor,
    ) -> RunPolicy {
        let is_in_pieces = rules.fill_bytes > 0;
        if !is_in_pieces || from == SegmentCursor::new() {
            return rules;
        }
        let chunk_bytes = rules.limits.bytes;
        let bytes = chunk_bytes
            .saturating_add(chunk_bytes / 2)
            .min(self.most.bytes);
        let rest = &segments[from.segment()..];
        if start_beyond(rest, bytes.saturating_add(from.offset())).is_some() {
            return rules;
        }
        let limits = Limits {
            bytes,
            ..rules.limits
        };
        RunPolicy { limits, ..rules }
    }

    /// The longest segment of such a list that is copied, if so many go in a call.
    fn copy_below_bytes(&mut self, segments: &[IoSlice<'_>], segment_count: usize) -> usize {
        let border = self.border(segment_count);
        match segments {
            [first, second, ..]
                if first.len() >= MIN_FITTING_BYTES && first.len() == second.len() =>
            {
                self.fitting(border, first.len())
            }
            _ => border,
        }
    }

    /// The border for lists of so many segments.
    #[inline(always)]
    fn border(&mut self, segment_count: usize) -> usize {
        let kept = &self.borders;
        if segment_count <= CACHED_COUNTS && kept.are_few_known {
            return kept.few[segment_count];
        }
        if segment_count == kept.last.0 && segment_count > CACHED_COUNTS {
            return kept.last.1;
        }
        self.ask_model(segment_count)
    }

    #[cold]
    fn ask_model(&mut self, segment_count: usize) -> usize {
        // Whatever the model is: a `GatherWriter` that is made for one line sends a single segment.
        if segment_count < 2 {
            return 0;
        }
        // What is copied must fit in an empty staging buffer.
        let border = |count| self.model.copy_below_bytes(count).min(self.staging_bytes);
        let asked = border(segment_count);
        if segment_count <= CACHED_COUNTS {
            self.borders.few = std::array::from_fn(border);
            self.borders.are_few_known = true;
        } else {
            self.borders.last = (segment_count, asked);
        }
        asked
    }

    /// The border for a list that begins with segments of equal length.
    fn fitting(&self, border: usize, segment_bytes: usize) -> usize {
        if segment_bytes <= border && !self.model.copies_up_to(border, segment_bytes) {
            return segment_bytes - 1;
        }
        border
    }

    /// What was staged.
    pub(crate) fn staged(&mut self) -> StagingTail<'_> {
        StagingTail::with_content(&mut self.staging)
    }

    /// The staging buffer for another call.
    pub(crate) fn empty(&mut self) -> Staging<'_> {
        Staging {
            bytes: self.staging_bytes,
            memory: &mut self.staging,
        }
    }

    /// Makes the first call of a transfer, if that is the whole of it and the list is not long, and returns its
    /// bytes.
    ///
    /// Inline, and so is the call: behind it the processor has forgotten to where it is to return, and each
    /// function that is left then takes 2 ns at `/dev/null` and 16 at a socket, and on Zen 4 the first of them
    /// some 80. Those that are left before cost a fraction of that, but short lists enter none.
    #[inline(always)]
    pub(crate) fn send_in_one_call(
        &mut self,
        segments: &[IoSlice<'_>],
        sink: &mut impl Sink,
    ) -> Result<u64, FastPathMiss> {
        let count = segments.len();
        let (small_bytes, short_bytes) = match self.borders.few.get(count) {
            // The border is 0 where it is not known.
            Some(&border) => (border, MAX_BY_16),
            None if count != self.borders.last.0 => (0, 0),
            None if count > MAX_SHORT_SEGMENTS => (self.borders.last.1, SHORT_BYTES_OF_MANY),
            None => (self.borders.last.1, MAX_BY_16),
        };
        let mut staged = 0;
        match segments {
            [first, second, ..]
                if first.len() <= small_bytes
                    && second.len() <= small_bytes
                    && self.staging.capacity() >= self.staging_bytes
                    // Or one of them is empty, for which one need not hurry.
                    && !ptr::eq(first.as_ptr_range().end, second.as_ptr()) =>
            {
                if first.len() <= short_bytes {
                    staged = self.staging.fill_short(segments, small_bytes);
                } else if self.goes_by_memcpy(count, small_bytes, [first.len(), second.len()]) {
                    self.staging.clear();
                    let staging = &mut self.staging;
                    staged = staging.push_run_by(Copier::MEMCPY, segments, small_bytes);
                } else if self.goes_by_wide_registers(count, first.len()) {
                    staged = self.stage_wide(segments, small_bytes);
                }
                // Neither without a byte nor long.
                if staged == count && self.staging.len().wrapping_sub(1) < self.whole_bytes {
                    let whole = SingleCall {
                        bytes: self.staging.len(),
                        is_staged: true,
                    };
                    return self.send(segments, whole, false, sink);
                }
            }
            [_, _, ..] if small_bytes > 0 => {
                let limits = match count <= CACHED_COUNTS {
                    // Any system takes so many segments.
                    true => Limits {
                        segments: CACHED_COUNTS,
                        bytes: self.few_bytes,
                    },
                    false => self.limits_of_whole(),
                };
                if let Some(ListScan { bytes, may_adjoin }) =
                    scan_plain(segments, small_bytes, limits)
                {
                    let is_staged = false;
                    return self.send(segments, SingleCall { bytes, is_staged }, may_adjoin, sink);
                }
            }
            _ => {}
        }
        let whole = match staged > 0 && staged + 1 == count {
            true => self.stage_last(segments),
            false => self.begin(segments, staged),
        };
        // Not one call, or long.
        if whole.bytes.wrapping_sub(1) >= self.whole_bytes {
            return Err(FastPathMiss::NotSent);
        }
        self.send(segments, whole, true, sink)
    }

    /// Makes the one call of a list. `may_adjoin` is false if no two neighbours are known to adjoin.
    #[inline(always)]
    fn send(
        &self,
        segments: &[IoSlice<'_>],
        whole: SingleCall,
        may_adjoin: bool,
        sink: &mut impl Sink,
    ) -> Result<u64, FastPathMiss> {
        let sent = if whole.is_staged {
            sink.take_all(&[IoSlice::new(&self.staging)], whole.bytes, false)
        } else {
            sink.take_all(segments, whole.bytes, may_adjoin)
        };
        match sent {
            Ok(()) => Ok(whole.bytes as u64),
            Err(answer) => Err(FastPathMiss::Answered(whole, answer)),
        }
    }

    /// Whether a list that begins with so long a segment, which is small and not short, is copied by
    /// `memcpy` without more ado.
    #[inline(always)]
    fn goes_by_memcpy(
        &self,
        segment_count: usize,
        small_bytes: usize,
        [first_bytes, second_bytes]: [usize; 2],
    ) -> bool {
        let is_few = segment_count <= CACHED_COUNTS;
        let is_long = first_bytes > MAX_BY_WIDEST;
        (is_few || is_long && !self.may_be_in_pieces(segment_count, first_bytes))
            && (first_bytes < MIN_FITTING_BYTES
                || first_bytes != second_bytes
                || self.model.copies_up_to(small_bytes, first_bytes))
    }

    /// The same for wide registers, which pay where more than a few are to be copied.
    #[inline(always)]
    fn goes_by_wide_registers(&self, segment_count: usize, first_bytes: usize) -> bool {
        segment_count > CACHED_COUNTS
            && first_bytes <= MAX_BY_WIDEST
            && !self.may_be_in_pieces(segment_count, first_bytes)
    }

    /// Stages the list from its start on, as far as its segments are small, by wide registers.
    ///
    /// Out of line, so that others need not save what these change.
    #[inline(never)]
    fn stage_wide(&mut self, segments: &[IoSlice<'_>], small_bytes: usize) -> usize {
        self.staging.clear();
        self.staging
            .push_run_by(Copier::widest(), segments, small_bytes)
    }

    /// Stages the last segment, behind all others, if that is worth it: a body behind the pieces of a header.
    #[inline(never)]
    fn stage_last(&mut self, segments: &[IoSlice<'_>]) -> SingleCall {
        let run = segments.len() - 1;
        let bytes = segments[run].len();
        let worth_bytes = self.border(segments.len()).max(2 * self.border(2));
        if bytes > worth_bytes || bytes > self.staging.free_bytes() {
            self.run = run;
            return NOT_SINGLE;
        }
        self.staging.push(&segments[run]);
        SingleCall {
            bytes: self.staging.len(),
            is_staged: true,
        }
    }

    /// Finds whether the list goes in one call, and copies it if that is how it goes. If it does not,
    /// [`run`](FastPath::run) says what was begun.
    ///
    /// For lists of which so many segments are staged already, but not all, and for those that are met for the
    /// first time or are of none of the usual kinds. Each way is a function of its own: what one needs is not
    /// saved for the others.
    #[inline(never)]
    pub(crate) fn begin(&mut self, segments: &[IoSlice<'_>], staged: usize) -> SingleCall {
        self.run = 0;
        let small_bytes = self.border(segments.len());
        match segments {
            _ if staged > 0 => self.stage_many(segments, small_bytes, staged),
            [first, ..]
                if self.may_be_in_pieces(segments.len(), first.len())
                    && start_beyond(segments, self.whole_bytes).is_some() =>
            {
                NOT_SINGLE
            }
            [first, ..] if begins_run(segments, small_bytes) => match first.len() {
                ..MIN_FITTING_BYTES => self.stage_many(segments, small_bytes, 0),
                _ => self.stage_fitting(segments, small_bytes),
            },
            _ => self.list(segments, small_bytes),
        }
    }

    /// Whether a list that begins with such a segment had better be looked at as one that goes in
    /// pieces, instead of being copied in vain. (A list of others that turns out to be one costs a
    /// copy of what would go whole.)
    #[inline(always)]
    fn may_be_in_pieces(&self, segment_count: usize, first_bytes: usize) -> bool {
        segment_count.saturating_mul(first_bytes) > self.whole_bytes
    }

    /// Whether the way of a list depends on what came before it.
    #[inline]
    pub(crate) fn is_long(&self, segments: &[IoSlice<'_>]) -> bool {
        self.model.chunk_policy.is_some() && start_beyond(segments, self.whole_bytes).is_some()
    }

    /// Sets whether lists of more than `whole_bytes` go in pieces from now on.
    pub(crate) fn set_burst(&mut self, is_burst: bool) {
        self.is_burst = is_burst;
    }

    /// The same as [`send_in_one_call`](FastPath::send_in_one_call), for a long list outside of a burst.
    pub(crate) fn send_long_in_one_call(
        &mut self,
        segments: &[IoSlice<'_>],
        sink: &mut impl Sink,
    ) -> Result<u64, FastPathMiss> {
        let whole_bytes = mem::replace(&mut self.whole_bytes, self.threshold_bytes);
        let whole = self.begin(segments, 0);
        self.whole_bytes = whole_bytes;
        match whole.bytes {
            0 => Err(FastPathMiss::NotSent),
            _ => self.send(segments, whole, true, sink),
        }
    }

    /// A list of more bytes goes in pieces.
    fn most_in_one_call(&self) -> usize {
        match self.is_burst {
            true => self.whole_bytes,
            false => self.threshold_bytes,
        }
    }

    #[inline(never)]
    fn stage_many(
        &mut self,
        segments: &[IoSlice<'_>],
        small_bytes: usize,
        staged: usize,
    ) -> SingleCall {
        let copier = Copier::for_list(&segments[staged..]);
        self.stage_by(copier, segments, small_bytes, staged)
    }

    /// For lists that may fit pages.
    #[inline(never)]
    fn stage_fitting(&mut self, segments: &[IoSlice<'_>], mut small_bytes: usize) -> SingleCall {
        if let [first, second, ..] = segments
            && first.len() == second.len()
        {
            small_bytes = self.fitting(small_bytes, first.len());
            if first.len() > small_bytes {
                return self.list(segments, small_bytes);
            }
        }
        self.stage_by(Copier::MEMCPY, segments, small_bytes, 0)
    }

    /// Copies segments from the first on that is not staged yet, as long as they are small and fit.
    #[inline(always)]
    fn stage_by(
        &mut self,
        copier: Copier,
        segments: &[IoSlice<'_>],
        small_bytes: usize,
        staged: usize,
    ) -> SingleCall {
        let staging = &mut self.staging;
        if staged == 0 {
            allocate(staging, self.staging_bytes);
        }
        // Copied while it is being looked at: what is copied here is copied anyway.
        let count = staged + staging.push_run_by(copier, &segments[staged..], small_bytes);
        if count < segments.len() {
            return self.stage_rest(segments, count);
        }
        SingleCall {
            bytes: staging.len(),
            is_staged: true,
        }
    }

    /// What comes of a list of which the first `count` segments are staged.
    ///
    /// They are copied in any case, and to the kernel they are one segment of a list of that and the
    /// others. Such a list of equal segments would be copied if they had no more bytes than the border
    /// says, so it is to copy so many bytes that is worth as much as not to make a list: a body behind
    /// a header of many pieces.
    #[inline(never)]
    fn stage_rest(&mut self, segments: &[IoSlice<'_>], count: usize) -> SingleCall {
        let rest = &segments[count..];
        if rest.len() < CACHED_COUNTS {
            let entries = 1 + rest.len();
            let bytes = bytes_of(rest);
            let free = self.staging.free_bytes();
            if bytes <= free && bytes <= entries.saturating_mul(self.border(entries)) {
                self.staging.push_run_by(Copier::MEMCPY, rest, free);
                return SingleCall {
                    bytes: self.staging.len(),
                    is_staged: true,
                };
            }
        }
        self.run = count;
        NOT_SINGLE
    }

    /// A list of which nothing is to be copied, for all that its first two segments say.
    #[inline(never)]
    fn list(&mut self, segments: &[IoSlice<'_>], small_bytes: usize) -> SingleCall {
        match scan_plain(segments, small_bytes, self.limits_of_whole()) {
            Some(seen) => SingleCall {
                bytes: seen.bytes,
                is_staged: false,
            },
            None => self.list_touching(segments, small_bytes),
        }
    }

    /// A list that may be one piece of memory; if not, it may begin with small segments all the same.
    #[cold]
    fn list_touching(&mut self, segments: &[IoSlice<'_>], small_bytes: usize) -> SingleCall {
        if let Some(bytes) = contiguous_bytes(segments, self.limits_of_whole()) {
            return SingleCall {
                bytes,
                is_staged: false,
            };
        }
        match segments {
            [first, second, ..] if first.len() <= small_bytes && second.len() <= small_bytes => {
                self.stage_many(segments, small_bytes, 0)
            }
            _ => NOT_SINGLE,
        }
    }

    /// What [`begin`](FastPath::begin) left that was not whole: so many segments at the start of the list
    /// are staged, and what follows them was not looked at.
    pub(crate) fn run(&self) -> usize {
        self.run
    }

    /// The entries of the call that is a whole transfer of such a list, if these are few: what is
    /// staged, and the segments behind it.
    pub(crate) fn entries_after_staged_prefix<'e>(
        &'e mut self,
        segments: &'e [IoSlice<'_>],
        room: &'e mut [IoSlice<'e>; FEW_ENTRIES],
    ) -> Option<&'e [IoSlice<'e>]> {
        let rest = &segments[self.run..];
        if rest.len() >= FEW_ENTRIES || self.staging.is_empty() {
            return None;
        }
        let limits = self.limits();
        let bytes = limits.bytes.min(self.most_in_one_call());
        let limits = Limits {
            segments: limits.segments - 1,
            bytes: bytes.saturating_sub(self.staging.len()),
        };
        scan_plain(rest, self.border(segments.len()), limits)?;
        let (first, others) = room.split_first_mut()?;
        *first = IoSlice::new(&self.staging);
        others[..rest.len()].copy_from_slice(rest);
        Some(&room[..=rest.len()])
    }
}

/// Whether a list begins with two small segments that do not adjoins: it is copied, as far as it is like
/// that.
#[inline(always)]
fn begins_run(segments: &[IoSlice<'_>], small_bytes: usize) -> bool {
    match segments {
        [first, second, ..] => {
            first.len() <= small_bytes && second.len() <= small_bytes && !adjoins(first, second)
        }
        _ => false,
    }
}

/// How many segments at the start of a list have more than so many bytes, if all have, and their bytes.
///
/// No more of the list is looked at: it is asked anew whenever a transfer goes on.
fn start_beyond(segments: &[IoSlice<'_>], bytes: usize) -> Option<(usize, usize)> {
    let mut sum = 0_usize;
    for (index, segment) in segments.iter().enumerate() {
        sum = sum.saturating_add(segment.len());
        if sum > bytes {
            return Some((index + 1, sum));
        }
    }
    None
}

fn bytes_of(segments: &[IoSlice<'_>]) -> usize {
    let lengths = segments.iter().map(|segment| segment.len());
    lengths.fold(0, usize::saturating_add)
}

const fn min(one: usize, other: usize) -> usize {
    match one < other {
        true => one,
        false => other,
    }
}

const fn max(one: usize, other: usize) -> usize {
    match one < other {
        true => other,
        false => one,
    }
}

/// So many need no plan.
pub(crate) const FEW_ENTRIES: usize = 8;

/// Looks at a list that can go in one call just as it is: without an empty segment, and without
/// neighbours that are both small.
#[inline(always)]
fn scan_plain(segments: &[IoSlice<'_>], small_bytes: usize, limits: Limits) -> Option<ListScan> {
    if segments.len() > limits.segments {
        return None;
    }
    let seen = match segments.len() {
        ..=CACHED_COUNTS => scan_few(segments, small_bytes),
        _ => scan_many(segments, small_bytes),
    };
    // The loop for lists without a small one is half as long.
    let seen = match seen {
        Some(seen) => seen,
        None => scan_mixed(segments, small_bytes)?,
    };
    (seen.bytes <= limits.bytes).then_some(seen)
}

/// The same, for any list.
#[inline(never)]
fn scan_mixed(segments: &[IoSlice<'_>], small_bytes: usize) -> Option<ListScan> {
    let mut bytes = 0_usize;
    let mut last_is_small = false;
    for segment in segments {
        let is_small = segment.len() <= small_bytes;
        if is_small && (last_is_small || segment.is_empty()) {
            return None;
        }
        last_is_small = is_small;
        bytes = bytes.saturating_add(segment.len());
    }
    // Who sends it looks for that.
    let may_adjoin = true;
    Some(ListScan { bytes, may_adjoin })
}

/// The bytes of a list whose segments lie in memory one behind the other, if one call takes them: to
/// the kernel they are one segment, however short each is.
fn contiguous_bytes(segments: &[IoSlice<'_>], limits: Limits) -> Option<usize> {
    let touches = |pair: &[IoSlice<'_>]| adjoins(&pair[0], &pair[1]);
    if segments.len() < 2 || segments.len() > limits.segments || !segments.windows(2).all(touches) {
        return None;
    }
    // It is one piece of memory, so the sum is no more than that.
    let bytes = segments.iter().map(|segment| segment.len()).sum();
    (bytes <= limits.bytes).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::thresholds::CopyThresholds;
    use crate::testing::{list, payload};

    #[test]
    fn the_border_is_that_of_the_list_at_hand() {
        let mut fast_path = FastPath::default();
        let segments = [IoSlice::new(b"1"); 3000];
        for count in [0, 1, 2, 2, 1000, 3, 0, 3000, 3000, 2] {
            let border = fast_path.model.copy_below_bytes(count);
            let rules = fast_path.rules(&segments[..count]);
            assert_eq!(rules.copy_below_bytes, border, "{count}");
        }
    }

    #[test]
    fn a_list_of_one_asks_no_model() {
        let mut fast_path = FastPath::default();
        assert_eq!(fast_path.begin(&[IoSlice::new(b"line")], 0).bytes, 4);
        assert!(!fast_path.borders.are_few_known);
        fast_path.begin(&[IoSlice::new(b"line"); 2], 0);
        assert!(fast_path.borders.are_few_known);
    }

    #[test]
    fn lists_that_fit_pages_have_a_border_of_their_own() {
        let mut fast_path = FastPath::new(CostModel {
            page_end_ns: 40.0,
            ..CostModel::default()
        });
        let usual = fast_path.model.copy_below_bytes(4);
        assert_eq!(usual, 1100);
        for (sizes, border) in [
            ([1024, 1024, 1024, 1024], 1023),
            ([1024, 1024, 10, 5000], 1023),
            ([1048, 1048, 1048, 1048], usual),
            ([1024, 1000, 1024, 1024], usual),
            ([512, 512, 512, 512], usual),
            ([4096, 4096, 4096, 4096], usual),
        ] {
            let data = payload(&sizes);
            let segments = list(&data);
            assert_eq!(
                fast_path.rules(&segments).copy_below_bytes,
                border,
                "{sizes:?}"
            );
            let is_copied = sizes.iter().all(|&bytes| bytes <= border);
            assert_eq!(
                fast_path.begin(&segments, 0).is_staged,
                is_copied,
                "{sizes:?}"
            );
        }
    }

    /// What a list of pieces of 60 bytes begins with: the whole, or a run.
    fn begun(copy_below_bytes: u32, pieces: &[(usize, usize)]) -> (SingleCall, usize) {
        begun_by(CopyThresholds::everywhere(copy_below_bytes), pieces)
    }

    fn begun_by(copy_thresholds: CopyThresholds, pieces: &[(usize, usize)]) -> (SingleCall, usize) {
        let most = Limits {
            segments: 4,
            bytes: 50,
        };
        let model = CostModel {
            copy_thresholds,
            ..CostModel::default()
        };
        let mut fast_path = FastPath::within(most, model);
        let data = payload(&[60]).concat();
        let segments: Vec<_> = pieces
            .iter()
            .map(|&(from, to)| IoSlice::new(&data[from..to]))
            .collect();
        (fast_path.begin(&segments, 0), fast_path.run())
    }

    #[test]
    fn a_list_begins_as_a_whole_that_is_staged_or_goes_as_it_is_or_with_a_run() {
        let staged = |bytes| {
            let is_staged = true;
            (SingleCall { bytes, is_staged }, 0)
        };
        let listed = |bytes| {
            let is_staged = false;
            (SingleCall { bytes, is_staged }, 0)
        };
        let run = |count| (NOT_SINGLE, count);

        assert_eq!(begun(9, &[(0, 9), (10, 15)]), staged(14));
        assert_eq!(begun(9, &[(0, 9), (10, 20)]), listed(19));
        assert_eq!(begun(8, &[(0, 8), (10, 12), (13, 30)]), run(2));
        let body_between = |bytes: usize| [(0, 3), (4, 7), (8, 8 + bytes), (40, 43)];
        assert_eq!(begun(9, &body_between(24)), staged(33));
        assert_eq!(begun(9, &body_between(25)), run(2));
        assert_eq!(begun(9, &[(0, 3), (4, 14), (20, 23), (24, 27)]), run(0));
        // To the kernel the first two are one, and a list of two has a border of its own.
        let shorter_lists = |bytes, pieces: &[(usize, usize)]| {
            let mut borders = CopyThresholds::everywhere(9);
            borders.set(2, Some(bytes)).unwrap();
            begun_by(borders, pieces)
        };
        let header_and_body = [(0, 9), (10, 12), (13, 30)];
        assert_eq!(shorter_lists(9, &header_and_body), staged(28));
        assert_eq!(shorter_lists(8, &header_and_body), run(2));
        let too_long_for_the_buffer = [(0, 9), (10, 12), (13, 53)];
        assert_eq!(shorter_lists(45, &too_long_for_the_buffer), run(2));
        // 3 × 12 bytes, for what is between 17 of two and 9 of four.
        let two_bodies = |bytes: usize| [(0, 9), (10, 12), (13, 13 + bytes), (13, 32)];
        assert_eq!(shorter_lists(17, &two_bodies(17)), staged(47));
        assert_eq!(shorter_lists(17, &two_bodies(18)), run(2));
        assert_eq!(shorter_lists(16, &two_bodies(17)), run(2));
        assert_eq!(begun(9, &[(0, 10), (11, 12), (13, 15)]), run(0));
        assert_eq!(begun(9, &[(0, 10), (11, 11), (13, 25)]), run(0));
        assert_eq!(begun(9, &[(0, 10); 5]), run(0));
        assert_eq!(begun(9, &[(0, 10); 4]), listed(40));
        assert_eq!(begun(9, &[(0, 40), (41, 52)]), run(0));
        assert_eq!(begun(9, &[(0, 0), (1, 1)]), staged(0));
        assert_eq!(begun(9, &[(0, 8)]), listed(8));
        assert_eq!(begun(9, &[]), listed(0));
        // The staging buffer is no longer than a call may be.
        assert_eq!(begun(40, &[(0, 39), (40, 55)]), run(1));
        assert_eq!(begun(60, &[(0, 55), (56, 57)]), run(0));
    }

    #[test]
    fn a_list_that_is_one_piece_goes_as_it_is() {
        let (whole, none) = (
            |bytes| SingleCall {
                bytes,
                is_staged: false,
            },
            0,
        );
        assert_eq!(begun(9, &[(0, 5), (5, 9), (9, 50)]), (whole(50), none));
        assert_eq!(begun(9, &[(0, 5), (5, 9), (10, 12)]).0.bytes, 11);
        assert_eq!(begun(9, &[(0, 5), (5, 9), (10, 50)]), (NOT_SINGLE, 2));
        assert_eq!(begun(9, &[(0, 5), (5, 9), (9, 51)]), (NOT_SINGLE, 2));
        // More segments than a call takes, and small ones: those are staged.
        let five = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)];
        assert!(begun(9, &five).0.is_staged);
    }
}
