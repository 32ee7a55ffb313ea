//! A run of calls that fewer calls would replace. The run is counted while the calls come. The memory does not grow
//! with the length of the run.

use vectored_machine::model::FAST_IOVECS;

use crate::advisor::fd_kind::FdKind;
use crate::advisor::runs::barriers::Barrier;
use crate::advisor::runs::pattern::{FSYNC, LSEEK, Pattern, PatternFinder, PatternStep};
use crate::model::Tally;

/// The most segments of one call: `IOV_MAX`.
const SEGMENTS_MAX: u64 = 1024;

/// The segments of a tiny list have fewer bytes than this on average.
const TINY_BELOW_BYTES: u64 = 256;

/// If so many calls in a row come from one call site, a call from another site begins a new run.
const PHASE_CALLS: u64 = 64;

/// The most files that are named, among the files written between the calls of a run.
pub(crate) const IN_TURN_MAX: usize = 3;

/// The most call sites of a run that are counted separately. Calls from further sites are counted without a site.
const SITES_MAX: usize = 16;

/// The link between a transfer and the transfer before it. All links of a run, or of a chain, are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Joined,
    Barrier(Barrier),
    Sought,
    /// No link: the first transfer, a transfer after a short transfer, or a transfer at another offset.
    Broken,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct RunCall {
    pub(crate) step: PatternStep,
    pub(crate) site: u32,
    pub(crate) descriptor: i32,
    pub(crate) bytes: u64,
    pub(crate) segments: u64,
    pub(crate) is_list: bool,
    pub(crate) began_ns: u64,
    pub(crate) ended_ns: u64,
    /// For each size class: the number of segments, and of their bytes.
    pub(crate) sizes: Vec<(u8, u64, u64)>,
}

/// Adds counts to the counts with the same key. The keys are ascending.
#[inline]
pub(crate) fn add_counts<K: Copy + Ord>(known: &mut Vec<(K, u64, u64)>, new: &[(K, u64, u64)]) {
    for &(key, number, bytes) in new {
        match known.binary_search_by_key(&key, |one| one.0) {
            Ok(place) => {
                known[place].1 = known[place].1.saturating_add(number);
                known[place].2 = known[place].2.saturating_add(bytes);
            }
            Err(place) => known.insert(place, (key, number, bytes)),
        }
    }
}

