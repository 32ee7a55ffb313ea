//! Real descriptors: right techniques are measured in every cell that they suit, and a technique that moves wrong bytes is
//! caught in every cell.

use std::io;
use std::os::fd::BorrowedFd;

use vectored_machine::{Clock, MonotonicClock};
use vectored_measure::measure::{
    Contender, DescriptorSampler, Mover, ReadMover, Timed, Timing, check_direct, copy_movers,
    is_in_flight, movers, read_movers, refusal, techniques,
};
use vectored_results::model::{
    Cache, Cell, CellSpec, Conditions, DirectIo, Drain, Experiment, IovecSetup, Layout, Operation,
    PageCache, Role, SyncMode, Target, TechniqueName, Workload,
};

use crate::faults::{ALIGNED, Fault, Faulty, OF_COPIES, OF_READS, OF_WRITES, assert_caught};
use crate::support::{
    MINIMUM_NS, check_available, directory, experiment, measure_here, run_rounds_quietly, skip,
};

const PROVED: [Target; 5] = [
    Target::File,
    Target::FileOverwrite,
    Target::Pipe,
    Target::Unix,
    Target::Tcp,
];

const SYNCED: [SyncMode; 3] = [SyncMode::Dsync, SyncMode::Sync, SyncMode::Fsync];

/// A pool smaller than the caches: these tests check bytes, not times.
const SMALL_POOL_BYTES: u64 = 1 << 20;

/// The cell as it is. If the cell has a list, also the cell with cold bytes, with adjacent bytes, or with arrays that are
/// filled once.
pub fn states(usual: &CellSpec) -> Vec<CellSpec> {
    let cold = |asked: &mut Conditions| asked.cache = Cache::Cold;
    let adjacent = |asked: &mut Conditions| asked.layout = Layout::Adjacent;
    let once = |asked: &mut Conditions| asked.iovec_setup = IovecSetup::Once;
    let changed = |changes: &[&dyn Fn(&mut Conditions)]| {
        let mut cell = usual.clone();
        changes
            .iter()
            .for_each(|change| change(&mut cell.conditions));
        cell
    };
    match usual.conditions.operation {
        Operation::Write => vec![
            changed(&[]),
            changed(&[&cold]),
            changed(&[&adjacent]),
            changed(&[&once]),
            changed(&[&cold, &adjacent, &once]),
        ],
        Operation::Read => vec![changed(&[]), changed(&[&adjacent, &once])],
        Operation::Copy => vec![changed(&[])],
    }
}

/// Cells past the page cache whose segments have these numbers of blocks. If files in the directory of the tests always
/// have a page cache, there is no cell, and the test is noted as skipped.
pub fn direct_cells(test: &str, blocks: &[usize]) -> Vec<CellSpec> {
    let direct: DirectIo = match check_direct(&directory()) {
        Ok(direct) => direct,
        Err(error) => {
            skip(test, &error.to_string());
            return Vec::new();
        }
    };
    let sizes = blocks.iter().map(|count| count * direct.step_bytes());
    let workload = Workload::from_sizes(sizes.collect());
    let files = [
        (Operation::Write, Target::File),
        (Operation::Write, Target::FileOverwrite),
        (Operation::Read, Target::File),
    ];
    let cell = |(operation, target)| CellSpec {
        alignment: Some(direct),
        ..CellSpec::new(
            Conditions {
                operation,
                direct: true,
                ..Conditions::write(target)
            },
            workload.clone(),
        )
    };
    files.map(cell).into()
}

fn pairs() -> impl Iterator<Item = (Target, Target)> {
    let sources = Target::READABLE.into_iter();
    sources.flat_map(|from| Target::NAMED.map(|to| (from, to)))
}

pub fn small(sampler: &mut DescriptorSampler<'_>) {
    sampler.cold_pool_bytes = SMALL_POOL_BYTES;
    sampler.read_file_bytes = 4 << 20;
}

fn check_right(test: &str, spec: &CellSpec) {
    let asked = &spec.conditions;
    let mut rivals = [true, false]
        .map(|usual| techniques(asked.operation, usual))
        .concat();
    rivals.retain(|rival| match check_available(*rival, 64) {
        Ok(()) => asked.queue_depth == 1 || is_in_flight(*rival) || rival.role() == Role::Gather,
        Err(unavailable) => {
            skip(test, &unavailable.to_string());
            false
        }
    });
    let is_stream = [Target::Pipe, Target::Unix, Target::Tcp].contains(&asked.target);
    let (in_flight, others): (Vec<_>, Vec<_>) =
        rivals.into_iter().partition(|rival| is_in_flight(*rival));
    let is_suited = |rival: &TechniqueName| refusal(*rival, asked).is_none();
    if is_stream && in_flight.iter().any(is_suited) {
        // A thread is at the other end, since transfers in flight wait for room.
        let threaded = measured_right(spec, &in_flight);
        assert!(threaded.drain.is_some_and(Drain::has_thread), "{spec:?}");
        measured_right(spec, &others);
    } else {
        measured_right(spec, &[others, in_flight].concat());
    }
}

