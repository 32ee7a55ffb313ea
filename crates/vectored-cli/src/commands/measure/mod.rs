//! `vectored measure`.

mod measured;
mod short_budget;

use std::process::ExitCode;

use vectored_report::{csv_of, json};
use vectored_results::model::{Operation, Results, SCHEMA};
use vectored_results::report::{self, left_out_in_words};

use self::measured::{Measured, Save, measured};
use self::short_budget::incomplete;
use crate::args::MeasureArgs;
use crate::cluster::Team;
use crate::commands::outputs::Outputs;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::measure_plan::{MeasurePlan, is_default_grid};
use crate::notes::Notes;
use crate::results_store::{ResultKind, Store};

pub fn run(args: &MeasureArgs) -> Result<ExitCode, Failure> {
    let team = Team::join()?;
    measure(args, team.as_ref())
}

fn seed_of(args: &MeasureArgs) -> u64 {
    // A seed of 32 bits is short enough to type.
    args.seed.unwrap_or_else(|| fastrand::u32(..).into())
}

/// Only rank 0 shows and saves the result.
fn report_plan(args: &MeasureArgs, is_first: bool) -> Result<(Option<Outputs>, Store), Failure> {
    if !is_first {
        return Ok((None, Store::Unwanted));
    }
    let mut outputs = Outputs::check(&args.output, &[])?;
    outputs.details = args.details;
    Ok((Some(outputs), Store::open(args.saving.no_save)?))
}

fn measure(args: &MeasureArgs, team: Option<&Team>) -> Result<ExitCode, Failure> {
    let is_first = team.is_none_or(Team::is_first);
    let notes = Notes {
        quiet: args.saving.quiet || !is_first,
    };
    let seed = team.map_or_else(|| seed_of(args), |team| team.shared(seed_of(args)));
    // Each rank checks the files of its node. If one rank refuses, all ranks end.
    let of_this_rank = || {
        let plan = MeasurePlan::new(args, seed, team.map(|team| team.group.size()))?;
        Ok((plan, report_plan(args, is_first)?, Interrupt::watch()?))
    };
    let planned = match team {
        None => of_this_rank(),
        Some(team) => team.agree(of_this_rank()),
    };
    let (plan, report_plan, interrupt) = planned?;
    let (outputs, mut store) = report_plan;
    // If one rank dies, the launcher kills all ranks. The cells measured so far are therefore saved now.
    let mut save = |so_far: Measured| {
        if !so_far.outcome.cells.is_empty() {
            let results = assemble(plan.clone(), so_far);
            match store.save(ResultKind::Measure, &results.started_at, &json(&results)) {
                Ok(saved) => store = saved,
                Err(error) => notes.note(&format!("{error:#}")),
            }
        }
    };
    let save: Option<Save<'_>> = if team.is_some() { Some(&mut save) } else { None };
    let measured = measured(&plan, args, team, notes.quiet, &interrupt, save);
    let mut measured = match measured {
        Ok(Some(measured)) => measured,
        Ok(None) => return Ok(ExitCode::SUCCESS),
        Err(failure) => {
            return Err(match store.discard() {
                Ok(()) => failure,
                Err(also) => Failure {
                    error: anyhow::anyhow!("{:#}; and {also:#}", failure.error),
                    ..failure
                },
            });
        }
    };
    // The notes follow the measurement, so that an error message has no notes before it. The default grid contains
    // lists that are always too long.
    for (reason, cells) in left_out_in_words(&plan.left_out) {
        if !is_default_grid(args) || !reason.ends_with(" in one call") {
            notes.note(&format!("not measured ({reason}): {cells}"));
        }
    }
    let unmeasured = measured.outcome.left_out.len();
    let needed_ns = measured.outcome.needed_ns;
    if measured.outcome.cells.is_empty()
        && measured.failure.is_none()
        && let Some(code) = interrupt.exit_code()
    {
        notes.note("stopped before any cell was measured: nothing is saved");
        return Ok(ExitCode::from(code));
    }
    let failure = measured.failure.take();
    let results = assemble(plan, measured);
    // The default for copies is every technique that suits the pair of files.
    if args.operation() != Operation::Copy || !args.technique.is_empty() {
        for note in report::unsuited_in_words(&results) {
            notes.note(&note);
        }
    }
    for note in report::refused_in_words(&results) {
        notes.note(&note);
    }

    let json = json(&results);
    let saved = store.save(ResultKind::Measure, &results.started_at, &json);
    // The result is shown even if saving failed. The path is printed even if showing failed.
    let shown = outputs.map_or(Ok(()), |outputs| {
        outputs.show(&report::measured(&results), &json, || csv_of(&[&results]))
    });
    if !results.complete && failure.is_none() {
        notes.note(&incomplete(&results, (unmeasured, needed_ns), &interrupt));
    }
    notes.saved(&saved?);
    shown?;
    if let Some(error) = failure {
        return Err(error.into());
    }
    // A result with at most a tenth of its cells is no answer.
    let is_answer = results.complete || unmeasured < 9 * results.cells.len();
    let usual = if is_answer { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    Ok(interrupt.exit_code().map_or(usual, ExitCode::from))
}

fn assemble(plan: MeasurePlan, measured: Measured) -> Results {
    let MeasurePlan {
        experiment,
        mut left_out,
        rate_per_s,
        ..
    } = plan;
    left_out.extend(measured.outcome.left_out);
    let mut results = Results {
        schema: SCHEMA.to_owned(),
        complete: measured.outcome.complete,
        vectored_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: measured.started_at,
        elapsed_s: (measured.elapsed_s * 1e3).round() / 1e3,
        budget_s: experiment.budget_ns as f64 / 1e9,
        seed: experiment.seed,
        rivals: experiment.rivals,
        rate_per_s,
        host: measured.host,
        timer: measured.timer,
        cells: measured.outcome.cells,
        refined_cells: measured.outcome.refined_cells,
        ranks: measured.ranks,
        left_out,
        ..Results::default()
    };
    results.find(measured.models);
    results
}
