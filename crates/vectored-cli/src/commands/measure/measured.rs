//! A measurement, on this machine or an invented machine.

use std::time::{Instant, SystemTime};

use anyhow::Context;
use vectored_machine::host::{Environment, allowed_cpus};
use vectored_machine::model::{Host, Timer};
use vectored_machine::{FakeClock, MonotonicClock};
use vectored_measure::measure::{
    ColdPool, DescriptorSampler, MeasureError, Outcome, Progress, calibrate, check_directory,
    check_eviction, measure_timer,
};
use vectored_report::sort;
use vectored_results::model::{Experiment, FittedModel, Operation, Rank, SyncMode, Target};

use crate::args::MeasureArgs;
use crate::cluster::Team;
use crate::commands::measure::engine_run::run_engine;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::measure_plan::{FilePlan, MeasurePlan};
use crate::notes::Notes;
use crate::pinning::pin;
use crate::progress::Bar;
use crate::results_store::time_of;
use crate::synthetic;

pub struct Measured {
    pub outcome: Outcome,
    /// The error that ended the run early; cells measured before it are kept.
    pub failure: Option<MeasureError>,
    pub host: Host,
    pub timer: Timer,
    pub started_at: String,
    pub elapsed_s: f64,
    pub models: Vec<FittedModel>,
    /// The ranks; empty if this process is not one of several.
    pub ranks: Vec<Rank>,
}

pub type Save<'a> = &'a mut dyn FnMut(Measured);

/// Measures, with all ranks if there are several. Then `None` is returned on all ranks but the first.
pub fn measured(
    plan: &MeasurePlan,
    args: &MeasureArgs,
    team: Option<&Team>,
    quiet: bool,
    interrupt: &Interrupt,
    save: Option<Save<'_>>,
) -> Result<Option<Measured>, Failure> {
    match args.synthetic {
        Some(call_ns) => measure_synthetic(&plan.experiment, call_ns, quiet, team, interrupt, save),
        None => measure_here(plan, (args, quiet), team, interrupt, save),
    }
}

struct Prepared {
    environment: Environment,
    pins: (Option<usize>, Option<usize>),
    timer: Timer,
    models: Vec<FittedModel>,
}

fn prepare(
    plan: &MeasurePlan,
    (args, quiet): (&MeasureArgs, bool),
    team: Option<&Team>,
    (bar, began): (&Bar, Instant),
) -> Result<Prepared, Failure> {
    bar.show_preparation("checking the machine", began.elapsed(), args.budget);
    let mut directory = None;
    for file in plan.files(&args.dir) {
        let described = check_directory(&file.directory, file.target, file.call_bytes)
            .map_err(|error| of_file(error, &file))?;
        directory.get_or_insert(described);
        if file.is_cold {
            check_eviction(&file.directory).map_err(|error| of_file(error, &file))?;
        }
    }
    let allowed = allowed_cpus();
    let pins = match team {
        None => pin(args.pin.unwrap_or_default(), &allowed)?,
        Some(team) => {
            let pins = pin(team.nodes.pinning(args.pin, &allowed)?, &allowed)?;
            (pins.0, team.nodes.reader_cpu(pins, &allowed))
        }
    };
    let environment = Environment::capture(directory, pins, allowed);
    let timer =
        measure_timer(&MonotonicClock).context("cannot measure the clock with /dev/null")?;
    let models = calibrate_for(plan, (args, quiet), (bar, began));
    Ok(Prepared {
        environment,
        pins,
        timer,
        models,
    })
}

