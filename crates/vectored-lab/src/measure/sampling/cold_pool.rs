//! Segments whose bytes come from memory, not from a cache of the CPU.
//!
//! The memory of a pool is twice the last-level cache. It is divided into slots,
//! each of which has room for the segments of one call, and the calls go round
//! through all slots before they come to one again. By then more than a whole
//! cache of other bytes has been touched. The floor has a pool of its own, of
//! the same size, whose slots hold the bytes of a call in one piece.

use fastrand::Rng;

use crate::measure::host::environment::{parse_cache_size, read};
use crate::measure::sampling::payload::{ALIGNMENT, place, stamps, widest_extent};
use crate::model::{Layout, Workload};

/// What is assumed of the last-level cache where the system tells nothing.
const ASSUMED_CACHE_BYTES: u64 = 32 << 20;

/// The most that one of the two pools may have, and what is read to empty the
/// caches: with what a call of the most bytes needs besides, a run stays below
/// 512 MiB.
const MAX_POOL_BYTES: u64 = 128 << 20;

/// A line of the caches. A slot has whole lines of its own.
const LINE_BYTES: usize = 64;

/// The bytes of a cold call are at most this many.
pub const MAX_COLD_CALL_BYTES: usize = 16 << 20;

/// How large the pools of `--cache cold` are, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColdPool {
    /// The last-level cache, where the system tells.
    pub cache_bytes: Option<u64>,
    /// Each of the two pools.
    pub pool_bytes: u64,
}

impl ColdPool {
    /// For this machine, as `/sys/devices/system/cpu/cpu0/cache` describes it.
    pub fn of_this_machine() -> Self {
        ColdPool::for_cache(last_level_cache_bytes())
    }

    fn for_cache(cache_bytes: Option<u64>) -> Self {
        let assumed = cache_bytes.unwrap_or(ASSUMED_CACHE_BYTES);
        ColdPool {
            cache_bytes,
            pool_bytes: (2 * assumed).min(MAX_POOL_BYTES),
        }
    }

    /// What a reader of the figures has to know, where the pool is not surely
    /// twice the cache.
    pub fn warning(&self) -> Option<String> {
        let mib = |bytes: u64| bytes >> 20;
        match self.cache_bytes {
            None => Some(format!(
                "the size of the last-level cache is unknown: --cache cold drew from a pool of {} \
                 MiB, which is cold only if the cache has at most {} MiB",
                mib(self.pool_bytes),
                mib(self.pool_bytes / 2)
            )),
            Some(bytes) if self.pool_bytes < 2 * bytes => Some(format!(
                "the last-level cache has {} MiB: the pool of --cache cold, {} MiB at most, is \
                 less than twice that, so some bytes may have been in the cache",
                mib(bytes),
                mib(self.pool_bytes)
            )),
            Some(_) => None,
        }
    }
}

/// The size of the cache of the highest level.
fn last_level_cache_bytes() -> Option<u64> {
    let levels = (0..8).filter_map(|index| {
        let attribute = |name| {
            read(&format!(
                "/sys/devices/system/cpu/cpu0/cache/index{index}/{name}"
            ))
        };
        let level: u32 = attribute("level")?.parse().ok()?;
        Some((level, parse_cache_size(&attribute("size")?)?))
    });
    levels
        .max()
        .map(|(_, bytes)| bytes)
        .filter(|&bytes| bytes > 0)
}

/// The memory of both pools, which serves all cells of a run.
#[derive(Debug, Default)]
pub(crate) struct PoolMemory {
    scattered: Vec<u8>,
    contiguous: Vec<u8>,
    /// Read before a cell begins: what the one before it has left in the caches
    /// would be found there.
    sweep: Vec<u8>,
}

/// The segments of successive calls.
#[derive(Debug)]
pub(crate) struct PoolPayload {
    sizes: Vec<usize>,
    layout: Layout,
    total_bytes: usize,
    memory: PoolMemory,
    segments: Orbit,
    images: Orbit,
    /// Where the segments of the batch at hand are, and in which pool.
    drawn: Vec<usize>,
    form: Form,
    rng: Rng,
}

/// What a call is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The segments of the list.
    Segments,
    /// As many bytes in one piece.
    Image,
}

impl PoolPayload {
    /// Lists of these sizes out of pools of so many bytes.
    pub fn new(
        workload: &Workload,
        layout: Layout,
        pool_bytes: u64,
        mut memory: PoolMemory,
        seed: u64,
    ) -> Self {
        let sizes = workload.sizes().to_vec();
        let total_bytes = workload.total_bytes();
        let mut rng = Rng::with_seed(seed);
        let pool_bytes = pool_bytes as usize;
        let segments = Orbit::new(widest_extent(&sizes, layout), pool_bytes);
        let images = Orbit::new(total_bytes, pool_bytes);
        fill_up(&mut memory.scattered, segments.extent(), &mut rng);
        fill_up(&mut memory.contiguous, images.extent(), &mut rng);
        fill_up(&mut memory.sweep, pool_bytes, &mut rng);
        let lines = memory.sweep.iter().step_by(LINE_BYTES);
        std::hint::black_box(lines.fold(0, |sum: u8, byte| sum.wrapping_add(*byte)));
        let mut payload = PoolPayload {
            sizes,
            layout,
            total_bytes,
            memory,
            segments,
            images,
            drawn: Vec::new(),
            form: Form::Segments,
            rng,
        };
        payload.lay_out();
        payload
    }

