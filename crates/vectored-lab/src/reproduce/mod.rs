//! The published experiments, run as they were published.
//!
//! A [`Plan`] says what one experiment does here; [`run`] does it, row by row in
//! interleaved repeats, and hands back [`Reproduction`]s. What the figures say
//! is computed from these alone: [`crate::report::experiments`].
//!
//! What each experiment is, and how to read it, is told in
//! `docs/experiments.md`.
//!
//! [`Reproduction`]: crate::model::Reproduction

pub(crate) mod apue_14_28;
pub(crate) mod apue_3_5;
pub(crate) mod bench;
pub(crate) mod conclude;
pub(crate) mod copy_process;
pub mod copy_program;
pub(crate) mod crossover;
pub(crate) mod eta;
pub(crate) mod kalinin;
pub(crate) mod mincer;
pub(crate) mod published;
pub(crate) mod ratios;
pub(crate) mod repeats;
pub(crate) mod verify_content;

use std::path::Path;

pub use crate::reproduce::apue_3_5::{CopyPlan, CopyTarget, PUBLISHED_FILE_BYTES};
pub use crate::reproduce::apue_14_28::RecordPlan;
pub use crate::reproduce::bench::Bench;
pub use crate::reproduce::conclude::conclude;
pub use crate::reproduce::eta::{Ledger, Progress};
pub use crate::reproduce::kalinin::ElementPlan;
pub use crate::reproduce::mincer::{BufferList, PassPlan};
pub use crate::reproduce::published::published;
pub use crate::reproduce::repeats::REPEATS;

use crate::measure::MeasureError;
use crate::model::{DirectoryInfo, ExperimentName, Reproduction};

/// What one experiment shall do here.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// `apue-3.5`.
    Copies(CopyPlan),
    /// `apue-14.28`.
    Records(RecordPlan),
    /// `kalinin`.
    Elements(ElementPlan),
    /// `mincer`.
    Passes(PassPlan),
}

impl Plan {
    /// Which experiment this is.
    pub fn name(&self) -> ExperimentName {
        match self {
            Plan::Copies(_) => ExperimentName::Apue35,
            Plan::Records(_) => ExperimentName::Apue1428,
            Plan::Elements(_) => ExperimentName::Kalinin,
            Plan::Passes(_) => ExperimentName::Mincer,
        }
    }

    /// Whether there is a place for its files in `directory`, and what that is.
    ///
    /// # Errors
    ///
    /// When files cannot be made there, when they would not fit, or when their
    /// pages cannot be evicted and have to be.
    pub fn check(&self, directory: &Path) -> Result<DirectoryInfo, MeasureError> {
        match self {
            Plan::Copies(plan) => plan.check(directory),
            Plan::Records(plan) => crate::measure::check_room(directory, plan.file_bytes()),
            Plan::Elements(plan) => crate::measure::check_room(directory, plan.file_bytes()),
            Plan::Passes(plan) => crate::measure::check_room(directory, plan.file_bytes()),
        }
    }

    /// Its rows, with a guess at how long each takes.
    fn enter(&self, ledger: &mut Ledger<'_>) {
        match self {
            Plan::Copies(plan) => plan.enter(ledger),
            Plan::Records(plan) => plan.enter(ledger),
            Plan::Elements(plan) => plan.enter(ledger),
            Plan::Passes(plan) => plan.enter(ledger),
        }
    }

    /// How often each row is measured.
    fn repeats(&self) -> Vec<usize> {
        match self {
            Plan::Copies(plan) => plan.counts(),
            Plan::Records(plan) => plan.row_repeats(),
            Plan::Elements(plan) => plan.row_repeats(),
            Plan::Passes(plan) => plan.row_repeats(),
        }
    }

    /// Its samples, from which nothing is concluded yet.
    fn run(&self, bench: &mut Bench<'_>) -> (Reproduction, Option<MeasureError>) {
        match self {
            Plan::Copies(plan) => apue_3_5::run(plan, bench),
            Plan::Records(plan) => apue_14_28::run(plan, bench),
            Plan::Elements(plan) => kalinin::run(plan, bench),
            Plan::Passes(plan) => mincer::run(plan, bench),
        }
    }
}

/// Runs these experiments one after the other. Something that fails ends the
/// run; what was measured before is in the result.
pub fn run(plans: &[Plan], bench: &mut Bench<'_>) -> (Vec<Reproduction>, Option<MeasureError>) {
    for plan in plans {
        plan.enter(&mut bench.ledger);
    }
    let mut done = Vec::new();
    for plan in plans {
        if bench.is_stopped() {
            break;
        }
        let (mut reproduction, failure) = plan.run(bench);
        conclude(&mut reproduction);
        let mut rows = std::iter::zip(&reproduction.rows, plan.repeats());
        reproduction.complete =
            failure.is_none() && rows.all(|(row, repeats)| row.repeats == repeats);
        done.push(reproduction);
        if failure.is_some() {
            return (done, failure);
        }
    }
    (done, None)
}
