//! One writer: its records in memory, and the samples that it is ordered to take.

use std::cell::Cell;
use std::io;

use fastrand::Rng;
use vectored::CostModel;
use vectored_machine::platform::fd::BorrowedFd;
use vectored_machine::{Clock, MonotonicClock};
use vectored_results::model::{IovecSetup, Layout, RECORD_HEAD_BYTES, TechniqueName};

use crate::measure::cell::writers::gate::Gate;
use crate::measure::cell::writers::records::{body, head};
use crate::measure::sampler::interface::Contender;
use crate::measure::sampler::lists::Lists;
use crate::measure::sampler::meter::{Meter, Timed};
use crate::measure::sampler::payload::{
    ALIGNMENT, START_RANGE, place, random_start, widest_extent,
};
use crate::measure::techniques::write_mover::Mover;

/// The settings of all writers of a cell.
#[derive(Clone, Debug)]
pub(crate) struct WriterSetup {
    /// Sizes of the segments of a record.
    pub sizes: Vec<usize>,
    pub layout: Layout,
    pub iovec_setup: IovecSetup,
    /// Whether each record ends with an `fsync(2)`.
    pub fsync: bool,
    /// The costs that `adaptive` works with.
    pub model: CostModel,
    /// Seed of the bytes of the records.
    pub seed: u64,
}

/// One sample of one contender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    /// The technique; `None` for the floor.
    pub technique: Option<TechniqueName>,
    /// Whether the floor is the second one.
    pub again: bool,
    /// Records to write.
    pub records: u32,
    /// The mark in their heads.
    pub mark: u32,
    /// The round, in which memory is laid out anew.
    pub round: u32,
}

impl Order {
    pub fn contender(&self) -> Contender {
        match (self.technique, self.again) {
            (Some(technique), _) => Contender::Technique(technique),
            (None, false) => Contender::Floor,
            (None, true) => Contender::FloorAgain,
        }
    }
}

/// When a writer wrote its records, by the clock that all threads share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub began_ns: u64,
    pub ended_ns: u64,
    /// CPU time of the writer.
    pub cpu_ns: u64,
}

/// Makes the mover of a contender, in each writer for itself: [`movers`](crate::measure::movers) or like it.
pub type WriterMovers = fn(Contender, &CostModel) -> Box<dyn Mover>;

/// A writer with its memory.
pub(crate) struct Writer {
    name: u32,
    setup: WriterSetup,
    make_mover: WriterMovers,
    movers: Vec<(Contender, Box<dyn Mover>)>,
    memory: RecordMemory,
    round: Option<u32>,
}

impl Writer {
    /// The writer with this number.
    pub fn new(name: u32, setup: WriterSetup, make_mover: WriterMovers) -> Self {
        Writer {
            name,
            memory: RecordMemory::new(name, &setup),
            setup,
            make_mover,
            movers: Vec::new(),
            round: None,
        }
    }

    /// Prepares the records, waits for the other writers at the gate, and writes.
    ///
    /// # Errors
    ///
    /// The errors of the technique; `Interrupted` if the gate was broken open, since another writer has failed.
    pub fn sample(&mut self, order: Order, fd: BorrowedFd<'_>, gate: &Gate) -> io::Result<Span> {
        let contender = order.contender();
        if self.round != Some(order.round) {
            self.memory.lay_out();
            self.round = Some(order.round);
        }
        let index = match self.movers.iter().position(|(name, _)| *name == contender) {
            Some(index) => index,
            None => {
                let mover = (self.make_mover)(contender, &self.setup.model);
                self.movers.push((contender, mover));
                self.movers.len() - 1
            }
        };
        let mover = &mut self.movers[index].1;
        let is_floor = order.technique.is_none();
        self.memory.stamp(self.name, order, is_floor);
        let lists = self.memory.lists(order.records, is_floor);
        mover.prepare(lists.first(), self.memory.start_bytes);
        let timed = Timed {
            iovec_setup: self.setup.iovec_setup,
            fsync: self.setup.fsync,
            ..Timed::calls(order.records)
        };
        let clock = SpanClock::default();
        if !gate.wait() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let timing = mover.sample(fd, &lists, timed, Meter::whole(&clock))?;
        Ok(Span {
            began_ns: clock.began_ns.get().unwrap_or(0),
            ended_ns: clock.ended_ns.get(),
            cpu_ns: timing.cpu_ns,
        })
    }
}