fn measured_right(spec: &CellSpec, rivals: &[TechniqueName]) -> Cell {
    let asked = &spec.conditions;
    let experiment = Experiment {
        unranked: vec![],
        ..experiment(vec![spec.clone()], rivals, u64::MAX)
    };
    let mut sampler = DescriptorSampler::new(&MonotonicClock, &directory(), experiment.seed);
    small(&mut sampler);
    let outcome = run_rounds_quietly(&experiment, 2, &mut sampler, &MonotonicClock);
    let outcome = outcome.unwrap_or_else(|failed| panic!("{spec:?}: {}", failed.error));
    let cell = &outcome.cells[0];
    assert_eq!(cell.conditions, *asked);
    assert_eq!(cell.alignment, spec.alignment);
    assert!(cell.rounds == 2 && cell.floor_ns > 0.0, "{spec:?}");
    assert_eq!(
        cell.proof_calls > 0,
        asked.target != Target::Null,
        "{spec:?}"
    );
    let has_file = asked.target.is_file() || asked.from == Some(Target::File);
    assert_eq!(
        (cell.span_bytes.is_some(), cell.file_system.is_some()),
        (has_file, has_file),
        "{spec:?}"
    );
    for &rival in rivals {
        let result = cell.technique(rival);
        assert_eq!(
            result.is_some(),
            refusal(rival, asked).is_none(),
            "{rival}: {spec:?}"
        );
        let Some(result) = result else { continue };
        assert!(
            result.median_ns > 0.0 && result.calls_per_sample.is_multiple_of(asked.queue_depth)
        );
        if asked.page_cache == Some(PageCache::Cold) {
            assert_eq!(result.calls_per_sample, 1);
        }
    }
    cell.clone()
}

#[test]
fn right_writes_are_measured_on_every_target_in_every_state() {
    let test = "right_writes_are_measured_on_every_target_in_every_state";
    // The last list does not fit a pipe, so a thread reads.
    for sizes in [
        vec![100, 200],
        vec![3, 5000, 1, 70_000, 9],
        vec![8; 2500],
        vec![1 << 14; 40],
    ] {
        let list = || Workload::from_sizes(sizes.clone());
        let named = Target::NAMED.map(|target| CellSpec::write(target, list()));
        for usual in named {
            states(&usual)
                .iter()
                .for_each(|spec| check_right(test, spec));
        }
    }
    let synced =
        SYNCED.map(|sync| [Target::File, Target::FileOverwrite].map(|target| (sync, target)));
    for (sync, target) in synced.into_iter().flatten() {
        let cell = CellSpec::write(target, Workload::uniform(3, 64));
        check_right(test, &cell.with(|asked| asked.sync = sync));
    }
}

#[test]
fn right_reads_are_measured_on_every_target() {
    let test = "right_reads_are_measured_on_every_target";
    for target in Target::READABLE {
        for sizes in [
            vec![100, 200],
            vec![1; 40],
            vec![3, 5000, 1, 70_000, 9],
            vec![300; 2500],
        ] {
            let list = Workload::from_sizes(sizes);
            let usual = CellSpec::read(target, list, PageCache::Hot);
            states(&usual)
                .iter()
                .for_each(|spec| check_right(test, spec));
        }
    }
}

#[test]
fn right_copies_are_measured_between_every_two_descriptors() {
    for (from, to) in pairs() {
        // The last size has threads at the ends that are streams.
        for bytes in [1, 5000, 1_000_000] {
            check_right("copies", &CellSpec::copy(from, to, bytes));
        }
    }
}

#[test]
fn right_transfers_are_measured_at_every_depth_and_past_the_page_cache() {
    let test = "right_transfers_are_measured_at_every_depth_and_past_the_page_cache";
    for (list, queue_depth) in [
        (Workload::from_sizes(vec![100, 1, 4096, 77]), 40),
        // More than one call of `IOV_MAX`.
        (Workload::uniform(1100, 9), 2),
        (Workload::uniform(3, 40_000), 3),
    ] {
        let files = [Target::File, Target::FileOverwrite, Target::Null];
        let writes = files.map(|target| CellSpec::write(target, list.clone()));
        let read = CellSpec::read(Target::File, list.clone(), PageCache::Hot);
        for spec in writes.into_iter().chain([read]) {
            check_right(test, &spec.with(|asked| asked.queue_depth = queue_depth));
        }
    }
    for (blocks, queue_depth) in [(vec![1, 3, 2], 1), (vec![2; 20], 8), (vec![1; 1100], 2)] {
        for spec in direct_cells(test, &blocks) {
            check_right(test, &spec.with(|asked| asked.queue_depth = queue_depth));
        }
    }
}

