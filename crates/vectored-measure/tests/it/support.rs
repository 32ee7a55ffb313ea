//! Makes experiments, runs the engine without a watch, and notes skipped tests.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use vectored_machine::{Clock, MonotonicClock};
use vectored_measure::in_flight::{AioQueue, ListQueue, RingQueue};
use vectored_measure::measure::{
    CellExtras, CellSetup, Contender, DescriptorSampler, DrainChoice, MeasureError, Outcome,
    Progress, RunError, Sampler, SyntheticMachine, Timing, Watch, run, run_rounds, techniques,
};
use vectored_results::model::{
    CellSpec, Drain, Experiment, Operation, Target, TechniqueName, Workload,
};

pub const WRITES: [TechniqueName; 3] = [
    TechniqueName::WRITE_EACH,
    TechniqueName::COPY_THEN_WRITE,
    TechniqueName::WRITEV,
];

/// A budget so short that a cell gets the minimum of rounds.
pub const MINIMUM_NS: u64 = 10_000_000;

pub fn experiment(cells: Vec<CellSpec>, rivals: &[TechniqueName], budget_ns: u64) -> Experiment {
    Experiment {
        cells,
        rivals: rivals.to_vec(),
        unranked: vec![TechniqueName::ADAPTIVE],
        refine: false,
        budget_ns,
        seed: 11,
    }
}

/// Cells that write lists to a pipe. The first list has one segment, each next list has one segment more.
pub fn cells_of_pipe(cells: usize) -> Vec<CellSpec> {
    (1..=cells)
        .map(|count| CellSpec::write(Target::Pipe, Workload::uniform(count, 100)))
        .collect()
}

pub fn measure_here(
    experiment: &Experiment,
    set: impl FnOnce(&mut DescriptorSampler<'_>),
) -> Result<Outcome, RunError> {
    let mut sampler = DescriptorSampler::new(&MonotonicClock, &directory(), experiment.seed);
    set(&mut sampler);
    run_quietly(experiment, &mut sampler, &MonotonicClock)
}

pub fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

pub fn run_quietly(
    experiment: &Experiment,
    sampler: &mut dyn Sampler,
    clock: &dyn Clock,
) -> Result<Outcome, RunError> {
    let stop = AtomicBool::new(false);
    run(experiment, sampler, clock, unwatched(&mut |_| (), &stop))
}

/// The watch of a run that saves nothing before its end.
pub fn unwatched<'a>(progress: &'a mut dyn FnMut(Progress), stop: &'a AtomicBool) -> Watch<'a> {
    Watch {
        progress,
        stop,
        save: None,
    }
}

pub fn run_rounds_quietly(
    experiment: &Experiment,
    rounds: u32,
    sampler: &mut dyn Sampler,
    clock: &dyn Clock,
) -> Result<Outcome, RunError> {
    let stop = AtomicBool::new(false);
    let mut ignored = |_| ();
    let watch = unwatched(&mut ignored, &stop);
    run_rounds(experiment, rounds, sampler, clock, watch)
}

pub fn place(technique: TechniqueName) -> usize {
    let usual = techniques(Operation::Write, true);
    let place = usual.iter().position(|usual| *usual == technique);
    place.expect("a technique that is measured by default")
}

pub enum Step<'s> {
    Begin(&'s CellSpec, DrainChoice),
    Round(u32),
    Sample(Contender),
    End,
}

/// A simulated machine with a hook. The hook runs before each step, and may fail. The hook returns for [`Step::Begin`] how
/// the target is emptied. Each visit of a cell makes one proof call.
pub struct Hooked<H> {
    pub inner: SyntheticMachine,
    pub hook: H,
}

impl<H: FnMut(Step<'_>) -> Result<Option<Drain>, MeasureError>> Sampler for Hooked<H> {
    fn begin_cell(
        &mut self,
        cell: &CellSpec,
        techniques: &[TechniqueName],
        choice: DrainChoice,
    ) -> Result<CellSetup, MeasureError> {
        let drain = (self.hook)(Step::Begin(cell, choice))?;
        let setup = self.inner.begin_cell(cell, techniques, choice)?;
        Ok(CellSetup { drain, ..setup })
    }

    fn begin_round(&mut self, round: u32) -> Result<(), MeasureError> {
        (self.hook)(Step::Round(round))?;
        self.inner.begin_round(round)
    }

    fn sample(&mut self, contender: Contender, calls: u32) -> Result<Timing, MeasureError> {
        (self.hook)(Step::Sample(contender))?;
        self.inner.sample(contender, calls)
    }

    fn end_cell(&mut self) -> Result<CellExtras, MeasureError> {
        (self.hook)(Step::End)?;
        let extras = self.inner.end_cell()?;
        Ok(CellExtras {
            proof_calls: 1,
            ..extras
        })
    }
}

/// Whether the kernel offers a technique with `depth` lists in flight.
pub fn check_available(name: TechniqueName, depth: u32) -> io::Result<()> {
    match name.as_str() {
        "io-uring" => RingQueue::with_depth(depth).map(drop),
        "linux-aio" => AioQueue::with_depth(depth).map(drop),
        _ => Ok(()),
    }
}

/// Notes that a test could not run here: appends `test: reason` to the file that `VECTORED_SKIPS` names.
pub fn skip(test: &str, reason: &str) {
    eprintln!("skipped {test}: {reason}");
    if let Some(list) = std::env::var_os("VECTORED_SKIPS") {
        let mut list = File::options()
            .append(true)
            .create(true)
            .open(list)
            .unwrap();
        writeln!(list, "{test}: {reason}").unwrap();
    }
}
