//! Runs of the engine that nobody watches.

use std::sync::atomic::AtomicBool;

use vectored_lab::measure::{
    Clock, Outcome, RunError, Sampler, Watch, run, run_rounds, techniques,
};
use vectored_lab::model::{Experiment, Operation, TechniqueName};

/// Runs the experiment within its budget.
pub fn run_quietly(
    experiment: &Experiment,
    sampler: &mut dyn Sampler,
    clock: &dyn Clock,
) -> Result<Outcome, RunError> {
    let (stop, progress) = (&AtomicBool::new(false), &mut |_| ());
    run(experiment, sampler, clock, Watch { progress, stop })
}

/// Runs this number of rounds.
pub fn run_rounds_quietly(
    experiment: &Experiment,
    rounds: u32,
    sampler: &mut dyn Sampler,
    clock: &dyn Clock,
) -> Result<Outcome, RunError> {
    let (stop, progress) = (&AtomicBool::new(false), &mut |_| ());
    run_rounds(experiment, rounds, sampler, clock, Watch { progress, stop })
}

/// The place of a technique among those that are measured by default, in figures by technique.
pub fn place(technique: TechniqueName) -> usize {
    let usual = techniques(Operation::Write, true);
    let place = usual.iter().position(|usual| *usual == technique);
    place.expect("a technique that is measured by default")
}