/// An experiment with `technique` and another technique that is about as fast. The budget lasts until a fault is found; the
/// fault ends the run.
fn beside_another(spec: &CellSpec, technique: TechniqueName) -> Experiment {
    let operation = spec.conditions.operation;
    let other = techniques(operation, true)[usize::from(operation != Operation::Copy)];
    Experiment {
        unranked: vec![],
        ..experiment(vec![spec.clone()], &[other, technique], 10_000_000_000)
    }
}

fn caught(spec: &CellSpec, technique: TechniqueName, fault: Fault) {
    let is_it = move |contender| contender == Contender::Technique(technique);
    let experiment = beside_another(spec, technique);
    let outcome = measure_here(&experiment, |sampler| {
        small(sampler);
        sampler.make_mover = Box::new(move |contender, model| {
            if is_it(contender) {
                Box::new(Faulty::new(fault))
            } else {
                movers(contender, model)
            }
        });
        sampler.make_read_mover = Box::new(move |contender, model| {
            if is_it(contender) {
                Box::new(Faulty::new(fault))
            } else {
                read_movers(contender, model)
            }
        });
        sampler.make_copy_mover = Box::new(move |contender, asked| {
            if is_it(contender) {
                Box::new(Faulty::new(fault))
            } else {
                copy_movers(contender, asked)
            }
        });
    });
    assert_caught(outcome, technique, &format!("{fault:?} {spec:?}"));
}

#[test]
fn wrong_writes_are_caught_on_every_target_in_every_state() {
    let list = || Workload::from_sizes(vec![100, 300, 100, 40, 7]);
    let proved = PROVED.map(|target| CellSpec::write(target, list()));
    for usual in proved {
        for fault in OF_WRITES {
            caught(&usual, TechniqueName::WRITEV, fault);
        }
        for spec in &states(&usual)[1..] {
            for fault in [
                Fault::ByteChanged,
                Fault::SegmentDoubled,
                Fault::OnlyMuchLater,
            ] {
                caught(spec, TechniqueName::WRITEV, fault);
            }
        }
    }
}

#[test]
fn wrong_writes_are_caught_if_a_thread_reads() {
    // A visit may have fewer than 20 calls of these sizes.
    let in_few_calls = |fault: &Fault| !matches!(fault, Fault::OnlyMuchLater);
    for fault in OF_WRITES.into_iter().filter(in_few_calls) {
        // The lists are larger than the target, so a thread reads. A surplus segment of the smaller size fits into the
        // pipe; only the thread can remove a surplus segment of the larger size.
        for (target, bytes) in [
            (Target::Pipe, 40_000),
            (Target::Pipe, 100_000),
            (Target::Tcp, 400_000),
        ] {
            caught(
                &CellSpec::write(target, Workload::uniform(5, bytes)),
                TechniqueName::WRITEV,
                fault,
            );
        }
    }
    let pipe = CellSpec::write(Target::Pipe, Workload::uniform(5, 40_000));
    for fault in [Fault::ByteChanged, Fault::SegmentDropped, Fault::Surplus] {
        caught(
            &pipe.clone().with(|asked| asked.cache = Cache::Cold),
            TechniqueName::WRITEV,
            fault,
        );
    }
}

#[test]
fn wrong_reads_are_caught_on_every_target() {
    let mmap = TechniqueName::new("mmap");
    // The lists are larger than a pipe, so a thread writes. Faults that take too much or too little are found by a timeout,
    // so all faults run at the same time.
    std::thread::scope(|scope| {
        for fault in OF_READS {
            scope.spawn(move || {
                for target in Target::READABLE {
                    let usual = CellSpec::read(target, Workload::uniform(5, 100), PageCache::Hot);
                    for spec in states(&usual) {
                        caught(&spec, TechniqueName::READV, fault);
                    }
                    if target == Target::File {
                        caught(&usual, mmap, fault);
                    }
                }
            });
            let large = CellSpec::read(Target::Pipe, Workload::uniform(5, 40_000), PageCache::Hot);
            scope.spawn(move || caught(&large, TechniqueName::READV, fault));
        }
        let large = CellSpec::read(Target::Unix, Workload::uniform(5, 100_000), PageCache::Hot);
        scope.spawn(move || caught(&large, TechniqueName::READV, Fault::ByteDropped));
    });
}

