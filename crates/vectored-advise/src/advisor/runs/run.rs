//! A run of calls that fewer calls would replace. It is counted while the calls come, in memory that
//! does not grow with its length.

use vectored_machine::model::FAST_IOVECS;

use crate::advisor::runs::pattern::{FSYNC, LSEEK, Pattern, PatternFinder, PatternStep};

impl MergeLimits {
    /// The limits for reads or writes, of a file or of something else.
    pub(crate) fn of(self, is_read: bool, is_file: bool, most_bytes: u64) -> MergeLimits {
        let reads_file = is_read && is_file;
        MergeLimits {
            most_bytes: if reads_file { u64::MAX } else { most_bytes },
            max_delay_ns: self.max_delay_ns.filter(|_| !reads_file),
            is_cut_by_time: is_read,
            ..self
        }
    }
}

/// Segments that one call can take: `IOV_MAX`.
const SEGMENTS_MAX: u64 = 1024;

/// A list is tiny if its segments have fewer bytes than this on average.
const TINY_BELOW_BYTES: u64 = 256;

/// Calls in a row from one call site that make a run of their own.
const PHASE_CALLS: u64 = 64;

/// Call sites of a run that are counted separately. Calls from further sites are counted without a site.
const SITES_MAX: usize = 16;

/// A transfer, as far as runs need it.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunCall {
    pub(crate) step: PatternStep,
    pub(crate) descriptor: i32,
    pub(crate) bytes: u64,
    pub(crate) segments: u64,
    pub(crate) is_list: bool,
    pub(crate) began_ns: u64,
    pub(crate) ended_ns: u64,
    /// Segments by size; empty for a single segment, which has all the bytes.
    pub(crate) sizes: Sizes,
}

/// Segments by size: `(size class, number, bytes)`, ascending.
pub(crate) type Sizes = Vec<(u8, u64, u64)>;

/// Adds to pairs of counts by key, ascending.
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

/// Segments of the calls that remain after merging.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MovedSegments {
    pub(crate) segments: u64,
    pub(crate) sizes: Sizes,
    pub(crate) list_calls: u64,
    /// Calls that took a list of more than 8 segments.
    pub(crate) long_list_calls: u64,
    /// Segments in these lists by size.
    pub(crate) list_sizes: Sizes,
}

impl MovedSegments {
    #[inline]
    fn add(&mut self, call: &RunCall) {
        let own = [(call.step.size_class, 1, call.bytes)];
        let sizes = if call.segments == 1 { &own[..] } else { &call.sizes };
        self.segments += call.segments;
        add_counts(&mut self.sizes, sizes);
        if call.is_list {
            self.list_calls += 1;
            self.long_list_calls += u64::from(call.segments > FAST_IOVECS as u64);
            add_counts(&mut self.list_sizes, sizes);
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MergeLimits {
    /// A run is complete when it has this many bytes.
    pub(crate) buffer_bytes: u64,
    /// A merged call has no more bytes than this.
    pub(crate) most_bytes: u64,
    /// Longest time that its first byte may wait, in ns. `None` for reads of a file, whose bytes wait
    /// for no call, and for chains, which are not counted.
    pub(crate) max_delay_ns: Option<u64>,
    /// Whether the merged call ends when this time has passed: the bytes of a stream that come later cannot be read at once.
    /// A buffer of written bytes is not cut by time: [`Run::late_ns`] notes the longest wait.
    pub(crate) is_cut_by_time: bool,
}

/// A run, or a chain of calls that is not counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
    /// Merged calls that replace several calls.
    pub(crate) gathered_calls: u64,
    pub(crate) gathered: MovedSegments,
    /// Lists of the calls that are merged with no other.
    pub(crate) alone: MovedSegments,
    /// See [`Tally::late_ns`](crate::model::Tally::late_ns).
    pub(crate) late_ns: u64,
    pub(crate) seeks: u64,
    /// Whether any other call lies between them.
    pub(crate) has_between: bool,
    /// Paths of other files that were written between them, the first ones met.
    pub(crate) order_between: Vec<Vec<u8>>,
    #[cfg(test)]
    pub(crate) members: Vec<u64>,
    pub(crate) descriptor: i32,
    /// Call sites: number of the site, calls, bytes.
    pub(crate) sites: Vec<(u32, u64, u64)>,
    /// Call site of the last call, and how many calls in a row came from it.
    streak: (u32, u64),
    closed_calls: u64,
    merged: MergedCall,
    finder: PatternFinder,
}

#[derive(Clone, Debug, Default)]
struct MergedCall {
    calls: u64,
    segments: u64,
    /// Whether its last segment is copied.
    ends_copied: bool,
    bytes: u64,
    /// End of its first call, in ns.
    since_ns: u64,
    first: RunCall,
}

impl MergedCall {
    /// Segments that a call adds to the list. Neighbours that are copied are one segment.
    fn segments_of(&self, call: &RunCall) -> u64 {
        if call.is_copied() { u64::from(!self.ends_copied) } else { call.segments }
    }
}

impl Run {
    pub(crate) fn push(&mut self, call: &RunCall, site: u32, limits: MergeLimits) {
        if self.calls == 0 {
            self.descriptor = call.descriptor;
        }
        #[cfg(test)]
        self.members.push(call.began_ns);
        self.calls += 1;
        self.bytes += call.bytes;
        if site != 0 {
            self.add_site(site, call.bytes);
        }
        self.finder.push(call.step, call.bytes);
        let delay_ns = call.began_ns.saturating_sub(self.merged.since_ns);
        let is_late = limits.max_delay_ns.is_some_and(|max| delay_ns > max);
        if self.merged.calls > 0
            && (self.merged.segments + self.merged.segments_of(call) > SEGMENTS_MAX
                || self.merged.bytes.saturating_add(call.bytes) > limits.most_bytes
                || is_late && limits.is_cut_by_time)
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
                self.gathered.add(&merged.first);
                self.gathered.add(call);
            }
            _ => self.gathered.add(call),
        }
        merged.calls += 1;
        merged.segments += merged.segments_of(call);
        merged.ends_copied = call.is_copied();
        merged.bytes += call.bytes;
        if merged.bytes >= limits.buffer_bytes {
            self.close_merged();
        }
    }

