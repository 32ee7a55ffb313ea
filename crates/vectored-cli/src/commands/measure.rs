//! `vectored measure`.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Instant, SystemTime};

use anyhow::Context;
use vectored_lab::measure::{
    Clock, ColdPool, DescriptorSampler, Environment, FakeClock, MeasureError, MonotonicClock,
    Outcome, Pinning, Progress, Sampler, Watch, allowed_cpus, calibrate, check_directory,
    check_eviction, check_fifo, measure_ruler, pin_measuring_thread, run as run_engine,
};
use vectored_lab::model::{
    Experiment, FittedModel, Host, Operation, Results, Ruler, SCHEMA, SyncMode, Target,
};
use vectored_lab::report::{self, left_out_in_words};
use vectored_lab::stats::MIN_ROUNDS;

use crate::args::{Format, MeasureArgs};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::notes::Notes;
use crate::plan::Plan;
use crate::progress::Bar;
use crate::save::{OutputFile, Store};
use crate::synthetic::{self, Synthetic};
use crate::terminal::{Screen, print};

/// Runs the command. Everything that can be refused is refused before the
/// measuring begins.
pub fn run(args: &MeasureArgs) -> Result<ExitCode, Failure> {
    // Short enough to be typed again.
    let seed = args.seed.unwrap_or_else(|| fastrand::u32(..).into());
    let plan = Plan::new(args, seed)?;
    let output = args
        .output
        .as_deref()
        .filter(|name| *name != Path::new("-"))
        .map(|name| OutputFile::check(name, "--output"))
        .transpose()?;
    let store = Store::open(args.no_save)?;
    let notes = Notes { quiet: args.quiet };

    let interrupt = Interrupt::watch()?;
    let mut measured = match &args.synthetic {
        Some(synthetic) => measure_synthetic(&plan.experiment, synthetic, args, &interrupt)?,
        None => measure_here(&plan, args, &interrupt)?,
    };
    // Not before: a refusal is to stand alone.
    for group in left_out_in_words(&plan.left_out) {
        notes.note(&format!("not measured ({}): {}", group.reason, group.cells));
    }
    if plan.usual_limit {
        notes.note("--segments and --sizes, given both, measure such lists up to 64 MiB");
    }
    let unmeasured = measured.outcome.left_out.len();
    let failure = measured.failure.take();
    let results = assemble(plan, measured);
    for note in report::unsuited_in_words(&results) {
        notes.note(&note);
    }

    let text = render(&results, args.format, output.is_some());
    let json = report::json(&results);
    let saved = store.save("measure", &results.started_at, &json);
    // Whatever became of the saving, show what was measured; and whatever
    // becomes of the showing, tell where it is saved.
    let shown = match &output {
        Some(output) => output.write(&text),
        None => print(&text),
    };
    if !results.complete && failure.is_none() {
        notes.note(&incomplete(&results, unmeasured, &interrupt));
    }
    notes.saved(&saved?);
    shown?;
    if let Some(error) = failure {
        return Err(error.into());
    }
    Ok(interrupt
        .exit_code()
        .map_or(ExitCode::SUCCESS, ExitCode::from))
}

/// What a run on any machine tells, real or not.
struct Measured {
    outcome: Outcome,
    /// What ended the run early; what was measured before is kept.
    failure: Option<MeasureError>,
    host: Host,
    ruler: Ruler,
    started_at: String,
    elapsed_s: f64,
    /// The cost models that `adaptive` worked with.
    models: Vec<FittedModel>,
}

fn measure_here(
    plan: &Plan,
    args: &MeasureArgs,
    interrupt: &Interrupt,
) -> Result<Measured, Failure> {
    let began = Instant::now();
    let started_at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let bar = Bar::new(args.quiet);
    bar.show_preparation("looking at the machine", began.elapsed(), args.budget);
    let mut directory = None;
    for file in plan.files(&args.dir) {
        let described = check_directory(&file.directory, file.target, file.call_bytes)
            .map_err(Failure::of_directory)?;
        directory.get_or_insert(described);
        if file.is_cold {
            check_eviction(&file.directory).map_err(Failure::of_directory)?;
        }
    }
    for fifo in plan.fifos() {
        check_fifo(fifo).map_err(Failure::usage)?;
    }
    let allowed = allowed_cpus();
    let pins = pin(args.pin.unwrap_or_default(), &allowed)?;
    let environment = Environment::capture(directory, pins, allowed);
    let clock = MonotonicClock;
    let ruler = measure_ruler(&clock).context("cannot measure the clock with /dev/null")?;
    let (models, failures) = calibrate_for(plan, args, |target| {
        let what = format!("calibrating {target}");
        bar.show_preparation(&what, began.elapsed(), args.budget);
    });
    for failure in failures {
        bar.aside(|| Notes { quiet: args.quiet }.note(&failure));
    }
    let mut sampler = DescriptorSampler::new(&clock, &args.dir, plan.experiment.seed)
        .reader_cpu(pins.1)
        .with_models(models.clone());
    // The budget is for the whole run, and some of it is spent already.
    let spent_ns = began.elapsed().as_nanos() as u64;
    let show = |progress: Progress| {
        bar.show(Progress {
            elapsed_ns: progress.elapsed_ns.saturating_add(spent_ns),
            budget_ns: progress.budget_ns.saturating_add(spent_ns),
            ..progress
        });
    };
    let experiment = Experiment {
        budget_ns: plan.experiment.budget_ns.saturating_sub(spent_ns),
        ..plan.experiment.clone()
    };
    let (outcome, failure) = engine(&experiment, &mut sampler, &clock, show, interrupt)?;
    drop(bar);
    let mut host = environment.finish();
    if plan.has_cold_cells() {
        host.warnings.extend(ColdPool::of_this_machine().warning());
    }
    Ok(Measured {
        outcome,
        failure,
        host,
        ruler,
        started_at,
        elapsed_s: began.elapsed().as_secs_f64(),
        models,
    })
}

