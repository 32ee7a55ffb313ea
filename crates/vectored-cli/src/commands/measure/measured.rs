//! Measures on this machine or on a simulated machine.

use std::time::{Instant, SystemTime};

use anyhow::Context;
use vectored_machine::host::{Environment, allowed_cpus};
use vectored_machine::model::{Host, Timer};
use vectored_machine::{Clock, FakeClock, MonotonicClock};
use vectored_measure::measure::{
    ColdPool, DescriptorSampler, MeasureError, Outcome, Progress, RankedSampler, Sampler, Watch,
    calibrate, check_directory, check_eviction, follow, measure_timer, run,
};
use vectored_report::sort;
use vectored_results::model::{Experiment, FittedModel, Operation, Rank, SyncMode, Target};

use crate::args::MeasureArgs;
use crate::cluster::Team;
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
    /// The error that stopped the run early. Cells measured before the error are kept.
    pub failure: Option<MeasureError>,
    pub host: Host,
    pub timer: Timer,
    pub started_at: String,
    pub elapsed_s: f64,
    pub models: Vec<FittedModel>,
    /// The list is empty if this process is not one of several ranks.
    pub ranks: Vec<Rank>,
}

pub type Save<'a> = &'a mut dyn FnMut(Measured);

/// Measures with all ranks. Rank 0 leads and gets the result. Each other rank gets `None`. `save` receives the cells
/// measured so far.
pub fn measured(
    plan: &MeasurePlan,
    args: &MeasureArgs,
    team: Option<&Team>,
    quiet: bool,
    interrupt: &Interrupt,
    save: Option<Save<'_>>,
) -> Result<Option<Measured>, Failure> {
    let began = Instant::now();
    let bar = Bar::new(quiet);
    let prepared = match args.synthetic {
        Some(_) => Ok(Prepared::invented()),
        None => prepare(plan, (args, quiet), team, (&bar, began)),
    };
    let prepared = match team {
        None => prepared?,
        Some(team) => team.agree(prepared)?,
    };
    // Each rank moves different bytes.
    let rank = team.map_or(0, |team| u64::from(team.rank()));
    let seed = plan.experiment.seed.wrapping_add(rank << 32);
    let fake = FakeClock::default();
    let (clock, mut sampler, spent_ns): (&dyn Clock, Box<dyn Sampler>, u64) = match args.synthetic {
        Some(call_ns) => {
            let machine = synthetic::machine(call_ns, &fake, seed);
            (&fake, Box::new(machine), 0)
        }
        None => {
            let mut sampler = DescriptorSampler::new(&MonotonicClock, &args.dir, seed);
            sampler.reader_cpu = prepared.reader_cpu;
            sampler.models.clone_from(&prepared.models);
            // The budget includes the time before the measurement.
            let spent_ns = began.elapsed().as_nanos() as u64;
            (&MonotonicClock, Box::new(sampler), spent_ns)
        }
    };
    let experiment = Experiment {
        budget_ns: plan.experiment.budget_ns.saturating_sub(spent_ns),
        ..plan.experiment.clone()
    };
    let so_far = || {
        let environment = prepared.environment.as_ref();
        environment.map_or_else(synthetic::host, |known| known.so_far().clone())
    };
    let ranks = team.map_or_else(Vec::new, |team| team.ranks(&so_far()));
    let measured = |outcome: Outcome, failure, mut host: Host| {
        let crowding = team.and_then(|team| team.nodes.crowding(&ranks));
        host.warnings.extend(crowding);
        Measured {
            elapsed_s: match args.synthetic {
                Some(_) => outcome.elapsed_ns as f64 / 1e9,
                None => began.elapsed().as_secs_f64(),
            },
            outcome,
            failure,
            host,
            timer: prepared.timer.clone(),
            started_at: prepared.started_at.clone(),
            models: prepared.models.clone(),
            ranks: ranks.clone(),
        }
    };
    let mut show = |progress: Progress| bar.show(after(spent_ns, progress));
    let mut save_outcome =
        save.map(|save| |outcome: Outcome| save(measured(outcome, None, so_far())));
    let watch = Watch {
        progress: &mut show,
        stop: interrupt.flag(),
        save: save_outcome.as_mut().map(|save| save as _),
    };
    let ran = match team {
        None => run(&experiment, &mut *sampler, clock, watch),
        Some(team) if !team.is_first() => {
            follow(&*team.group, &mut *sampler, team.host(), &|| {
                interrupt.signal()
            });
            return Ok(None);
        }
        Some(team) => {
            let hear = |signal| interrupt.hear(signal);
            let mut ranked = RankedSampler::new(&*team.group, &mut *sampler, team.host(), &hear);
            run(&experiment, &mut ranked, clock, watch)
        }
    };
    let (outcome, failure) = match ran {
        Ok(outcome) => (outcome, None),
        // If a technique moved wrong bytes, all figures are unusable.
        Err(failed) if failed.outcome.cells.is_empty() || failed.error.is_wrong_bytes() => {
            return Err(failed.error.into());
        }
        Err(failed) => (*failed.outcome, Some(failed.error)),
    };
    let is_invented = prepared.environment.is_none();
    let environment = prepared.environment;
    let mut host = environment.map_or_else(synthetic::host, Environment::finish);
    if plan.has_cold_cells() && !is_invented {
        host.warnings.extend(ColdPool::of_this_machine().warning());
    }
    Ok(Some(measured(outcome, failure, host)))
}

