//! A run of calls that fewer calls would replace, counted as they come: what is kept does not grow
//! with its length.

use crate::advisor::runs::pattern::{FSYNC, LSEEK, Move, Pattern, Steps, size_class};
use crate::model::FAST_IOVECS;

impl Bounds {
    /// Those of reads of a file: the bytes were there before, and nobody waits for them.
    pub(crate) fn of(self, reads_file: bool) -> Bounds {
        Bounds {
            max_delay_ns: self.max_delay_ns.filter(|_| !reads_file),
            ..self
        }
    }
}

/// A call can take so many segments: `IOV_MAX`.
const SEGMENTS_MAX: u64 = 1024;

/// Lists whose segments are shorter than this on average are tiny, in bytes.
const TINY_BELOW_BYTES: u64 = 256;

/// So many calls in a row from one call site are a run of that site.
const PHASE_CALLS: u64 = 64;

/// So many call sites of a run are told apart; the calls from others are not named.
const SITES_MAX: usize = 16;

/// One transfer, as a run sees it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Piece {
    /// What was called.
    pub(crate) step: Move,
    /// The number of the descriptor.
    pub(crate) descriptor: i32,
    /// What it moved.
    pub(crate) bytes: u64,
    /// Segments that are not empty.
    pub(crate) segments: u64,
    /// Whether they were in a list.
    pub(crate) is_list: bool,
    /// When it began, in ns.
    pub(crate) began_ns: u64,
    /// When it ended, in ns.
    pub(crate) ended_ns: u64,
    /// The segments by size; not filled in of one alone, which has all the bytes.
    pub(crate) sizes: Sizes,
}

/// Segments by size: class, how many, their bytes; ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes(pub(crate) Vec<(u8, u64, u64)>);

impl Sizes {
    /// Adds so many segments of a class.
    #[inline]
    pub(crate) fn add(&mut self, class: u8, segments: u64, bytes: u64) {
        match self.0.iter().position(|size| size.0 >= class) {
            Some(place) if self.0[place].0 == class => {
                self.0[place].1 += segments;
                self.0[place].2 += bytes;
            }
            Some(place) => self.0.insert(place, (class, segments, bytes)),
            None => self.0.push((class, segments, bytes)),
        }
    }

    /// Adds one segment.
    pub(crate) fn add_segment(&mut self, bytes: u64) {
        self.add(size_class(bytes), 1, bytes);
    }

    /// Adds those of a transfer.
    #[inline]
    fn add_all(&mut self, piece: &Piece) {
        if piece.segments == 1 {
            return self.add(piece.step.size_class, 1, piece.bytes);
        }
        for &(class, segments, bytes) in &piece.sizes.0 {
            self.add(class, segments, bytes);
        }
    }
}

/// What merged calls are made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moved {
    /// Segments.
    pub(crate) segments: u64,
    /// The same by size.
    pub(crate) sizes: Sizes,
    /// Calls that had a list already.
    pub(crate) list_calls: u64,
    /// Those of them with more than 8 segments.
    pub(crate) long_list_calls: u64,
    /// Segments in these lists by size.
    pub(crate) list_sizes: Sizes,
}

impl Moved {
    #[inline]
    fn add(&mut self, piece: &Piece) {
        self.segments += piece.segments;
        self.sizes.add_all(piece);
        if piece.is_list {
            self.list_calls += 1;
            self.long_list_calls += u64::from(piece.segments > FAST_IOVECS as u64);
            self.list_sizes.add_all(piece);
        }
    }

    fn clear(&mut self) {
        self.segments = 0;
        self.sizes.0.clear();
        self.list_calls = 0;
        self.long_list_calls = 0;
        self.list_sizes.0.clear();
    }
}

/// What bounds a merged call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// It is closed when it has so many bytes.
    pub(crate) buffer_bytes: u64,
    /// Its first byte waits no longer, in ns; `None` for reads of a file, whose bytes wait for nobody, and in
    /// what is not counted anyway.
    pub(crate) max_delay_ns: Option<u64>,
}

