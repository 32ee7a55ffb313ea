//! Published experiments, repeated on this machine.
//!
//! A [`Plan`] describes one experiment. [`run`] measures its rows in interleaved
//! repeats and returns [`Reproduction`]s. Reports are computed from these alone:
//! [`vectored_results::report::experiments`].
//!
//! `docs/experiments.md` describes each experiment and how to read its figures.
//!
//! [`Reproduction`]: vectored_results::model::Reproduction

#[cfg(unix)]
pub(crate) mod apue_14_28;
#[cfg(unix)]
pub(crate) mod apue_3_5;
pub(crate) mod bench;
pub(crate) mod conclude;
#[cfg(unix)]
pub(crate) mod copy_by_program;
#[cfg(unix)]
pub(crate) mod copy_process;
pub(crate) mod crossover;
pub(crate) mod eta;
#[cfg(unix)]
pub(crate) mod kalinin;
pub(crate) mod mincer;
pub(crate) mod published;
pub(crate) mod ratios;
pub(crate) mod repeats;
pub(crate) mod verify_content;

use std::path::Path;

use vectored_machine::host::check_room;
use vectored_machine::model::DirectoryInfo;
use vectored_results::model::{ExperimentName, Reproduction};

use crate::measure::MeasureError;
#[cfg(unix)]
pub use crate::reproduce::apue_3_5::{CopyPlan, CopyTarget};
#[cfg(unix)]
pub use crate::reproduce::apue_14_28::RecordPlan;
pub use crate::reproduce::bench::Bench;
pub use crate::reproduce::conclude::conclude;
#[cfg(unix)]
pub use crate::reproduce::copy_by_program::{BUFFER, CopyProgram, INPUT, OUTPUT};
pub use crate::reproduce::eta::{EtaTracker, ReproduceProgress};
#[cfg(unix)]
pub use crate::reproduce::kalinin::ElementPlan;
pub use crate::reproduce::mincer::{BufferList, PassPlan};
pub use crate::reproduce::published::published;
pub use crate::reproduce::repeats::REPEATS;
#[cfg(unix)]
pub use crate::sys::stdio::copy_characters;

/// The plan of one experiment.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// `apue-3.5`.
    #[cfg(unix)]
    Copies(CopyPlan),
    /// `apue-14.28`.
    #[cfg(unix)]
    Records(RecordPlan),
    /// `kalinin`.
    #[cfg(unix)]
    Elements(ElementPlan),
    /// `mincer`.
    Passes(PassPlan),
}

impl Plan {
    /// The name of the experiment.
    pub fn name(&self) -> ExperimentName {
        match self {
            #[cfg(unix)]
            Plan::Copies(_) => ExperimentName::Apue35,
            #[cfg(unix)]
            Plan::Records(_) => ExperimentName::Apue1428,
            #[cfg(unix)]
            Plan::Elements(_) => ExperimentName::Kalinin,
            Plan::Passes(_) => ExperimentName::Mincer,
        }
    }

    /// Checks that its files can be created in `directory`, and describes it.
    ///
    /// # Errors
    ///
    /// If files cannot be created there, would not fit, or their pages must be
    /// evicted and cannot be.
    pub fn check(&self, directory: &Path) -> Result<DirectoryInfo, MeasureError> {
        let file_bytes = match self {
            #[cfg(unix)]
            Plan::Copies(plan) => return plan.check(directory),
            #[cfg(unix)]
            Plan::Records(plan) => plan.file_bytes(),
            #[cfg(unix)]
            Plan::Elements(plan) => plan.file_bytes(),
            Plan::Passes(plan) => plan.file_bytes(),
        };
        Ok(check_room(directory, file_bytes)?)
    }

    /// Adds its rows to `eta`, with an estimate of their duration.
    fn enter(&self, eta: &mut EtaTracker<'_>) {
        match self {
            #[cfg(unix)]
            Plan::Copies(plan) => plan.enter(eta),
            #[cfg(unix)]
            Plan::Records(plan) => plan.enter(eta),
            #[cfg(unix)]
            Plan::Elements(plan) => plan.enter(eta),
            Plan::Passes(plan) => plan.enter(eta),
        }
    }

    /// The number of repeats of each row.
    fn repeats(&self) -> Vec<usize> {
        match self {
            #[cfg(unix)]
            Plan::Copies(plan) => plan.counts(),
            #[cfg(unix)]
            Plan::Records(plan) => plan.row_repeats(),
            #[cfg(unix)]
            Plan::Elements(plan) => plan.row_repeats(),
            Plan::Passes(plan) => plan.row_repeats(),
        }
    }

    /// Measures its samples, without anything that is computed from them.
    fn run(&self, bench: &mut Bench<'_>) -> (Reproduction, Option<MeasureError>) {
        match self {
            #[cfg(unix)]
            Plan::Copies(plan) => apue_3_5::run(plan, bench),
            #[cfg(unix)]
            Plan::Records(plan) => apue_14_28::run(plan, bench),
            #[cfg(unix)]
            Plan::Elements(plan) => kalinin::run(plan, bench),
            Plan::Passes(plan) => mincer::run(plan, bench),
        }
    }
}

/// Whether a row has enough repeats of those that were planned. Beside a program, one is enough if the time was up.
fn is_enough(plan: &Plan, bench: &Bench<'_>, repeats: usize, planned: usize) -> bool {
    let is_beside_a_program = match plan {
        #[cfg(unix)]
        Plan::Copies(copies) => copies.program.is_some(),
        _ => false,
    };
    if is_beside_a_program && !bench.is_stopped() {
        repeats > 0
    } else {
        repeats == planned
    }
}

/// Runs the experiments one after the other. An error ends the run; the result
/// has everything measured before it.
pub fn run(plans: &[Plan], bench: &mut Bench<'_>) -> (Vec<Reproduction>, Option<MeasureError>) {
    for plan in plans {
        plan.enter(&mut bench.eta);
    }
    let mut done = Vec::new();
    for plan in plans {
        if bench.is_stopped() {
            break;
        }
        let (mut reproduction, failure) = plan.run(bench);
        conclude(&mut reproduction);
        let mut rows = std::iter::zip(&reproduction.rows, plan.repeats());
        reproduction.complete = failure.is_none()
            && rows.all(|(row, repeats)| is_enough(plan, bench, row.repeats, repeats));
        done.push(reproduction);
        if failure.is_some() {
            return (done, failure);
        }
    }
    (done, None)
}
