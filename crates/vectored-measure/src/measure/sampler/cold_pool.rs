//! Segments whose bytes come from memory, not from a cache of the CPU.
//!
//! A pool is twice the size of the last-level cache. The pool is divided into slots, each with room for the segments of one
//! call. Calls use all slots before they reuse a slot: by then, more bytes than the cache holds have been touched. The
//! floor has its own pool of the same size, whose slots hold the bytes of a call contiguously.

use std::cell::RefCell;
use std::rc::Rc;

use fastrand::Rng;
use vectored_machine::host::last_level_cache_bytes;
use vectored_results::model::{Layout, Workload};

use crate::measure::sampler::payload::{ALIGNMENT, place, stamps, widest_extent};

const ASSUMED_CACHE_BYTES: u64 = 32 << 20;

/// Maximum size of each of the two pools, and of the memory that is read to
/// empty the caches. With the buffers of the largest call, a run stays below
/// 512 MiB.
const MAX_POOL_BYTES: u64 = 128 << 20;

/// Size of a cache line. No two slots share a line.
const LINE_BYTES: usize = 64;

pub const MAX_COLD_CALL_BYTES: usize = 16 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColdPool {
    pub cache_bytes: Option<u64>,
    pub pool_bytes: u64,
}

impl ColdPool {
    /// The pool for this machine, from `/sys/devices/system/cpu/cpu0/cache`.
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

    /// The warning for the report if the pool is not known to be twice the cache.
    pub fn warning(&self) -> Option<String> {
        let mib = |bytes: u64| bytes >> 20;
        let cache = match self.cache_bytes {
            Some(bytes) if self.pool_bytes >= 2 * bytes => return None,
            Some(bytes) => format!("has {} MiB", mib(bytes)),
            None => "is of unknown size".to_owned(),
        };
        Some(format!(
            "the last-level cache {cache}, and the pool of --cache cold has {} MiB: if that is less than twice the cache, \
             some bytes may have been in the cache",
            mib(self.pool_bytes)
        ))
    }
}

#[derive(Debug, Default)]
pub(crate) struct PoolMemory {
    pools: [Vec<u8>; 2],
    /// Read before a cell begins, to evict what the previous cell left in the
    /// caches.
    sweep: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Segments,
    Image,
}

#[derive(Debug)]
pub(crate) struct PoolPayload {
    pools: [Pool; 2],
    sweep: Vec<u8>,
    /// The owner of the memory. When this value is dropped, the memory goes back there.
    home: Rc<RefCell<PoolMemory>>,
    /// The pool of the current batch.
    form: Form,
    rng: Rng,
}

impl Drop for PoolPayload {
    fn drop(&mut self) {
        let pools = self.pools.each_mut();
        self.home.replace(PoolMemory {
            pools: pools.map(|pool| std::mem::take(&mut pool.memory)),
            sweep: std::mem::take(&mut self.sweep),
        });
    }
}

impl PoolPayload {
    pub fn new(
        workload: &Workload,
        layout: Layout,
        pool_bytes: u64,
        home: &Rc<RefCell<PoolMemory>>,
        seed: u64,
    ) -> Self {
        let mut rng = Rng::with_seed(seed);
        let pool_bytes = pool_bytes as usize;
        let memory = home.take();
        let (mut sweep, [scattered, contiguous]) = (memory.sweep, memory.pools);
        let image = vec![workload.total_bytes()];
        let pools = [
            Pool::new(
                workload.sizes().to_vec(),
                layout,
                pool_bytes,
                scattered,
                &mut rng,
            ),
            Pool::new(image, Layout::Adjacent, pool_bytes, contiguous, &mut rng),
        ];
        fill_up(&mut sweep, pool_bytes, &mut rng);
        let lines = sweep.iter().step_by(LINE_BYTES);
        std::hint::black_box(lines.fold(0, |sum: u8, byte| sum.wrapping_add(*byte)));
        let mut payload = PoolPayload {
            pools,
            sweep,
            home: Rc::clone(home),
            form: Form::Segments,
            rng,
        };
        payload.lay_out();
        payload
    }

    /// Moves all slots to a random place within a cache line. In any case, every call uses a different slot, in which the
    /// segments have other places.
    pub fn lay_out(&mut self) {
        for pool in &mut self.pools {
            pool.phase = ALIGNMENT * self.rng.usize(..LINE_BYTES / ALIGNMENT);
        }
    }

    /// Stamps `mark` into the heads of the segments that were drawn last. Then draws the segments of the next `calls`
    /// calls, one slot each, without touching them.
    ///
    /// Segments are stamped after their batch because stamping brings them into
    /// the cache. The segments have left the cache when their slot is reused. No two batches have the same bytes: different
    /// slots differ since they are random, and a reused slot differs by its stamp.
    pub fn draw(&mut self, form: Form, calls: u32, mark: u64) {
        self.pools[self.form as usize].stamp(mark);
        self.form = form;
        self.pools[form as usize].draw(calls, &mut self.rng);
    }

    pub fn drawn(&self) -> Vec<&[u8]> {
        let pool = &self.pools[self.form as usize];
        let places = std::iter::zip(&pool.drawn, pool.sizes.iter().cycle());
        places
            .map(|(&offset, &size)| &pool.memory[offset..offset + size])
            .collect()
    }