/// A run, or several calls of a chain that is not counted.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// Calls in it.
    pub(crate) calls: u64,
    /// Bytes that they moved.
    pub(crate) bytes: u64,
    /// Merged calls that are made of several.
    pub(crate) gathered_calls: u64,
    /// What those are made of.
    pub(crate) gathered: Moved,
    /// The lists of calls that were merged with none.
    pub(crate) alone: Moved,
    /// The bytes of the longest merged call that is made of several.
    pub(crate) longest_bytes: u64,
    /// `lseek` between them.
    pub(crate) seeks: u64,
    /// Whether anything at all lay between.
    pub(crate) has_between: bool,
    /// Another file that was written between them: its path, the first one met.
    pub(crate) order_between: Vec<u8>,
    /// The number of the descriptor of the first.
    pub(crate) descriptor: i32,
    /// Its call sites: which, how many calls, their bytes.
    pub(crate) sites: Vec<(u32, u64, u64)>,
    /// The call site of the last, and how many calls in a row came from there.
    streak: (u32, u64),
    /// Whether the first has as many segments as a call can take.
    is_full: bool,
    /// Merged calls that are complete.
    closed_calls: u64,
    group: Group,
    steps: Steps,
}

/// The merged call that is being made.
#[derive(Clone, Debug, Default)]
struct Group {
    calls: u64,
    /// In its list.
    segments: u64,
    /// Whether the last of them is copied.
    ends_copied: bool,
    bytes: u64,
    /// When the first of its calls ended, in ns.
    since_ns: u64,
    /// The first of its calls, as long as it is alone.
    first: Piece,
}

impl Group {
    /// The segments that a call adds to its list: what is copied next to what is copied is one with it.
    fn segments_of(&self, piece: &Piece) -> u64 {
        match piece.is_copied() {
            true => u64::from(!self.ends_copied),
            false => piece.segments,
        }
    }
}

impl Run {
    pub(crate) fn new() -> Run {
        Run {
            calls: 0,
            bytes: 0,
            gathered_calls: 0,
            gathered: Moved::default(),
            alone: Moved::default(),
            longest_bytes: 0,
            seeks: 0,
            has_between: false,
            order_between: Vec::new(),
            descriptor: 0,
            sites: Vec::new(),
            streak: (0, 0),
            is_full: false,
            closed_calls: 0,
            group: Group::default(),
            steps: Steps::new(),
        }
    }

    /// As new, but for the memory that it holds.
    pub(crate) fn clear(&mut self) {
        self.calls = 0;
        self.bytes = 0;
        self.gathered_calls = 0;
        self.gathered.clear();
        self.alone.clear();
        self.longest_bytes = 0;
        self.seeks = 0;
        self.has_between = false;
        self.sites.clear();
        self.streak = (0, 0);
        self.order_between.clear();
        self.closed_calls = 0;
        self.group.calls = 0;
        self.steps.clear();
    }