fn measure_here(
    plan: &MeasurePlan,
    (args, quiet): (&MeasureArgs, bool),
    team: Option<&Team>,
    interrupt: &Interrupt,
    save: Option<Save<'_>>,
) -> Result<Option<Measured>, Failure> {
    let began = Instant::now();
    let started_at = time_of(SystemTime::now())?;
    let bar = Bar::new(quiet);
    let prepared = prepare(plan, (args, quiet), team, (&bar, began));
    let Prepared {
        environment,
        pins,
        timer,
        models,
    } = match team {
        None => prepared?,
        Some(team) => team.agree(prepared)?,
    };
    let ranks = team.map_or_else(Vec::new, |team| team.ranks(environment.so_far()));
    let clock = MonotonicClock;
    // Each rank moves bytes of its own.
    let seed = plan
        .experiment
        .seed
        .wrapping_add(team.map_or(0, |team| team.rank().into()) << 32);
    let mut sampler = DescriptorSampler::new(&clock, &args.dir, seed);
    sampler.reader_cpu = pins.1;
    sampler.models.clone_from(&models);
    // The budget covers the whole run, and part of it is spent already.
    let spent_ns = began.elapsed().as_nanos() as u64;
    let show = |progress: Progress| bar.show(after(spent_ns, progress));
    let experiment = Experiment {
        budget_ns: plan.experiment.budget_ns.saturating_sub(spent_ns),
        ..plan.experiment.clone()
    };
    let with_warnings = |mut host: Host| {
        host.warnings
            .extend(team.and_then(|team| team.nodes.crowding(&ranks)));
        host
    };
    let measured = |outcome, failure, host| Measured {
        outcome,
        failure,
        host,
        timer: timer.clone(),
        started_at: started_at.clone(),
        elapsed_s: began.elapsed().as_secs_f64(),
        models: models.clone(),
        ranks: ranks.clone(),
    };
    let mut save_outcome = save.map(|save| {
        |outcome| {
            let host = with_warnings(environment.so_far().clone());
            save(measured(outcome, None, host));
        }
    });
    let Some((outcome, failure)) = run_engine(
        (&experiment, &clock),
        &mut sampler,
        team,
        interrupt,
        show,
        save_outcome.as_mut().map(|save| save as _),
    )?
    else {
        return Ok(None);
    };
    drop(bar);
    let mut host = with_warnings(environment.finish());
    if plan.has_cold_cells() {
        host.warnings.extend(ColdPool::of_this_machine().warning());
    }
    Ok(Some(measured(outcome, failure, host)))
}

/// The progress of the whole run: `spent_ns` passed before the measurement.
fn after(spent_ns: u64, progress: Progress) -> Progress {
    Progress {
        elapsed_ns: progress.elapsed_ns.saturating_add(spent_ns),
        budget_ns: progress.budget_ns.saturating_add(spent_ns),
        ..progress
    }
}

/// Makes the remedy name the option that gave the directory.
fn of_file(error: impl Into<MeasureError>, file: &FilePlan) -> Failure {
    Failure::of_directory(error).for_directory_of_target(file.is_target)
}

/// Calibrates a cost model for each target and directory that is written to. Where that fails, a note says so, and `adaptive` uses
/// the default model.
fn calibrate_for(
    plan: &MeasurePlan,
    (args, quiet): (&MeasureArgs, bool),
    (bar, began): (&Bar, Instant),
) -> Vec<FittedModel> {
    let asked = plan.experiment.cells.iter().map(|cell| &cell.conditions);
    let mut targets: Vec<(Target, Option<&str>)> = asked
        .filter(|asked| asked.operation == Operation::Write)
        // The wait for the disk would hide all other costs.
        .filter(|asked| asked.sync == SyncMode::None && !asked.direct)
        .map(|asked| (asked.target, asked.path.as_deref()))
        .collect();
    sort::sort(&mut targets);
    targets.dedup();
    let mut models = Vec::new();
    for (index, (target, path)) in targets.into_iter().enumerate() {
        let elapsed = began.elapsed();
        bar.show_preparation(&format!("calibrating {target}"), elapsed, args.budget);
        // On a busy machine the cells need the time more.
        let calibrated = if index > 0 && elapsed > args.budget / 4 {
            Err("the budget is too short".to_owned())
        } else {
            calibrate(target, path, &args.dir).map_err(|error| error.to_string())
        };
        match calibrated {
            Ok(model) => models.extend(model),
            Err(why) => bar.aside(|| {
                Notes { quiet }.note(&format!(
                    "cannot calibrate the cost model on {target}, so adaptive uses the default model: {why}"
                ));
            }),
        }
    }
    models
}

fn measure_synthetic(
    experiment: &Experiment,
    call_ns: f64,
    quiet: bool,
    team: Option<&Team>,
    interrupt: &Interrupt,
    save: Option<Save<'_>>,
) -> Result<Option<Measured>, Failure> {
    let clock = FakeClock::default();
    let rank = team.map_or(0, |team| team.rank().into());
    let mut machine = synthetic::machine(call_ns, &clock, experiment.seed.wrapping_add(rank));
    let bar = Bar::new(quiet);
    let show = |progress| bar.show(progress);
    let ranks = team.map_or_else(Vec::new, |team| team.ranks(&synthetic::host()));
    let measured = |outcome: Outcome, failure| Measured {
        elapsed_s: outcome.elapsed_ns as f64 / 1e9,
        outcome,
        failure,
        host: synthetic::host(),
        timer: synthetic::timer(),
        started_at: synthetic::STARTED_AT.to_owned(),
        models: Vec::new(),
        ranks: ranks.clone(),
    };
    let mut save_outcome = save.map(|save| |outcome: Outcome| save(measured(outcome, None)));
    let save = save_outcome.as_mut().map(|save| save as _);
    let ended = run_engine(
        (experiment, &clock),
        &mut machine,
        team,
        interrupt,
        show,
        save,
    )?;
    Ok(ended.map(|(outcome, failure)| measured(outcome, failure)))
}