struct Prepared {
    started_at: String,
    /// `None` for a simulated machine.
    environment: Option<Environment>,
    reader_cpu: Option<usize>,
    timer: Timer,
    models: Vec<FittedModel>,
}

impl Prepared {
    fn invented() -> Prepared {
        Prepared {
            started_at: synthetic::STARTED_AT.to_owned(),
            environment: None,
            reader_cpu: None,
            timer: synthetic::timer(),
            models: Vec::new(),
        }
    }
}

fn prepare(
    plan: &MeasurePlan,
    (args, quiet): (&MeasureArgs, bool),
    team: Option<&Team>,
    (bar, began): (&Bar, Instant),
) -> Result<Prepared, Failure> {
    let started_at = time_of(SystemTime::now())?;
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
    Ok(Prepared {
        started_at,
        environment: Some(Environment::capture(directory, pins, allowed)),
        reader_cpu: pins.1,
        timer: measure_timer(&MonotonicClock).context("cannot measure the clock with /dev/null")?,
        models: calibrate_for(plan, (args, quiet), (bar, began)),
    })
}

/// `spent_ns` is the time before the measurement.
fn after(spent_ns: u64, progress: Progress) -> Progress {
    Progress {
        elapsed_ns: progress.elapsed_ns.saturating_add(spent_ns),
        budget_ns: progress.budget_ns.saturating_add(spent_ns),
        ..progress
    }
}

/// The remedy in the error then names the option of the directory.
fn of_file(error: impl Into<MeasureError>, file: &FilePlan) -> Failure {
    Failure::of_directory(error).for_directory_of_target(file.is_target)
}

/// Calibrates a cost model for each written target and directory. After a failed calibration, `adaptive` uses the
/// default model, and a note gives the reason.
fn calibrate_for(
    plan: &MeasurePlan,
    (args, quiet): (&MeasureArgs, bool),
    (bar, began): (&Bar, Instant),
) -> Vec<FittedModel> {
    let asked = plan.experiment.cells.iter().map(|cell| &cell.conditions);
    let mut targets: Vec<(Target, Option<&str>)> = asked
        .filter(|asked| asked.operation == Operation::Write)
        // If each call waits for the disk, the wait hides all other costs.
        .filter(|asked| asked.sync == SyncMode::None && !asked.direct)
        .map(|asked| (asked.target, asked.path.as_deref()))
        .collect();
    sort::sort(&mut targets);
    targets.dedup();
    let mut models = Vec::new();
    for (index, (target, path)) in targets.into_iter().enumerate() {
        let elapsed = began.elapsed();
        bar.show_preparation(&format!("calibrating {target}"), elapsed, args.budget);
        // On a slow machine, the rest of the budget is reserved for the cells.
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