    /// Moves all slots a little. Every call has another slot anyway, with
    /// segments at places of its own.
    pub fn lay_out(&mut self) {
        self.segments.shift(&mut self.rng);
        self.images.shift(&mut self.rng);
    }

    /// Stamps the heads of what was drawn last, and draws the segments of the
    /// next calls, a slot each, without touching them.
    ///
    /// They are stamped afterwards because stamping brings them into the cache;
    /// when it is their turn again they have left it. So no two batches ever
    /// have the same bytes: those of each slot are random, those of the same
    /// slot carry another mark.
    pub fn draw(&mut self, form: Form, calls: u32, mark: u64) {
        self.stamp(mark);
        self.form = form;
        self.drawn.clear();
        match form {
            Form::Image => {
                let starts = std::iter::repeat_with(|| self.images.next());
                self.drawn.extend(starts.take(calls as usize));
            }
            Form::Segments => {
                let count = self.sizes.len();
                self.drawn.resize(count * calls as usize, 0);
                for offsets in self.drawn.chunks_exact_mut(count) {
                    let start = self.segments.next();
                    place(&self.sizes, self.layout, start, &mut self.rng, offsets);
                }
            }
        }
    }

    fn stamp(&mut self, mark: u64) {
        let bytes = match self.form {
            Form::Segments => &mut self.memory.scattered,
            Form::Image => &mut self.memory.contiguous,
        };
        let sizes = match self.form {
            Form::Segments => &self.sizes[..],
            Form::Image => std::slice::from_ref(&self.total_bytes),
        };
        let drawn = std::iter::zip(&self.drawn, sizes.iter().cycle());
        for ((&offset, &size), stamp) in drawn.zip(stamps(mark)) {
            let head = &stamp[..size.min(stamp.len())];
            bytes[offset..offset + head.len()].copy_from_slice(head);
        }
    }

    /// The segments of the calls that were drawn, call by call.
    pub fn drawn(&self) -> Vec<&[u8]> {
        let sizes = match self.form {
            Form::Segments => &self.sizes[..],
            Form::Image => std::slice::from_ref(&self.total_bytes),
        };
        let bytes = match self.form {
            Form::Segments => &self.memory.scattered,
            Form::Image => &self.memory.contiguous,
        };
        std::iter::zip(&self.drawn, sizes.iter().cycle())
            .map(|(&offset, &size)| &bytes[offset..offset + size])
            .collect()
    }

    /// Segments of each call.
    pub fn per_call(&self) -> usize {
        match self.form {
            Form::Segments => self.sizes.len(),
            Form::Image => 1,
        }
    }

    /// The memory, for the next cell.
    pub fn into_memory(self) -> PoolMemory {
        self.memory
    }
}

/// Makes memory as long as it has to be, of random bytes, all of them touched.
fn fill_up(memory: &mut Vec<u8>, length: usize, rng: &mut Rng) {
    let filled = memory.len();
    if filled < length {
        memory.resize(length, 0);
        rng.fill(&mut memory[filled..]);
    }
}

/// A way through all slots of a pool that comes to each once a turn.
///
/// Neighbours in time are far from each other in memory, so that no prefetcher
/// of the CPU brings the next slot: they go by pages and by small strides.
#[derive(Debug)]
struct Orbit {
    slots: usize,
    slot_bytes: usize,
    stride: usize,
    next: usize,
    /// Where the first slot begins.
    phase: usize,
}

impl Orbit {
    fn new(bytes: usize, pool_bytes: usize) -> Self {
        let slot_bytes = bytes.next_multiple_of(LINE_BYTES);
        let slots = (pool_bytes / slot_bytes).max(2);
        // The golden section spreads any number of steps evenly.
        let mut stride = ((slots as f64 * 0.618_034) as usize).max(1);
        while greatest_common_divisor(stride, slots) != 1 {
            stride += 1;
        }
        Orbit {
            slots,
            slot_bytes,
            stride,
            next: 0,
            phase: 0,
        }
    }

    /// The memory that all slots take, however they are aligned.
    fn extent(&self) -> usize {
        self.slots * self.slot_bytes + LINE_BYTES
    }

    /// Moves all slots to another place within a line.
    fn shift(&mut self, rng: &mut Rng) {
        self.phase = ALIGNMENT * rng.usize(..LINE_BYTES / ALIGNMENT);
    }

    /// Where the next slot begins.
    fn next(&mut self) -> usize {
        let slot = self.next;
        self.next = (slot + self.stride) % self.slots;
        self.phase + slot * self.slot_bytes
    }
}

