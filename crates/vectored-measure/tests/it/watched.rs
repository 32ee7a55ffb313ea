//! What techniques are given: the layout and the marks of each sample, the flags of the descriptor, and the places of cold
//! bytes.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

use rustix::fs::{OFlags, fcntl_getfl};
use vectored_machine::MonotonicClock;
use vectored_measure::measure::{
    Contender, DescriptorSampler, FILE_SPAN_BYTES, Mover, ReadMover, movers, read_movers,
};
use vectored_results::model::{
    CellSpec, Layout, Operation, SyncMode, Target, TechniqueName, Workload,
};

use crate::honesty::{direct_cells, small};
use crate::support::{MINIMUM_NS, WRITES, directory, experiment, measure_here, run_rounds_quietly};

/// The samples and calls of one visit of the engine to a contender.
#[derive(Default)]
struct Visit {
    start_bytes: Vec<usize>,
    /// The first bytes of the first segment of each sample.
    marks: Vec<Vec<u8>>,
    /// The addresses and the lengths of the segments of each call.
    calls: Vec<Vec<(usize, usize)>>,
    flags: Vec<OFlags>,
    longest_file: u64,
}

impl Visit {
    fn call(&mut self, fd: BorrowedFd<'_>, segments: impl Iterator<Item = (usize, usize)>) {
        self.calls.push(segments.collect());
        self.flags.push(fcntl_getfl(fd).unwrap());
    }
}

type Visits = Rc<RefCell<Vec<Visit>>>;