    fn add_site(&mut self, site: u32, bytes: u64) {
        self.streak = match self.streak {
            (last, calls) if last == site => (site, calls + 1),
            _ => (site, 1),
        };
        let known = self.sites.iter().position(|known| known.0 == site);
        match known {
            Some(place) => {
                self.sites[place].1 += 1;
                self.sites[place].2 += bytes;
            }
            None if self.sites.len() < SITES_MAX => self.sites.push((site, 1, bytes)),
            None => {}
        }
    }

    /// Whether a call from this site begins a new run. It does if the last `PHASE_CALLS` calls came from one other
    /// site: then the two sites do not take turns.
    #[inline]
    pub(crate) fn is_left_for(&self, site: u32) -> bool {
        site != self.streak.0 && site != 0 && self.streak.1 >= PHASE_CALLS
    }

    fn close_merged(&mut self) {
        let merged = &mut self.merged;
        match merged.calls {
            0 => return,
            1 if merged.first.is_list => self.alone.add(&merged.first),
            1 => {}
            _ => self.gathered_calls += 1,
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

    /// Least and greatest bytes of each step of `pattern`; 0 for a seek and for a sync. `pattern` is a rotation of the
    /// run's own pattern, and may have a seek or a sync beside each step. The run began with the step `start`.
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

    /// Whether all its calls took lists of tiny segments, and none is merged.
    pub(crate) fn is_all_tiny_lists(&self) -> bool {
        self.alone.list_calls == self.calls
            && self.alone.segments > self.calls
            && self.bytes < self.alone.segments * TINY_BELOW_BYTES
    }
}

impl RunCall {
    /// Whether copying its segments into one buffer may be cheaper than a list.
    pub(crate) fn is_tiny_list(&self) -> bool {
        self.is_list && self.segments > 1 && self.bytes < self.segments * TINY_BELOW_BYTES
    }

    /// Whether a merged call would copy it into a buffer. A list of the greatest length is taken as it
    /// is.
    fn is_copied(&self) -> bool {
        self.segments < SEGMENTS_MAX && self.bytes < self.segments * TINY_BELOW_BYTES
    }

    /// Subtracts the delay of its thread so far, by strace and preemption. The results are no times of a clock:
    /// only their differences are used.
    pub(crate) fn deflate(&mut self, delayed_ns: u64) {
        self.began_ns = self.began_ns.saturating_sub(delayed_ns);
        self.ended_ns = self.ended_ns.saturating_sub(delayed_ns);
    }
}