fn greatest_common_divisor(mut a: usize, mut b: usize) -> usize {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn pool(sizes: &[usize], layout: Layout, pool_bytes: u64) -> PoolPayload {
        let workload = Workload::from_sizes(sizes.to_vec());
        PoolPayload::new(&workload, layout, pool_bytes, PoolMemory::default(), 5)
    }

    fn places(segments: &[&[u8]]) -> Vec<(usize, usize)> {
        let mut places: Vec<(usize, usize)> = segments
            .iter()
            .map(|segment| (segment.as_ptr().addr(), segment.len()))
            .collect();
        places.sort_unstable();
        places
    }

    proptest! {
        #[test]
        fn the_calls_of_a_turn_share_no_byte(
            sizes in prop::collection::vec(1_usize..300, 1..20),
            layout in prop::sample::select(Layout::ALL.to_vec()),
        ) {
            let mut pool = pool(&sizes, layout, 1 << 16);
            for (form, calls) in [
                (Form::Segments, pool.segments.slots),
                (Form::Image, pool.images.slots),
            ] {
                pool.draw(form, calls as u32, 1);
                let segments = pool.drawn();
                prop_assert_eq!(segments.len(), calls * pool.per_call());
                for pair in places(&segments).windows(2) {
                    prop_assert!(pair[0].0 + pair[0].1 <= pair[1].0);
                }
                let expected = sizes.iter().sum::<usize>() * calls;
                prop_assert_eq!(segments.concat().len(), expected);
            }
        }

        #[test]
        fn segments_of_a_call_lie_as_asked(
            sizes in prop::collection::vec(1_usize..300, 2..20),
        ) {
            for (layout, adjacent) in [(Layout::Adjacent, true), (Layout::Scattered, false)] {
                let mut pool = pool(&sizes, layout, 1 << 16);
                pool.draw(Form::Segments, 3, 1);
                for call in pool.drawn().chunks(sizes.len()) {
                    for pair in call.windows(2) {
                        let end = pair[0].as_ptr().addr() + pair[0].len();
                        prop_assert_eq!(end == pair[1].as_ptr().addr(), adjacent);
                    }
                }
            }
        }
    }

    #[test]
    fn a_turn_passes_the_whole_pool_before_a_slot_comes_again() {
        for (bytes, pool_bytes) in [(32, 1 << 20), (4096, 1 << 20), (1000, 77_777), (5000, 1)] {
            let mut orbit = Orbit::new(bytes, pool_bytes);
            let turn: Vec<usize> = (0..orbit.slots).map(|_| orbit.next()).collect();
            let distinct: HashSet<usize> = turn.iter().copied().collect();
            assert_eq!(distinct.len(), orbit.slots);
            assert_eq!(orbit.next(), turn[0]);
            let touched = orbit.slots * orbit.slot_bytes;
            assert!(touched + orbit.slot_bytes > pool_bytes);
            assert!(touched <= pool_bytes.max(2 * orbit.slot_bytes));
        }
    }

    #[test]
    fn entries_differ_and_differ_again_after_they_were_used() {
        for form in [Form::Segments, Form::Image] {
            let mut pool = pool(&[40, 3, 8], Layout::Adjacent, 1 << 12);
            let slots = match form {
                Form::Segments => pool.segments.slots,
                Form::Image => pool.images.slots,
            };
            let mut seen = HashSet::new();
            for turn in 0..3 {
                for _ in 0..slots {
                    pool.draw(form, 1, turn);
                    assert!(seen.insert(pool.drawn().concat()), "turn {turn}");
                }
            }
        }
    }

    #[test]
    fn nothing_that_is_drawn_was_touched_since_the_turn_before() {
        let mut pool = pool(&[64; 4], Layout::Scattered, 1 << 16);
        pool.draw(Form::Segments, 2, 1);
        let before = pool.drawn().concat();
        let memory = pool.memory.scattered.clone();
        pool.draw(Form::Segments, 2, 2);
        // The two that were drawn first carry the mark, and nothing else does.
        let changed = std::iter::zip(&memory, &pool.memory.scattered);
        let changed = changed.filter(|(old, new)| old != new).count();
        assert!((1..=2 * 4 * 8).contains(&changed), "{changed}");
        assert_ne!(before, pool.drawn().concat());
    }

    #[test]
    fn the_pool_is_twice_the_cache_within_bounds() {
        let of = |mib: Option<u64>| ColdPool::for_cache(mib.map(|mib| mib << 20));
        let mib = |pool: ColdPool| pool.pool_bytes >> 20;
        assert_eq!(mib(of(Some(8))), 16);
        assert_eq!(of(Some(64)).warning(), None);
        assert_eq!(mib(of(None)), 64);
        assert!(of(None).warning().unwrap().contains("unknown"));
        assert_eq!(mib(of(Some(300))), 128);
        assert!(of(Some(300)).warning().unwrap().contains("300 MiB"));
    }

    #[test]
    fn memory_is_used_again() {
        let first = pool(&[64; 4], Layout::Scattered, 1 << 16);
        let memory = first.into_memory();
        let place = memory.scattered.as_ptr();
        let workload = Workload::uniform(2, 16);
        let again = PoolPayload::new(&workload, Layout::Adjacent, 1 << 16, memory, 6);
        assert_eq!(again.memory.scattered.as_ptr(), place);
    }
}