/// Records what a technique is given in the last visit.
#[derive(Clone)]
struct Recorder(Visits, &'static [Contender]);

impl Recorder {
    fn note<T>(&self, note: impl FnOnce(&mut Visit) -> T) -> T {
        note(self.0.borrow_mut().last_mut().unwrap())
    }

    /// Whether the technique is watched. Each visit makes the movers anew, of the floor first.
    fn watches(&self, contender: Contender) -> bool {
        if contender == Contender::Floor {
            self.0.borrow_mut().push(Visit::default());
        }
        self.1.contains(&contender)
    }
}

struct Watched<M: ?Sized>(Box<M>, Recorder);

impl Mover for Watched<dyn Mover> {
    fn prepare(&mut self, segments: &[&[u8]], start_bytes: usize) {
        self.1.note(|visit| {
            visit.start_bytes.push(start_bytes);
            visit.marks.push(segments[0][..8].to_vec());
        });
        self.0.prepare(segments, start_bytes);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let outcome = self.0.call(fd, segments);
        let parts = segments.iter().map(|one| (one.as_ptr().addr(), one.len()));
        let length = rustix::fs::fstat(fd)?.st_size as u64;
        self.1.note(|visit| {
            visit.call(fd, parts);
            visit.longest_file = visit.longest_file.max(length);
        });
        outcome
    }
}

impl ReadMover for Watched<dyn ReadMover> {
    fn prepare(&mut self, segments: &[&mut [u8]], start_bytes: usize) {
        self.1.note(|visit| visit.start_bytes.push(start_bytes));
        self.0.prepare(segments, start_bytes);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()> {
        let parts = segments.iter().map(|one| (one.as_ptr().addr(), one.len()));
        self.1.note(|visit| visit.call(fd, parts));
        self.0.call(fd, segments)
    }
}

/// What these contenders were given in a run with this budget, visit by visit, and the rounds of the run.
fn watch(spec: &CellSpec, watched: &'static [Contender], budget_ns: u64) -> (u32, Vec<Visit>) {
    let writes = Recorder(Visits::default(), watched);
    let reads = writes.clone();
    let visits = Rc::clone(&writes.0);
    let rivals = match spec.conditions.operation {
        Operation::Write => WRITES.to_vec(),
        _ => vec![TechniqueName::READV],
    };
    let experiment = experiment(vec![spec.clone()], &rivals, budget_ns);
    let outcome = measure_here(&experiment, |sampler| {
        let sampler = small(sampler).with_movers(move |contender, model| {
            let inner = movers(contender, model);
            if writes.watches(contender) {
                Box::new(Watched(inner, writes.clone()))
            } else {
                inner
            }
        });
        sampler.with_read_movers(move |contender, model| {
            let inner = read_movers(contender, model);
            if reads.watches(contender) {
                Box::new(Watched(inner, reads.clone()))
            } else {
                inner
            }
        })
    });
    (outcome.unwrap().cells[0].rounds, visits.take())
}

/// [`watch`] with more and more budget, until `is_enough` says so.
fn watch_until(
    spec: &CellSpec,
    watched: &'static [Contender],
    is_enough: impl Fn(u32, &[Visit]) -> bool,
) -> Vec<Visit> {
    let mut budget_ns = 50_000_000;
    loop {
        let (rounds, visits) = watch(spec, watched, budget_ns);
        if is_enough(rounds, &visits) {
            return visits;
        }
        budget_ns *= 4;
        assert!(budget_ns < 60_000_000_000, "too little in {rounds} rounds");
    }
}

const WRITEV: &[Contender] = &[Contender::Technique(TechniqueName::WRITEV)];
const READV: &[Contender] = &[Contender::Technique(TechniqueName::READV)];

#[test]
fn every_round_is_laid_out_anew_and_every_sample_marked() {
    for target in [
        Target::File,
        Target::FileOverwrite,
        Target::Pipe,
        Target::Tcp,
    ] {
        let spec = CellSpec::write(target, Workload::uniform(4, 64));
        let visits = watch_until(&spec, WRITEV, |rounds, _| rounds >= 3);
        let samples: usize = visits.iter().map(|visit| visit.marks.len()).sum();
        let calls = visits.iter().flat_map(|visit| &visit.calls);
        let addresses: BTreeSet<usize> = calls.map(|call| call[0].0).collect();
        let starts: BTreeSet<usize> = visits
            .iter()
            .flat_map(|visit| visit.start_bytes.clone())
            .collect();
        assert!(
            addresses.len() > samples / 3,
            "{} of {samples}",
            addresses.len()
        );
        assert!(starts.len() > samples / 3, "{} of {samples}", starts.len());
        for visit in visits {
            let marks: BTreeSet<&Vec<u8>> = visit.marks.iter().collect();
            // Calls that probe the capacity share one mark.
            assert!(
                marks.len() + 2 >= visit.marks.len(),
                "{} of {}",
                marks.len(),
                visit.marks.len()
            );
        }
    }
}

#[test]
fn a_file_never_grows_past_its_span() {
    let spec = CellSpec::write(Target::File, Workload::uniform(64, (4 << 20) / 64));
    let longest = |visits: &[Visit]| visits.iter().map(|visit| visit.longest_file).max();
    // Longer than two calls.
    let visits = watch_until(&spec, WRITEV, |_, visits| longest(visits) > Some(8 << 20));
    assert!(
        longest(&visits) <= Some(FILE_SPAN_BYTES),
        "{:?}",
        longest(&visits)
    );
}

#[test]
fn the_descriptor_has_the_flags_of_the_sync_mode() {
    // `O_SYNC` has the bit of `O_DSYNC`.
    for (sync, flag) in [
        (SyncMode::None, 0),
        (SyncMode::Dsync, libc::O_DSYNC as u32),
        (SyncMode::Sync, libc::O_SYNC as u32),
    ] {
        for target in [Target::File, Target::FileOverwrite] {
            let spec =
                CellSpec::write(target, Workload::uniform(4, 64)).with(|asked| asked.sync = sync);
            let (_, visits) = watch(&spec, WRITEV, MINIMUM_NS);
            let flags = visits.iter().flat_map(|visit| &visit.flags);
            let mut flags: Vec<u32> = flags
                .map(|flags| flags.bits() & libc::O_SYNC as u32)
                .collect();
            flags.dedup();
            assert_eq!(flags, [flag], "{sync} on {target}");
        }
    }
}

#[test]
fn every_call_past_the_page_cache_has_the_flag_and_aligned_segments_in_every_layout() {
    let test = "every_call_past_the_page_cache_has_the_flag_and_aligned_segments_in_every_layout";
    for spec in direct_cells(test, &[1, 2, 1]) {
        let direct = spec.alignment.unwrap();
        for layout in Layout::ALL {
            let spec = spec.clone().with(|asked| asked.layout = layout);
            let is_write = spec.conditions.operation == Operation::Write;
            let (_, visits) = watch(&spec, if is_write { WRITEV } else { READV }, MINIMUM_NS);
            // The budget may end in a visit before its call.
            assert!(visits.iter().any(|visit| !visit.calls.is_empty()));
            for visit in &visits {
                let mut flags = visit.flags.iter();
                assert!(flags.all(|flags| flags.contains(OFlags::DIRECT)));
                let mut starts = visit.start_bytes.iter();
                assert!(starts.all(|start| start.is_multiple_of(direct.memory_bytes)));
                for (address, bytes) in visit.calls.iter().flatten() {
                    assert!(address.is_multiple_of(direct.memory_bytes), "{spec:?}");
                    assert!(bytes.is_multiple_of(direct.offset_bytes), "{spec:?}");
                }
            }
        }
    }
}

#[test]
fn each_technique_is_proved_once_however_often_a_cell_is_opened() {
    for (target, bytes) in [(Target::Pipe, 64), (Target::Pipe, 4096), (Target::File, 64)] {
        let cell = CellSpec::write(target, Workload::uniform(16, bytes));
        let experiment = experiment(vec![cell], &WRITES, 0);
        let mut sampler = DescriptorSampler::new(&MonotonicClock, &directory(), 1);
        let outcome = run_rounds_quietly(&experiment, 4, &mut sampler, &MonotonicClock).unwrap();
        // Two floors, three techniques and `adaptive`, in four visits.
        assert_eq!(outcome.cells[0].proof_calls, 6, "{target} {bytes}");
    }
}