/// A clock that notes its first and its last reading.
#[derive(Default)]
struct SpanClock {
    began_ns: Cell<Option<u64>>,
    ended_ns: Cell<u64>,
}

impl Clock for SpanClock {
    fn now_ns(&self) -> u64 {
        let now_ns = MonotonicClock.now_ns();
        if self.began_ns.get().is_none() {
            self.began_ns.set(Some(now_ns));
        }
        self.ended_ns.set(now_ns);
        now_ns
    }

    fn thread_cpu_ns(&self) -> u64 {
        MonotonicClock.thread_cpu_ns()
    }
}

/// The records of a writer in memory.
///
/// Each record of a batch has another head, so the segments that the head lies in exist once for each record. The
/// others exist once. The floor, and lists whose segments are adjacent, have each record whole.
struct RecordMemory {
    layout: Layout,
    sizes: Vec<usize>,
    image: Vec<u8>,
    /// Segments that the head lies in.
    head_segments: usize,
    /// The bytes of these segments.
    head_bytes: usize,
    /// The segments behind the head.
    arena: Vec<u8>,
    offsets: Vec<usize>,
    /// The segments with heads, or whole records, one block for each record.
    blocks: Vec<u8>,
    block_start: usize,
    rng: Rng,
    start_bytes: usize,
}

impl RecordMemory {
    fn new(name: u32, setup: &WriterSetup) -> Self {
        let mut sizes = setup.sizes.clone();
        let image = body(setup.seed, name, sizes.iter().sum());
        assert!(
            image.len() >= RECORD_HEAD_BYTES,
            "a record has room for its head"
        );
        let (mut head_segments, mut head_bytes) = (0, 0);
        while head_bytes < RECORD_HEAD_BYTES {
            head_bytes += sizes[head_segments];
            head_segments += 1;
        }
        if setup.layout == Layout::Adjacent {
            (head_segments, head_bytes) = (sizes.len(), image.len());
        }
        let shared = &sizes[head_segments..];
        let arena = vec![0; widest_extent(shared, setup.layout) + START_RANGE];
        let offsets = vec![0; shared.len()];
        sizes.shrink_to_fit();
        let mut memory = RecordMemory {
            layout: setup.layout,
            sizes,
            image,
            head_segments,
            head_bytes,
            arena,
            offsets,
            blocks: Vec::new(),
            block_start: 0,
            rng: Rng::with_seed(setup.seed.wrapping_add(u64::from(name) << 32)),
            start_bytes: 0,
        };
        memory.lay_out();
        memory
    }

    /// Moves the segments to other places.
    fn lay_out(&mut self) {
        self.start_bytes = random_start(&mut self.rng);
        self.block_start = random_start(&mut self.rng);
        let start = random_start(&mut self.rng);
        let sizes = &self.sizes[self.head_segments..];
        place(sizes, self.layout, start, &mut self.rng, &mut self.offsets);
        let mut at = self.head_bytes;
        for (&bytes, &offset) in std::iter::zip(sizes, &self.offsets) {
            self.arena[offset..offset + bytes].copy_from_slice(&self.image[at..at + bytes]);
            at += bytes;
        }
    }

    /// Bytes between the blocks of two records.
    fn stride(&self, whole: bool) -> usize {
        match (whole, self.layout) {
            (true, _) => self.image.len().next_multiple_of(ALIGNMENT),
            (false, layout) => {
                widest_extent(&self.sizes[..self.head_segments], layout).next_multiple_of(ALIGNMENT)
            }
        }
    }