#[inline]
fn add_segments(tally: &mut Tally, call: &RunCall) {
    tally.segments += call.segments;
    add_counts(&mut tally.sizes, &call.sizes);
    if call.is_list {
        tally.list_calls += 1;
        tally.long_list_calls += u64::from(call.segments > FAST_IOVECS as u64);
        add_counts(&mut tally.list_sizes, &call.sizes);
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Mode {
    pub(crate) is_read: bool,
    pub(crate) is_positional: bool,
    pub(crate) kind: FdKind,
    /// A merged call is complete when it has this many bytes.
    pub(crate) buffer_bytes: u64,
    pub(crate) most_bytes: u64,
    /// The longest time that the first byte of a merged call may wait, in ns. A merged read of a stream ends then,
    /// since later bytes have not arrived yet. A buffer of written bytes is not cut by time: [`Run::late_ns`] notes the
    /// longest wait.
    pub(crate) max_delay_ns: u64,
}

/// A run, which is counted, or a chain, which is listed but not counted: see `run_builder`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
    /// The segments of the merged calls that replace several calls.
    pub(crate) gathered: Tally,
    /// The segment lists of the calls that are not merged with another call.
    pub(crate) alone: Tally,
    /// See [`Tally::late_ns`](crate::model::Tally::late_ns).
    pub(crate) late_ns: u64,
    pub(crate) seeks: u64,
    pub(crate) has_between: bool,
    /// The paths of other files that were written between the calls, by first use.
    pub(crate) order_between: Vec<Vec<u8>>,
    #[cfg(test)]
    pub(crate) members: Vec<u64>,
    pub(crate) descriptor: i32,
    pub(crate) sites: Vec<(u32, u64, u64)>,
    /// The call site of the last call, and the number of calls in a row from that site.
    streak: (u32, u64),
    closed_calls: u64,
    merged: MergedCall,
    finder: PatternFinder,
}

#[derive(Clone, Debug, Default)]
struct MergedCall {
    calls: u64,
    segments: u64,
    ends_copied: bool,
    bytes: u64,
    /// The end of the first call, in ns.
    since_ns: u64,
    first: RunCall,
}

impl MergedCall {
    /// The number of segments that a call adds to the list. Consecutive calls whose bytes are copied share one
    /// segment.
    fn segments_of(&self, call: &RunCall) -> u64 {
        if call.is_copied() { u64::from(!self.ends_copied) } else { call.segments }
    }
}

impl Run {
    pub(crate) fn push(&mut self, call: &RunCall, mode: Mode) {
        if self.calls == 0 {
            self.descriptor = call.descriptor;
        }
        #[cfg(test)]
        self.members.push(call.began_ns);
        self.calls += 1;
        self.bytes += call.bytes;
        if call.site != 0 {
            self.add_site(call.site, call.bytes);
        }
        self.finder.push(call.step, call.bytes);
        let delay_ns = call.began_ns.saturating_sub(self.merged.since_ns);
        let is_late = delay_ns > mode.max_delay_ns;
        if self.merged.calls > 0
            && (self.merged.segments + self.merged.segments_of(call) > SEGMENTS_MAX
                || self.merged.bytes.saturating_add(call.bytes) > mode.most_bytes
                || is_late && mode.is_read)
        {
            self.close_merged();
        }
        if self.merged.calls > 0 && is_late {
            self.late_ns = self.late_ns.max(delay_ns);
        }
        let merged = &mut self.merged;
        match merged.calls {
            0 => {
                merged.first.clone_from(call);
                merged.segments = 0;
                merged.ends_copied = false;
                merged.bytes = 0;
                merged.since_ns = call.ended_ns;
            }
            1 => {
                add_segments(&mut self.gathered, &merged.first);
                add_segments(&mut self.gathered, call);
            }
            _ => add_segments(&mut self.gathered, call),
        }
        merged.calls += 1;
        merged.segments += merged.segments_of(call);
        merged.ends_copied = call.is_copied();
        merged.bytes += call.bytes;
        if merged.bytes >= mode.buffer_bytes {
            self.close_merged();
        }
    }

    fn add_site(&mut self, site: u32, bytes: u64) {
        self.streak = match self.streak {
            (last, calls) if last == site => (site, calls + 1),
            _ => (site, 1),
        };
        let is_known = self.sites.iter().any(|known| known.0 == site);
        if is_known || self.sites.len() < SITES_MAX {
            add_counts(&mut self.sites, &[(site, 1, bytes)]);
        }
    }

    /// Whether a call from `site` begins a new run. It does if the last `PHASE_CALLS` calls all came from one other
    /// site: the two sites then do not take turns.
    #[inline]
    pub(crate) fn is_left_for(&self, site: u32) -> bool {
        site != self.streak.0 && site != 0 && self.streak.1 >= PHASE_CALLS
    }

    fn close_merged(&mut self) {
        let merged = &mut self.merged;
        match merged.calls {
            0 => return,
            1 if merged.first.is_list => add_segments(&mut self.alone, &merged.first),
            1 => {}
            _ => self.gathered.gathered_calls += 1,
        }
        self.closed_calls += 1;
        merged.calls = 0;
    }

    pub(crate) fn finish(&mut self) -> u64 {
        self.close_merged();
        self.closed_calls
    }

    pub(crate) fn pattern(&self) -> Pattern {
        self.finder.pattern()
    }

    /// The least and the greatest bytes of each step of `pattern`; 0 for a seek and for a sync. `pattern` is a
    /// rotation of the run's own pattern, and may have a seek before each transfer, or a sync after each transfer.
    /// The run began with the step `start`.
    pub(crate) fn ranges(&self, pattern: &Pattern, start: usize) -> Vec<(u64, u64)> {
        let steps = pattern.steps();
        let moves = |step: &&PatternStep| !matches!(step.call, LSEEK | FSYNC);
        let count = steps.iter().filter(moves).count();
        let mut own = self.finder.period_ranges().unwrap_or_default();
        if own.len() != count {
            own.clear();
        } else if count > 0 {
            own.rotate_right(start * count / steps.len() % count);
        }
        let mut own = own.into_iter();
        let range = |step: &PatternStep| {
            if moves(&step) {
                own.next().unwrap_or_else(|| self.finder.range(step.call))
            } else {
                (0, 0)
            }
        };
        steps.iter().map(range).collect()
    }

    /// Whether all calls took lists of tiny segments, and no call is merged.
    pub(crate) fn is_all_tiny_lists(&self) -> bool {
        self.alone.list_calls == self.calls
            && self.alone.segments > self.calls
            && self.bytes < self.alone.segments * TINY_BELOW_BYTES
    }
}

impl RunCall {
    /// Whether a copy of the segments into one buffer may be cheaper than the list.
    pub(crate) fn is_tiny_list(&self) -> bool {
        self.is_list && self.segments > 1 && self.bytes < self.segments * TINY_BELOW_BYTES
    }

    /// Whether a merged call would copy the call's bytes into a buffer. A list of the greatest length is not copied.
    fn is_copied(&self) -> bool {
        self.segments < SEGMENTS_MAX && self.bytes < self.segments * TINY_BELOW_BYTES
    }

    /// Subtracts the thread's delay so far, by strace and preemption. The results are no times of a clock: only their
    /// differences are used.
    pub(crate) fn deflate(&mut self, delayed_ns: u64) {
        self.began_ns = self.began_ns.saturating_sub(delayed_ns);
        self.ended_ns = self.ended_ns.saturating_sub(delayed_ns);
    }
}