    /// Adds the next call.
    pub(crate) fn push(&mut self, piece: &Piece, site: u32, bounds: Bounds) {
        if self.calls == 0 {
            self.descriptor = piece.descriptor;
            self.is_full = piece.segments >= SEGMENTS_MAX;
        }
        self.calls += 1;
        self.bytes += piece.bytes;
        if site != 0 {
            self.add_site(site, piece.bytes);
        }
        self.steps.push(piece.step, piece.bytes);
        let delay_ns = piece.began_ns.saturating_sub(self.group.since_ns);
        if self.group.calls > 0
            && (self.group.segments + self.group.segments_of(piece) > SEGMENTS_MAX
                || bounds.max_delay_ns.is_some_and(|max| delay_ns > max))
        {
            self.close_group();
        }
        let group = &mut self.group;
        match group.calls {
            0 => {
                group.first.take_over(piece);
                group.segments = 0;
                group.ends_copied = false;
                group.bytes = 0;
                group.since_ns = piece.ended_ns;
            }
            1 => {
                self.gathered.add(&group.first);
                self.gathered.add(piece);
            }
            _ => self.gathered.add(piece),
        }
        group.calls += 1;
        group.segments += group.segments_of(piece);
        group.ends_copied = piece.is_copied();
        group.bytes += piece.bytes;
        if group.bytes >= bounds.buffer_bytes {
            self.close_group();
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

    /// Whether a call from this site begins a run of its own: many calls in a row came from another
    /// one, so the two do not take turns.
    #[inline]
    pub(crate) fn is_left_for(&self, site: u32) -> bool {
        site != self.streak.0 && site != 0 && self.streak.1 >= PHASE_CALLS
    }

    fn close_group(&mut self) {
        let group = &mut self.group;
        match group.calls {
            0 => return,
            1 if group.first.is_list => self.alone.add(&group.first),
            1 => {}
            _ => {
                self.gathered_calls += 1;
                self.longest_bytes = self.longest_bytes.max(group.bytes);
            }
        }
        self.closed_calls += 1;
        group.calls = 0;
    }

    /// Completes the last merged call: how many there are.
    pub(crate) fn finish(&mut self) -> u64 {
        self.close_group();
        self.closed_calls
    }

    /// Its pattern.
    pub(crate) fn pattern(&self) -> Pattern {
        self.steps.pattern()
    }

    /// The least and the greatest bytes of each step of a pattern that is a rotation of its own, perhaps
    /// with another call beside each step. The run began with the step `start`.
    pub(crate) fn ranges(&self, pattern: &Pattern, start: usize) -> Vec<(u64, u64)> {
        let steps = pattern.steps();
        let moves = |step: &&Move| !matches!(step.call, LSEEK | FSYNC);
        let count = steps.iter().filter(moves).count();
        let own = self.steps.period_ranges();
        let own = own.filter(|own| own.len() == count && count > 0);
        let start = start * count / steps.len().max(1);
        let mut place = 0;
        let range = |step: &Move| {
            if !moves(&step) {
                return (0, 0);
            }
            let index = place;
            place += 1;
            match &own {
                Some(own) => own[(index + count - start) % count],
                None => self.steps.range(*step),
            }
        };
        steps.iter().map(range).collect()
    }

    /// Whether all its calls had lists of tiny segments, and none was merged.
    pub(crate) fn is_all_tiny_lists(&self) -> bool {
        self.is_all_lists() && self.bytes < self.alone.segments * TINY_BELOW_BYTES
    }

    /// Whether it is a longer list than a call can take, in several calls.
    pub(crate) fn is_split_list(&self) -> bool {
        self.is_all_lists() && self.calls > 1 && self.is_full
    }

    fn is_all_lists(&self) -> bool {
        self.alone.list_calls == self.calls && self.alone.segments > self.calls
    }
}

impl Piece {
    /// Whether copying its segments into one buffer first may be cheaper.
    pub(crate) fn is_tiny_list(&self) -> bool {
        self.is_list && self.segments > 1 && self.bytes < self.segments * TINY_BELOW_BYTES
    }

    /// Whether a merged call would copy it into a buffer. Of a list as long as a call can take no more is
    /// known.
    fn is_copied(&self) -> bool {
        self.segments < SEGMENTS_MAX && self.bytes < self.segments * TINY_BELOW_BYTES
    }

    fn clone_sizes_from(&mut self, other: &Piece) {
        self.sizes.0.clear();
        self.sizes.0.extend_from_slice(&other.sizes.0);
    }

    /// Takes what strace has added to its thread's calls so far from its times: only their differences
    /// matter.
    pub(crate) fn deflate(&mut self, delayed_ns: u64) {
        self.began_ns = self.began_ns.saturating_sub(delayed_ns);
        self.ended_ns = self.ended_ns.saturating_sub(delayed_ns);
    }

    /// As `clone`, but in the memory that it has.
    pub(crate) fn take_over(&mut self, other: &Piece) {
        self.clone_sizes_from(other);
        (self.step, self.bytes, self.segments) = (other.step, other.bytes, other.segments);
        self.descriptor = other.descriptor;
        self.is_list = other.is_list;
        (self.began_ns, self.ended_ns) = (other.began_ns, other.ended_ns);
    }
}