    pub fn per_call(&self) -> usize {
        self.pools[self.form as usize].sizes.len()
    }
}

fn fill_up(memory: &mut Vec<u8>, length: usize, rng: &mut Rng) {
    let filled = memory.len();
    if filled < length {
        memory.resize(length, 0);
        rng.fill(&mut memory[filled..]);
    }
}

/// Slots in a cyclic order.
///
/// Successive slots are far from each other in memory, so that no hardware
/// prefetcher loads the next slot: prefetchers work within pages and with small
/// strides.
#[derive(Debug)]
struct Pool {
    memory: Vec<u8>,
    sizes: Vec<usize>,
    layout: Layout,
    slots: usize,
    slot_bytes: usize,
    stride: usize,
    next: usize,
    phase: usize,
    drawn: Vec<usize>,
}

impl Pool {
    fn new(
        sizes: Vec<usize>,
        layout: Layout,
        pool_bytes: usize,
        mut memory: Vec<u8>,
        rng: &mut Rng,
    ) -> Self {
        let slot_bytes = widest_extent(&sizes, layout, ALIGNMENT).next_multiple_of(LINE_BYTES);
        let slots = (pool_bytes / slot_bytes).max(2);
        // The golden ratio spreads any number of steps evenly.
        let mut stride = ((slots as f64 * 0.618_034) as usize).max(1);
        while greatest_common_divisor(stride, slots) != 1 {
            stride += 1;
        }
        // The memory has room for any phase.
        fill_up(&mut memory, slots * slot_bytes + LINE_BYTES, rng);
        Pool {
            memory,
            sizes,
            layout,
            slots,
            slot_bytes,
            stride,
            next: 0,
            phase: 0,
            drawn: Vec::new(),
        }
    }

    fn draw(&mut self, calls: u32, rng: &mut Rng) {
        let count = self.sizes.len();
        self.drawn.resize(count * calls as usize, 0);
        for offsets in self.drawn.chunks_exact_mut(count) {
            let start = self.phase + self.next * self.slot_bytes;
            self.next = (self.next + self.stride) % self.slots;
            place(
                (&self.sizes[..], self.layout, ALIGNMENT),
                start,
                rng,
                offsets,
            );
        }
    }

    fn stamp(&mut self, mark: u64) {
        let drawn = std::iter::zip(&self.drawn, self.sizes.iter().cycle());
        for ((&offset, &size), stamp) in drawn.zip(stamps(mark)) {
            let head = &stamp[..size.min(stamp.len())];
            self.memory[offset..offset + head.len()].copy_from_slice(head);
        }
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
        PoolPayload::new(&workload, layout, pool_bytes, &Rc::default(), 5)
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
        fn calls_share_no_byte_until_a_slot_is_reused_and_have_the_layout_of_the_cell(
            sizes in prop::collection::vec(1_usize..300, 1..20),
            layout in prop::sample::select(Layout::ALL.to_vec()),
        ) {
            let mut pool = pool(&sizes, layout, 1 << 16);
            for (form, calls) in [
                (Form::Segments, pool.pools[0].slots),
                (Form::Image, pool.pools[1].slots),
            ] {
                pool.draw(form, calls as u32, 1);
                let segments = pool.drawn();
                prop_assert_eq!(segments.len(), calls * pool.per_call());
                for pair in places(&segments).windows(2) {
                    prop_assert!(pair[0].0 + pair[0].1 <= pair[1].0);
                }
                let expected = sizes.iter().sum::<usize>() * calls;
                prop_assert_eq!(segments.concat().len(), expected);
                for pair in segments.chunks(pool.per_call()).flat_map(|call| call.windows(2)) {
                    let end = pair[0].as_ptr().addr() + pair[0].len();
                    let is_adjacent = end == pair[1].as_ptr().addr();
                    prop_assert_eq!(is_adjacent, layout == Layout::Adjacent);
                }
            }
        }

    }

    #[test]
    fn slots_differ_and_differ_again_when_they_are_reused() {
        for form in [Form::Segments, Form::Image] {
            let mut pool = pool(&[40, 3, 8], Layout::Adjacent, 1 << 12);
            let slots = pool.pools[form as usize].slots;
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
    fn drawing_touches_only_the_segments_drawn_before() {
        let mut pool = pool(&[64; 4], Layout::Scattered, 1 << 16);
        pool.draw(Form::Segments, 2, 1);
        let before = pool.drawn().concat();
        let memory = pool.pools[0].memory.clone();
        pool.draw(Form::Segments, 2, 2);
        // Only the heads of the two calls drawn first are stamped.
        let changed = std::iter::zip(&memory, &pool.pools[0].memory);
        let changed = changed.filter(|(old, new)| old != new).count();
        assert!((1..=2 * 4 * 8).contains(&changed), "{changed}");
        assert_ne!(before, pool.drawn().concat());
    }

    #[test]
    fn the_memory_goes_back_for_the_next_cell() {
        let home = Rc::<RefCell<PoolMemory>>::default();
        let workload = Workload::from_sizes(vec![64; 4]);
        drop(PoolPayload::new(
            &workload,
            Layout::Adjacent,
            1 << 16,
            &home,
            5,
        ));
        let PoolMemory { pools, sweep } = home.take();
        assert!(
            pools
                .iter()
                .chain([&sweep])
                .all(|memory| memory.len() >= 1 << 16)
        );
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
}