#[test]
fn wrong_copies_are_caught_from_and_to_every_descriptor() {
    // The bytes of each end are compared separately, so each source and each target occurs once. The null device keeps no
    // bytes.
    let ends = pairs().filter(|(from, to)| *to == Target::File || *from == Target::Pipe);
    let ends: &Vec<_> = &ends.collect();
    std::thread::scope(|scope| {
        for fault in OF_COPIES {
            for &(from, to) in ends {
                let is_kept =
                    to != Target::Null || [Fault::ByteLeft, Fault::ByteTaken].contains(&fault);
                let spec = CellSpec::copy(from, to, 500);
                is_kept
                    .then(|| scope.spawn(move || caught(&spec, TechniqueName::READ_WRITE, fault)));
            }
            // These copies have threads at both ends.
            for (from, to) in [(Target::Pipe, Target::Unix), (Target::File, Target::Pipe)] {
                let spec = CellSpec::copy(from, to, 50_000);
                let is_read = fault != Fault::ByteTaken;
                is_read
                    .then(|| scope.spawn(move || caught(&spec, TechniqueName::READ_WRITE, fault)));
            }
        }
    });
}

#[test]
fn wrong_transfers_past_the_page_cache_are_caught() {
    for spec in direct_cells("wrong_transfers_past_the_page_cache_are_caught", &[1; 4]) {
        for fault in ALIGNED {
            caught(
                &spec,
                TechniqueName::vectored_call(spec.conditions.operation),
                fault,
            );
        }
    }
}

/// Sends the bytes of the first call in all calls of a sample, or in all calls of all samples.
struct SameAgain {
    bytes: Vec<u8>,
    for_ever: bool,
}

impl Mover for SameAgain {
    fn prepare(&mut self, _segments: &[&[u8]], _start_bytes: usize) {
        if !self.for_ever {
            self.bytes.clear();
        }
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        if self.bytes.is_empty() {
            self.bytes = segments.concat();
        }
        rustix::io::write(fd, &self.bytes)?;
        Ok(())
    }
}

#[test]
fn segments_of_other_calls_are_caught_unless_all_calls_send_the_same() {
    for target in PROVED {
        let usual = CellSpec::write(target, Workload::uniform(5, 100));
        let rivals = [TechniqueName::COPY_THEN_WRITE, TechniqueName::WRITEV];
        let measured = |cache, for_ever| {
            let cell = usual.clone().with(|asked| asked.cache = cache);
            // One round: later rounds have other bytes in any case.
            let budget_ns = if for_ever { 0 } else { MINIMUM_NS };
            let experiment = experiment(vec![cell], &rivals, budget_ns);
            measure_here(&experiment, |sampler| {
                small(sampler);
                sampler.make_mover = Box::new(move |contender, model| match contender {
                    Contender::Technique(TechniqueName::WRITEV) => Box::new(SameAgain {
                        bytes: Vec::new(),
                        for_ever,
                    }),
                    _ => movers(contender, model),
                });
            })
        };
        assert_caught(measured(Cache::Cold, false), TechniqueName::WRITEV, "cold");
        measured(Cache::Hot, false).unwrap();
        assert_caught(measured(Cache::Hot, true), TechniqueName::WRITEV, "hot");
    }
}

struct OneWrong(Box<dyn ReadMover>);

impl ReadMover for OneWrong {
    fn prepare(&mut self, segments: &[&mut [u8]], start_bytes: usize) {
        self.0.prepare(segments, start_bytes);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()> {
        self.0.call(fd, segments)
    }

    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &mut [Vec<&mut [u8]>],
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<(Timing, Vec<u32>)> {
        let outcome = self.0.sample(fd, lists, batch, clock)?;
        if lists.len() > 2 {
            lists[1][2][0] ^= 1;
        }
        Ok(outcome)
    }
}

#[test]
fn one_wrong_list_among_those_in_flight_is_caught() {
    let uring = TechniqueName::new("io-uring");
    if let Err(unavailable) = check_available(uring, 64) {
        return skip(
            "one_wrong_list_among_those_in_flight_is_caught",
            &unavailable.to_string(),
        );
    }
    let spec = CellSpec::read(Target::File, Workload::uniform(5, 100), PageCache::Hot)
        .with(|asked| asked.queue_depth = 4);
    let rivals = [TechniqueName::READV, uring];
    let experiment = experiment(vec![spec], &rivals, MINIMUM_NS);
    let outcome = measure_here(&experiment, |sampler| {
        sampler.make_read_mover = Box::new(move |contender, model| match contender {
            Contender::Technique(name) if name == uring => {
                Box::new(OneWrong(read_movers(contender, model)))
            }
            _ => read_movers(contender, model),
        });
    });
    assert_caught(outcome, uring, "a byte is wrong");
}
