//! What techniques are given: the places of the segments and of their working memory, and the flags of the descriptor.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

use rustix::fs::{OFlags, fcntl_getfl};
use vectored_machine::MonotonicClock;
use vectored_measure::measure::{
    Contender, DescriptorSampler, Mover, ReadMover, movers, read_movers,
};
use vectored_results::model::{CellSpec, Experiment, Layout, Target, TechniqueName, Workload};

use crate::honesty::{direct_cells, small};
use crate::support::{WRITES, directory, experiment, run_rounds_quietly};

struct Given {
    start_bytes: usize,
    segments: Vec<(usize, usize)>,
    flags: OFlags,
}

type Notes = Rc<RefCell<Vec<Given>>>;

/// A technique whose calls are noted, with the place of its working memory.
struct Watched<M: ?Sized>(Box<M>, Notes, usize);

impl<M: ?Sized> Watched<M> {
    fn note(&self, fd: BorrowedFd<'_>, segments: impl Iterator<Item = (usize, usize)>) {
        self.1.borrow_mut().push(Given {
            start_bytes: self.2,
            segments: segments.collect(),
            flags: fcntl_getfl(fd).unwrap(),
        });
    }
}

impl Mover for Watched<dyn Mover> {
    fn prepare(&mut self, segments: &[&[u8]], start_bytes: usize) {
        self.2 = start_bytes;
        self.0.prepare(segments, start_bytes);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let parts = segments.iter().map(|one| (one.as_ptr().addr(), one.len()));
        self.note(fd, parts);
        self.0.call(fd, segments)
    }
}

impl ReadMover for Watched<dyn ReadMover> {
    fn prepare(&mut self, segments: &[&mut [u8]], start_bytes: usize) {
        self.2 = start_bytes;
        self.0.prepare(segments, start_bytes);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()> {
        let parts = segments.iter().map(|one| (one.as_ptr().addr(), one.len()));
        self.note(fd, parts);
        self.0.call(fd, segments)
    }
}

fn watch(spec: &CellSpec, rounds: u32) -> Vec<Given> {
    let rival = TechniqueName::vectored_call(spec.conditions.operation);
    let experiment = Experiment {
        unranked: vec![],
        ..experiment(vec![spec.clone()], &[rival], 0)
    };
    let notes = Notes::default();
    let (of_writes, of_reads) = (Rc::clone(&notes), Rc::clone(&notes));
    let is_watched = |contender| matches!(contender, Contender::Technique(_));
    let mut sampler = DescriptorSampler::new(&MonotonicClock, &directory(), 1);
    small(&mut sampler);
    sampler.make_mover = Box::new(move |contender, model| {
        let inner = movers(contender, model);
        let notes = Rc::clone(&of_writes);
        if is_watched(contender) { Box::new(Watched(inner, notes, 0)) } else { inner }
    });
    sampler.make_read_mover = Box::new(move |contender, model| {
        let inner = read_movers(contender, model);
        let notes = Rc::clone(&of_reads);
        if is_watched(contender) { Box::new(Watched(inner, notes, 0)) } else { inner }
    });
    run_rounds_quietly(&experiment, rounds, &mut sampler, &MonotonicClock).unwrap();
    drop(sampler);
    notes.take()
}

#[test]
fn every_round_is_laid_out_anew() {
    for target in [Target::File, Target::Pipe, Target::Tcp] {
        let spec = CellSpec::write(target, Workload::uniform(4, 64));
        let calls = watch(&spec, 40);
        let places: BTreeSet<usize> = calls.iter().map(|call| call.segments[0].0).collect();
        let starts: BTreeSet<usize> = calls.iter().map(|call| call.start_bytes).collect();
        // Each of four visits has memory of its own.
        let counts = (places.len(), starts.len());
        assert!(counts.0 > 20 && counts.1 > 20, "{target}: {counts:?}");
    }
}

#[test]
fn every_call_past_the_page_cache_has_the_flag_and_aligned_segments_in_every_layout() {
    let test = "every_call_past_the_page_cache_has_the_flag_and_aligned_segments_in_every_layout";
    for spec in direct_cells(test, &[1, 2, 1]) {
        let direct = spec.alignment.unwrap();
        for layout in Layout::ALL {
            let spec = spec.clone().with(|asked| asked.layout = layout);
            for call in watch(&spec, 4) {
                assert!(call.flags.contains(OFlags::DIRECT), "{spec:?}");
                let starts = call.segments.iter().map(|(address, _)| *address);
                for place in starts.chain([call.start_bytes]) {
                    assert!(place.is_multiple_of(direct.memory_bytes), "{spec:?}");
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