    /// Offset of a segment with a part of the head in its block, in the order of the segments.
    fn head_slots(&self) -> Vec<(usize, usize)> {
        let mut at = 0;
        let sizes = self.sizes[..self.head_segments].iter();
        sizes
            .map(|&bytes| {
                let slot = (at, bytes);
                at += widest_extent(&[bytes], self.layout);
                slot
            })
            .collect()
    }

    /// Writes the blocks of a batch.
    fn stamp(&mut self, name: u32, order: Order, whole: bool) {
        let stride = self.stride(whole);
        let slots = if whole { vec![(0, self.image.len())] } else { self.head_slots() };
        let needed = self.block_start + stride * order.records as usize;
        if self.blocks.len() < needed {
            self.blocks.resize(needed, 0);
        }
        for number in 0..order.records {
            self.image[..RECORD_HEAD_BYTES].copy_from_slice(&head(order.mark, name, number));
            let block = self.block_start + stride * number as usize;
            let mut at = 0;
            for &(offset, bytes) in &slots {
                let from = block + offset;
                self.blocks[from..from + bytes].copy_from_slice(&self.image[at..at + bytes]);
                at += bytes;
            }
        }
    }

    /// The lists of the records, after [`RecordMemory::stamp`].
    fn lists(&self, records: u32, whole: bool) -> Lists<'_> {
        let stride = self.stride(whole);
        let blocks =
            (0..records as usize).map(|number| &self.blocks[self.block_start + stride * number..]);
        if whole {
            let segments = blocks.map(|block| &block[..self.image.len()]).collect();
            return Lists::several(segments, 1);
        }
        let slots = self.head_slots();
        let shared: Vec<&[u8]> = std::iter::zip(&self.sizes[self.head_segments..], &self.offsets)
            .map(|(&bytes, &offset)| &self.arena[offset..offset + bytes])
            .collect();
        let mut segments = Vec::with_capacity(records as usize * self.sizes.len());
        for block in blocks {
            segments.extend(slots.iter().map(|&(at, bytes)| &block[at..at + bytes]));
            segments.extend_from_slice(&shared);
        }
        Lists::several(segments, self.sizes.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::measure::cell::writers::records::{Batch, check};

    proptest! {
        /// The floor's records and those in segments are the same, and the checker knows them.
        #[test]
        fn the_lists_of_a_writer_are_its_records(
            sizes in prop::collection::vec(1_usize..40, 1..12),
            adjacent: bool,
            whole: bool,
            records in 1_u32..9,
            seed: u64,
        ) {
            prop_assume!(sizes.iter().sum::<usize>() >= RECORD_HEAD_BYTES);
            let layout = if adjacent { Layout::Adjacent } else { Layout::Scattered };
            let bytes = sizes.iter().sum();
            let count = sizes.len();
            let setup = WriterSetup {
                sizes,
                layout,
                iovec_setup: IovecSetup::Timed,
                fsync: false,
                model: CostModel::default(),
                seed,
            };
            let mut memory = RecordMemory::new(3, &setup);
            let order = Order { technique: None, again: false, records, mark: 77, round: 1 };
            for _ in 0..2 {
                memory.lay_out();
                memory.stamp(3, order, whole);
                let lists = memory.lists(records, whole);
                prop_assert_eq!(lists.first().len(), if whole { 1 } else { count });
                let sent = lists.segments().concat();
                let writers = [(3, body(seed, 3, bytes))];
                let batch = Batch { mark: 77, writers: &writers, records_each: records };
                let counts = check(batch, &sent);
                prop_assert!(counts.is_sound() && counts.records == u64::from(records));
                prop_assert_eq!(sent.len(), bytes * records as usize);
            }
        }
    }
}