/// A cost model for each target and folder that is written to. `begin` is called before each
/// calibration. `adaptive` works with the default where a calibration fails; these are told.
fn calibrate_for(
    plan: &Plan,
    args: &MeasureArgs,
    begin: impl Fn(Target),
) -> (Vec<FittedModel>, Vec<String>) {
    let mut targets: Vec<(Target, Option<&Path>)> = plan
        .experiment
        .cells
        .iter()
        // A call that waits for the disk takes so long that all else is lost in it.
        .filter(|cell| cell.operation == Operation::Write && cell.sync == SyncMode::None)
        .map(|cell| (cell.target, cell.path.as_deref()))
        .collect();
    targets.sort_unstable();
    targets.dedup();
    let (mut models, mut failures) = (Vec::new(), Vec::new());
    for (target, path) in targets {
        begin(target);
        match calibrate(target, path, &args.dir) {
            Ok(model) => models.extend(model),
            Err(error) => failures.push(format!(
                "cannot calibrate on {target}, adaptive works with defaults: {error}"
            )),
        }
    }
    (models, failures)
}

fn measure_synthetic(
    experiment: &Experiment,
    synthetic: &Synthetic,
    args: &MeasureArgs,
    interrupt: &Interrupt,
) -> Result<Measured, Failure> {
    let clock = FakeClock::default();
    let mut machine = synthetic.machine(&clock, experiment.seed);
    let bar = Bar::new(args.quiet);
    let show = |progress| bar.show(progress);
    let (outcome, failure) = engine(experiment, &mut machine, &clock, show, interrupt)?;
    Ok(Measured {
        elapsed_s: outcome.elapsed_ns as f64 / 1e9,
        outcome,
        failure,
        host: synthetic::host(),
        ruler: synthetic::ruler(),
        started_at: synthetic::STARTED_AT.to_owned(),
        models: Vec::new(),
    })
}

fn engine(
    experiment: &Experiment,
    sampler: &mut dyn Sampler,
    clock: &dyn Clock,
    mut show: impl FnMut(Progress),
    interrupt: &Interrupt,
) -> Result<(Outcome, Option<MeasureError>), Failure> {
    let watch = Watch {
        progress: &mut show,
        stop: interrupt.flag(),
    };
    match run_engine(experiment, sampler, clock, watch) {
        Ok(outcome) => Ok((outcome, None)),
        // Where a technique moved wrong bytes, its figures mean nothing.
        Err(failed)
            if failed.outcome.cells.is_empty()
                || matches!(failed.error, MeasureError::WrongBytes { .. }) =>
        {
            Err(failed.error.into())
        }
        Err(failed) => Ok((*failed.outcome, Some(failed.error))),
    }
}

pub fn pin(pinning: Pinning, allowed: &[usize]) -> Result<(Option<usize>, Option<usize>), Failure> {
    pin_measuring_thread(pinning).map_err(|error| match pinning {
        Pinning::Cpu(cpu) if !allowed.contains(&cpu) => Failure::usage(format!(
            "cannot stay on CPU {cpu}: this process may use {allowed:?}; choose one of them \
             with --pin"
        )),
        _ => Failure::from(anyhow::anyhow!(
            "cannot stay on one CPU: {error}; measure without with --pin none"
        )),
    })
}

fn assemble(plan: Plan, measured: Measured) -> Results {
    let Plan {
        experiment,
        mut left_out,
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
        host: measured.host,
        ruler: measured.ruler,
        cells: measured.outcome.cells,
        refined_cells: measured.outcome.refined_cells,
        crossovers: Vec::new(),
        cost_models: Vec::new(),
        advice: Vec::new(),
        left_out,
    };
    results.find(measured.models);
    results
}

/// Why a run is incomplete, and what helps. `unmeasured` cells have no figures
/// at all.
fn incomplete(results: &Results, unmeasured: usize, interrupt: &Interrupt) -> String {
    let cells = results.cells.len() + unmeasured;
    let fewest = MIN_ROUNDS as u32;
    let short = results.cells.iter().filter(|cell| cell.rounds < fewest);
    let short = format!(
        "of {cells} cells {unmeasured} have no figures, and {} have fewer than {fewest} rounds",
        short.count()
    );
    if interrupt.exit_code().is_some() {
        format!("stopped: {short}")
    } else {
        format!(
            "the budget of {} s ended early: {short}; give more with --budget",
            results.budget_s
        )
    }
}

fn render(results: &Results, format: Format, to_file: bool) -> String {
    match format {
        Format::Table => Screen::of_output(to_file).set(|options| report::table(results, options)),
        Format::Json => report::json(results),
        Format::Csv => report::csv(results),
        Format::Markdown => report::markdown(results),
    }
}
