//! A measurement, on this machine or an invented one.

use std::io;
use std::time::{Instant, SystemTime};

use anyhow::Context;
use vectored_machine::host::{Environment, allowed_cpus};
use vectored_machine::model::{Host, Timer};
use vectored_machine::{FakeClock, MonotonicClock};
use vectored_measure::measure::{
    ColdPool, DescriptorSampler, MeasureError, Outcome, Progress, calibrate, check_available,
    check_directory, check_eviction, is_in_flight, measure_timer,
};
use vectored_report::sort;
use vectored_report::words::enumerated;
use vectored_results::model::{
    Experiment, FittedModel, Operation, Rank, SyncMode, Target, TechniqueName,
};

use crate::args::MeasureArgs;
use crate::cluster::Team;
use crate::commands::measure::engine_run::{Ended, Run};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::measure_plan::{FilePlan, MeasurePlan};
use crate::notes::Notes;
use crate::pinning::pin;
use crate::progress::Bar;
use crate::results_store::time_of;
use crate::synthetic;

/// The outcome of a run, real or synthetic.
pub struct Measured {
    pub outcome: Outcome,
    /// The error that ended the run early; cells measured before it are kept.
    pub failure: Option<MeasureError>,
    pub host: Host,
    pub timer: Timer,
    pub started_at: String,
    pub elapsed_s: f64,
    /// The cost models that `adaptive` worked with.
    pub models: Vec<FittedModel>,
    /// The ranks; empty if this process is not one of several.
    pub ranks: Vec<Rank>,
}

/// Takes what was measured so far, if it is saved during the run.
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

/// The state of a run on this machine before its first cell.
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
    check_asynchronous(&plan.experiment, &args.technique, team.is_some())?;
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
    let (models, failures) = calibrate_for(plan, args, began, |target| {
        let what = format!("calibrating {target}");
        bar.show_preparation(&what, began.elapsed(), args.budget);
    });
    for failure in failures {
        bar.aside(|| Notes { quiet }.note(&failure));
    }
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
    let mut sampler = DescriptorSampler::new(&clock, &args.dir, seed)
        .reader_cpu(pins.1)
        .with_models(models.clone());
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
    let mut save_outcome = save.map(|save| {
        |outcome| {
            save(Measured {
                outcome,
                failure: None,
                host: with_warnings(environment.so_far().clone()),
                timer: timer.clone(),
                started_at: started_at.clone(),
                elapsed_s: began.elapsed().as_secs_f64(),
                models: models.clone(),
                ranks: ranks.clone(),
            });
        }
    });
    let run = Run {
        experiment: &experiment,
        clock: &clock,
        interrupt,
        save: save_outcome.as_mut().map(|save| save as _),
    };
    let Some(Ended { outcome, failure }) = run.with(&mut sampler, team, show)? else {
        return Ok(None);
    };
    drop(bar);
    let mut host = with_warnings(environment.finish());
    if plan.has_cold_cells() {
        host.warnings.extend(ColdPool::of_this_machine().warning());
    }
    Ok(Some(Measured {
        outcome,
        failure,
        host,
        timer,
        started_at,
        elapsed_s: began.elapsed().as_secs_f64(),
        models,
        ranks,
    }))
}

/// The progress of the whole run: `spent_ns` passed before the measurement.
fn after(spent_ns: u64, progress: Progress) -> Progress {
    Progress {
        elapsed_ns: progress.elapsed_ns.saturating_add(spent_ns),
        budget_ns: progress.budget_ns.saturating_add(spent_ns),
        ..progress
    }
}

/// Refuses asynchronous techniques that this machine does not offer. If others are named beside them, a single process leaves
/// them out instead.
fn check_asynchronous(
    experiment: &Experiment,
    named: &[String],
    is_rank: bool,
) -> Result<(), Failure> {
    let depths = experiment
        .cells
        .iter()
        .map(|cell| cell.conditions.queue_depth);
    let deepest = depths.max().unwrap_or(1);
    let rivals = experiment.rivals.iter().copied();
    let unavailable: Vec<(TechniqueName, io::Error)> = rivals
        .filter(|technique| is_in_flight(*technique))
        .filter_map(|technique| Some((technique, check_available(technique, deepest).err()?)))
        .collect();
    let is_left = |name: &String| {
        unavailable
            .iter()
            .all(|(technique, _)| **technique != **name)
    };
    let is_refused = |(_, error): &(TechniqueName, io::Error)| {
        [io::ErrorKind::PermissionDenied, io::ErrorKind::Unsupported].contains(&error.kind())
    };
    let goes_on = !is_rank && named.iter().any(is_left) && unavailable.iter().all(is_refused);
    match unavailable.first() {
        Some((technique, why)) if !goes_on => Err(anyhow::anyhow!(
            "cannot measure {technique}: {why}; or omit {technique} from --technique"
        )
        .into()),
        _ => Ok(()),
    }
}

/// Makes the remedy name the option that gave the directory.
fn of_file(error: impl Into<MeasureError>, file: &FilePlan) -> Failure {
    Failure::of_directory(error).for_directory_of_target(file.is_target)
}

/// Calibrates a cost model for each target and directory that is written to, and returns the models and
/// the messages for failed calibrations, for which `adaptive` uses the default model. `begin` is called
/// before each calibration.
fn calibrate_for(
    plan: &MeasurePlan,
    args: &MeasureArgs,
    began: Instant,
    begin: impl Fn(Target),
) -> (Vec<FittedModel>, Vec<String>) {
    let asked = plan.experiment.cells.iter().map(|cell| &cell.conditions);
    let mut targets: Vec<(Target, Option<&str>)> = asked
        .filter(|asked| asked.operation == Operation::Write)
        // The wait for the disk would hide all other costs.
        .filter(|asked| asked.sync == SyncMode::None && !asked.direct)
        .map(|asked| (asked.target, asked.path.as_deref()))
        .collect();
    sort::sort(&mut targets);
    targets.dedup();
    let (mut models, mut failures) = (Vec::new(), Vec::<(String, String)>::new());
    for (index, (target, path)) in targets.into_iter().enumerate() {
        // On a busy machine the cells need the time more.
        if index > 0 && began.elapsed() > args.budget / 4 {
            failures.push(("the budget is too short".to_owned(), target.to_string()));
            continue;
        }
        begin(target);
        match calibrate(target, path, &args.dir) {
            Ok(model) => models.extend(model),
            Err(error) => failures.push((error.to_string(), target.to_string())),
        }
    }
    let failures = failures
        .chunk_by(|one, other| one.0 == other.0)
        .map(|alike| {
            let targets: Vec<&str> = alike.iter().map(|(_, target)| target.as_str()).collect();
            format!(
                "cannot calibrate the cost model on {}, so adaptive uses the default model: {}",
                enumerated(&targets),
                alike[0].0
            )
        });
    (models, failures.collect())
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
    let run = Run {
        experiment,
        clock: &clock,
        interrupt,
        save: save_outcome.as_mut().map(|save| save as _),
    };
    let ended = run.with(&mut machine, team, show)?;
    Ok(ended.map(|ended| measured(ended.outcome, ended.failure)))
}
