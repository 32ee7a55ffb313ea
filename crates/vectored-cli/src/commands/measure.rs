//! `vectored measure`.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Instant, SystemTime};

use anyhow::Context;
use vectored::CostModel;
use vectored_lab::measure::{
    Clock, ColdPool, DescriptorSampler, Environment, FakeClock, MeasureError, MonotonicClock,
    Outcome, Pinning, Progress, RankedSampler, Sampler, Watch, allowed_cpus, calibrate,
    check_available, check_directory, check_eviction, check_fifo, follow, measure_ruler,
    pin_measuring_thread, run as run_engine, run_saving,
};
use vectored_lab::model::{
    Cell, CellSpec, Coordination, Experiment, FittedModel, Host, Machine, Operation, Rank, Results,
    Ruler, SCHEMA, SyncMode, Target, Technique, TechniqueResult,
};
use vectored_lab::remote::Token;
use vectored_lab::report::fleet::{compare_with, known_machines};
use vectored_lab::report::{self, left_out_in_words, list_in_words};
use vectored_lab::stats::MIN_ROUNDS;

use crate::args::{Format, MeasureArgs};
use crate::cluster::{Team, crowding, with_team};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::measure_plan::{FilePlan, MeasurePlan, check_alone};
use crate::notes::Notes;
use crate::output_file::OutputFile;
use crate::progress::Bar;
use crate::results_store::{
    GrowingResult, ResultName, Store, extract_paths, ignored_state_home, load_machines,
};
use crate::synthetic::{self, Synthetic};
use crate::terminal::{Screen, print};
use crate::token_file::read_token;

/// Runs the command. Wrong usage is reported before the measurement begins.
pub fn run(args: &MeasureArgs) -> Result<ExitCode, Failure> {
    with_team("measure", |team| measure(args, team))
}

/// Measures on this machine without ranks, and shows and saves nothing.
pub fn measure_alone(
    args: &MeasureArgs,
    quiet: bool,
) -> Result<(Results, Option<MeasureError>), Failure> {
    let plan = MeasurePlan::new(args, seed_of(args))?;
    let interrupt = Interrupt::watch()?;
    let Some(mut measured) = measured(&plan, args, None, quiet, &interrupt, &mut |_| ())? else {
        return Err(Failure::from(anyhow::anyhow!("no rank measured")));
    };
    if measured.outcome.cells.is_empty() && measured.failure.is_none() {
        return Err(Failure::from(anyhow::anyhow!(
            "stopped before any cell was measured"
        )));
    }
    let failure = measured.failure.take();
    Ok((assemble(plan, measured), failure))
}

fn seed_of(args: &MeasureArgs) -> u64 {
    // 32 bits are short enough to be typed again.
    args.seed.unwrap_or_else(|| fastrand::u32(..).into())
}

/// What the report needs beside the figures, checked before they are measured.
struct ReportPlan {
    output: Option<OutputFile>,
    store: Store,
    /// The results to compare with.
    known: Vec<Machine>,
}

fn report_plan(args: &MeasureArgs, notes: &Notes) -> Result<ReportPlan, Failure> {
    let output = OutputFile::named(args.output.as_deref(), "--output")?;
    let known = known(args)?;
    let store = Store::open(args.no_save)?;
    if let Some(note) = ignored_state_home().filter(|_| !args.no_save) {
        notes.note(&note);
    }
    Ok(ReportPlan {
        output,
        store,
        known,
    })
}

fn measure(args: &MeasureArgs, team: Option<&Team<'_>>) -> Result<ExitCode, Failure> {
    let is_first = team.is_none_or(Team::is_first);
    let notes = Notes {
        quiet: args.quiet || !is_first,
    };
    let (plan, report_plan) = match team {
        None => {
            check_alone(args)?;
            let plan = MeasurePlan::new(args, seed_of(args))?;
            (plan, report_plan(args, &notes)?)
        }
        Some(team) => {
            let seed = team.shared(&seed_of(args));
            // Each rank looks at files of its own node: if one refuses, all must end.
            let of_this_rank = || {
                let plan = MeasurePlan::new(args, seed)?.on_ranks(args, team.size())?;
                let report_plan = match is_first {
                    true => report_plan(args, &notes)?,
                    false => ReportPlan {
                        output: None,
                        store: Store::Unwanted,
                        known: Vec::new(),
                    },
                };
                Ok((plan, report_plan))
            };
            team.agree(of_this_rank())?
        }
    };
    let ReportPlan {
        output,
        store,
        known,
    } = report_plan;

    let interrupt = Interrupt::watch()?;
    let mut growing = GrowingResult::of(&store, "measure");
    // What is measured is saved during the run: a launcher ends all ranks if one dies.
    let mut save = |so_far: Measured| {
        if !so_far.outcome.cells.is_empty() {
            let results = assemble(plan.clone(), so_far);
            if let Err(error) = growing.save(&results.started_at, &report::json(&results)) {
                notes.note(&format!("{error:#}"));
            }
        }
    };
    let measured = measured(&plan, args, team, notes.quiet, &interrupt, &mut save);
    let mut measured = match measured {
        Ok(Some(measured)) => measured,
        Ok(None) => return Ok(ExitCode::SUCCESS),
        Err(failure) => {
            growing.discard()?;
            return Err(failure);
        }
    };
    // After the measurement, so that an error stands alone.
    for group in left_out_in_words(&plan.left_out) {
        notes.note(&format!("not measured ({}): {}", group.reason, group.cells));
    }
    if let Some(counts) = plan.usual_limit {
        notes.note(&format!(
            "to measure such lists, up to 64 MiB, give both {counts} and --sizes"
        ));
    }
    let unmeasured = measured.outcome.left_out.len();
    if measured.outcome.cells.is_empty()
        && measured.failure.is_none()
        && let Some(code) = interrupt.exit_code()
    {
        notes.note("stopped before any cell was measured: nothing is saved");
        return Ok(ExitCode::from(code));
    }
    let failure = measured.failure.take();
    let mut results = assemble(plan, measured);
    results.machine_comparisons = compare_with(&results, &known);
    for note in report::unsuited_in_words(&results) {
        notes.note(&note);
    }

    let text = rendered(&results, args.format, output.is_some());
    let json = report::json(&results);
    let saved = growing.save(&results.started_at, &json);
    // Show the result even if saving failed, and print its path even if showing failed.
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

/// The results to compare with: those of a folder, or those that are built in. An invented machine is compared only with
/// what is named.
fn known(args: &MeasureArgs) -> Result<Vec<Machine>, Failure> {
    match &args.machines {
        Some(folder) => load_machines(&extract_paths(&[ResultName::File(folder.clone())])?),
        None if args.synthetic.is_some() => Ok(Vec::new()),
        None => Ok(known_machines()),
    }
}

/// The outcome of a run, real or synthetic.
struct Measured {
    outcome: Outcome,
    /// The error that ended the run early; cells measured before it are kept.
    failure: Option<MeasureError>,
    host: Host,
    ruler: Ruler,
    started_at: String,
    elapsed_s: f64,
    /// The cost models that `adaptive` worked with.
    models: Vec<FittedModel>,
    /// The ranks; empty if this process is not one of several.
    ranks: Vec<Rank>,
    coordination: Option<Coordination>,
}

/// Takes what was measured so far.
type Save<'a> = &'a mut dyn FnMut(Measured);

/// Measures, with all ranks if there are several. Then `save` is called during the run, and `None` is returned on all
/// ranks but the first.
fn measured(
    plan: &MeasurePlan,
    args: &MeasureArgs,
    team: Option<&Team<'_>>,
    quiet: bool,
    interrupt: &Interrupt,
    save: Save<'_>,
) -> Result<Option<Measured>, Failure> {
    match &args.synthetic {
        Some(synthetic) => {
            measure_synthetic(&plan.experiment, synthetic, quiet, team, interrupt, save)
        }
        None => measure_here(plan, (args, quiet), team, interrupt, save),
    }
}

/// What a run on this machine has before its first cell.
struct Prepared {
    environment: Environment,
    pins: (Option<usize>, Option<usize>),
    allowed: Vec<usize>,
    ruler: Ruler,
    models: Vec<FittedModel>,
    token: Option<Token>,
}

fn prepare(
    plan: &MeasurePlan,
    (args, quiet): (&MeasureArgs, bool),
    team: Option<&Team<'_>>,
    (bar, began): (&Bar, Instant),
) -> Result<Prepared, Failure> {
    let token = args.token_file.as_deref().map(read_token).transpose()?;
    bar.show_preparation("checking the machine", began.elapsed(), args.budget);
    check_asynchronous(&plan.experiment)?;
    let mut directory = None;
    for file in plan.files(&args.dir) {
        let described = check_directory(&file.directory, file.target, file.call_bytes)
            .map_err(|error| of_file(error, &file))?;
        directory.get_or_insert(described);
        if file.is_cold {
            check_eviction(&file.directory).map_err(|error| of_file(error, &file))?;
        }
    }
    for fifo in plan.fifos() {
        check_fifo(fifo).map_err(Failure::usage)?;
    }
    let allowed = allowed_cpus();
    let pins = match team {
        None => pin(args.pin.unwrap_or_default(), &allowed)?,
        Some(team) => {
            let pins = pin(team.pinning(args.pin, &allowed)?, &allowed)?;
            (pins.0, team.reader_cpu(pins, &allowed))
        }
    };
    let environment = Environment::capture(directory, pins, allowed.clone());
    let ruler =
        measure_ruler(&MonotonicClock).context("cannot measure the clock with /dev/null")?;
    let (models, failures) = calibrate_for(plan, args, |target| {
        let what = format!("calibrating {target}");
        bar.show_preparation(&what, began.elapsed(), args.budget);
    });
    for failure in failures {
        bar.aside(|| Notes { quiet }.note(&failure));
    }
    if let Some(note) = forecast(&plan.experiment, |cell| costs_of(cell, &models)) {
        bar.aside(|| Notes { quiet }.note(&note));
    }
    Ok(Prepared {
        environment,
        pins,
        allowed,
        ruler,
        models,
        token,
    })
}

fn measure_here(
    plan: &MeasurePlan,
    (args, quiet): (&MeasureArgs, bool),
    team: Option<&Team<'_>>,
    interrupt: &Interrupt,
    save: Save<'_>,
) -> Result<Option<Measured>, Failure> {
    let began = Instant::now();
    let started_at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let bar = Bar::new(quiet);
    let prepared = prepare(plan, (args, quiet), team, (&bar, began));
    let Prepared {
        environment,
        pins,
        allowed,
        ruler,
        models,
        token,
    } = match team {
        None => prepared?,
        Some(team) => team.agree(prepared)?,
    };
    let ranks = team.map_or_else(Vec::new, |team| team.ranks(environment.so_far()));
    let writer_cpus = match pins.0 {
        Some(_) => allowed,
        None => Vec::new(),
    };
    let clock = MonotonicClock;
    // Each rank moves bytes of its own.
    let seed = plan
        .experiment
        .seed
        .wrapping_add(team.map_or(0, |team| team.rank() as u64) << 32);
    let mut sampler = DescriptorSampler::new(&clock, &args.dir, seed)
        .reader_cpu(pins.1)
        .writer_cpus(writer_cpus)
        .with_token(token)
        .with_models(models.clone());
    if args.processes {
        // It needs /proc, which other measurements do without.
        let program = std::env::current_exe();
        sampler = sampler
            .writer_program(program.context("cannot find this program, to run it as a writer")?);
    }
    // The budget covers the whole run, and part of it is spent already.
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
    let with_warnings = |mut host: Host| {
        host.warnings.extend(crowding(&ranks));
        host
    };
    let mut save_outcome = |outcome| {
        save(Measured {
            outcome,
            failure: None,
            host: with_warnings(environment.so_far().clone()),
            ruler: ruler.clone(),
            started_at: started_at.clone(),
            elapsed_s: began.elapsed().as_secs_f64(),
            models: models.clone(),
            ranks: ranks.clone(),
            coordination: None,
        });
    };
    let run = Run {
        experiment: &experiment,
        clock: &clock,
        interrupt,
        save: &mut save_outcome,
    };
    let Some(Ended {
        outcome,
        failure,
        coordination,
    }) = run.with(&mut sampler, team, show)?
    else {
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
        ruler,
        started_at,
        elapsed_s: began.elapsed().as_secs_f64(),
        models,
        ranks,
        coordination,
    }))
}

/// Refuses asynchronous techniques that this machine does not offer.
fn check_asynchronous(experiment: &Experiment) -> Result<(), Failure> {
    let depths = experiment.cells.iter().map(|cell| cell.queue_depth);
    let deepest = depths.max().unwrap_or(1);
    let rivals = experiment.rivals.iter().copied();
    let needs_ring = |technique: &Technique| {
        technique.is_asynchronous() || *technique == Technique::UringSendZerocopy
    };
    for technique in rivals.filter(needs_ring) {
        check_available(technique, deepest).map_err(|unavailable| {
            let error = anyhow::anyhow!(
                "cannot measure {technique}: {unavailable}; or omit {technique} from --technique"
            );
            Failure::from(error)
        })?;
    }
    Ok(())
}

/// Makes the remedy name the option that gave the directory.
fn of_file(error: MeasureError, file: &FilePlan) -> Failure {
    Failure::of_directory(error).for_directory_of_target(file.is_target)
}

/// Calibrates a cost model for each target and directory that is written to, and returns the models and
/// the messages for failed calibrations, for which `adaptive` uses the default model. `begin` is called
/// before each calibration.
fn calibrate_for(
    plan: &MeasurePlan,
    args: &MeasureArgs,
    begin: impl Fn(Target),
) -> (Vec<FittedModel>, Vec<String>) {
    let mut targets: Vec<(Target, Option<&Path>)> = plan
        .experiment
        .cells
        .iter()
        .filter(|cell| cell.operation == Operation::Write)
        // The wait for the disk would hide all other costs.
        .filter(|cell| cell.sync == SyncMode::None && cell.direct.is_none())
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
                "cannot calibrate the cost model on {target}, so adaptive uses the default model: \
                 {error}"
            )),
        }
    }
    (models, failures)
}

fn measure_synthetic(
    experiment: &Experiment,
    synthetic: &Synthetic,
    quiet: bool,
    team: Option<&Team<'_>>,
    interrupt: &Interrupt,
    save: Save<'_>,
) -> Result<Option<Measured>, Failure> {
    let clock = FakeClock::default();
    let rank = team.map_or(0, |team| team.rank() as u64);
    let mut machine = synthetic.machine(&clock, experiment.seed.wrapping_add(rank));
    if let Some(note) = forecast(experiment, |_| synthetic.cost_model().into()) {
        Notes { quiet }.note(&note);
    }
    let bar = Bar::new(quiet);
    let show = |progress| bar.show(progress);
    let ranks = team.map_or_else(Vec::new, |team| team.ranks(&synthetic::host()));
    let measured = |outcome: Outcome, failure, coordination| Measured {
        elapsed_s: outcome.elapsed_ns as f64 / 1e9,
        outcome,
        failure,
        host: synthetic::host(),
        ruler: synthetic::ruler(),
        started_at: synthetic::STARTED_AT.to_owned(),
        models: Vec::new(),
        ranks: ranks.clone(),
        coordination,
    };
    let run = Run {
        experiment,
        clock: &clock,
        interrupt,
        save: &mut |outcome| save(measured(outcome, None, None)),
    };
    let ended = run.with(&mut machine, team, show)?;
    Ok(ended.map(|ended| measured(ended.outcome, ended.failure, ended.coordination)))
}

/// A run of the engine.
struct Run<'a> {
    experiment: &'a Experiment,
    clock: &'a dyn Clock,
    interrupt: &'a Interrupt,
    /// Takes the outcome so far, if there are several ranks.
    save: &'a mut dyn FnMut(Outcome),
}

/// How a run of the engine ended.
struct Ended {
    outcome: Outcome,
    failure: Option<MeasureError>,
    coordination: Option<Coordination>,
}

impl Run<'_> {
    /// Runs the engine on this rank if it is the first; the others follow it, and have no outcome.
    fn with(
        self,
        own: &mut dyn Sampler,
        team: Option<&Team<'_>>,
        mut show: impl FnMut(Progress),
    ) -> Result<Option<Ended>, Failure> {
        let watch = Watch {
            progress: &mut show,
            stop: self.interrupt.flag(),
        };
        let (ran, coordination) = match team {
            None => (run_engine(self.experiment, own, self.clock, watch), None),
            Some(team) if !team.is_first() => {
                follow(team.group, own, team.host());
                return Ok(None);
            }
            Some(team) => {
                let mut ranked = RankedSampler::new(team.group, own, self.clock, team.host());
                let ran = run_saving(self.experiment, &mut ranked, self.clock, watch, self.save);
                let coordination = ranked.coordination();
                (ran, coordination)
            }
        };
        let ended = |outcome, failure| {
            Ok(Some(Ended {
                outcome,
                failure,
                coordination,
            }))
        };
        match ran {
            Ok(outcome) => ended(outcome, None),
            // If a technique moved wrong bytes, its figures are meaningless.
            Err(failed) if failed.outcome.cells.is_empty() || failed.error.is_wrong_bytes() => {
                Err(failed.error.into())
            }
            Err(failed) => ended(*failed.outcome, Some(failed.error)),
        }
    }
}

pub fn pin(pinning: Pinning, allowed: &[usize]) -> Result<(Option<usize>, Option<usize>), Failure> {
    pin_measuring_thread(pinning).map_err(|error| match pinning {
        Pinning::Cpu(cpu) if !allowed.contains(&cpu) => Failure::usage(format!(
            "cannot run on CPU {cpu}: this process may use only these CPUs: {}; choose one with --pin",
            allowed.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
        )),
        _ => Failure::from(anyhow::anyhow!(
            "cannot pin the process to one CPU: {error}; to run on any CPU, use --pin none"
        )),
    })
}

fn assemble(plan: MeasurePlan, measured: Measured) -> Results {
    let MeasurePlan {
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
        asynchronous: Vec::new(),
        writer_advice: Vec::new(),
        machine_comparisons: Vec::new(),
        ranks: measured.ranks,
        coordination: measured.coordination,
        rank_advice: Vec::new(),
        left_out,
    };
    results.find(measured.models);
    results
}

/// The reason why a run is incomplete, with the remedy. `unmeasured` cells have no figures.
fn incomplete(results: &Results, unmeasured: usize, interrupt: &Interrupt) -> String {
    let cells = results.cells.len() + unmeasured;
    let short = results
        .cells
        .iter()
        .filter(|cell| cell.rounds < MIN_ROUNDS as u32);
    let parts = [
        (unmeasured, "no figures".to_owned()),
        (short.count(), format!("fewer than {MIN_ROUNDS} rounds")),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts = parts.map(|(count, what)| {
        let cells_have = match (cells, count) {
            (1, _) => "cell has",
            (_, 1) => "cells has",
            _ => "cells have",
        };
        format!("{count} of {cells} {cells_have} {what}")
    });
    let short = parts.collect::<Vec<_>>().join(", ");
    if interrupt.exit_code().is_some() {
        return format!("stopped: {short}");
    }
    let Results {
        budget_s,
        elapsed_s,
        ..
    } = results;
    let longest_s = results.cells.iter().map(round_s).fold(0.0, f64::max);
    let ended = if longest_s > *budget_s {
        format!("was exceeded: one round takes {}", seconds(longest_s))
    } else if *elapsed_s > 1.1 * budget_s {
        format!("was exceeded: the run took {}", seconds(*elapsed_s))
    } else {
        format!("ended before every cell had {MIN_ROUNDS} rounds")
    };
    format!("the budget of {budget_s} s {ended}; {short}; increase --budget")
}

/// The time of one round of a cell: two samples of the floor and one of each technique.
fn round_s(cell: &Cell) -> f64 {
    let calls = |technique: &TechniqueResult| f64::from(technique.calls_per_sample);
    let most_calls = cell.techniques.iter().map(calls).fold(0.0, f64::max);
    let techniques = cell.techniques.iter();
    let techniques_ns: f64 = techniques.map(|one| one.median_ns * calls(one)).sum();
    (2.0 * cell.floor_ns * most_calls + techniques_ns) / 1e9
}

/// `33 s`, `0.12 s`, `3.0 ms`.
fn seconds(s: f64) -> String {
    match s {
        _ if s >= 10.0 => format!("{s:.0} s"),
        _ if s >= 1.0 => format!("{s:.1} s"),
        _ if s >= 0.1 => format!("{s:.2} s"),
        _ => format!("{:.1} ms", s * 1e3),
    }
}

/// The costs that a forecast is based on.
struct Costs {
    call_ns: f64,
    byte_ns: f64,
    copy_byte_ns: f64,
}

impl From<CostModel> for Costs {
    fn from(model: CostModel) -> Self {
        Costs {
            call_ns: model.call_ns,
            byte_ns: model.byte_ns,
            copy_byte_ns: model.copy_byte_ns,
        }
    }
}

/// The costs calibrated for the target of the cell, or the library's default.
fn costs_of(cell: &CellSpec, models: &[FittedModel]) -> Costs {
    let is_here = |model: &&FittedModel| {
        model.conditions.target == cell.target
            && model.conditions.path.as_deref().map(Path::new) == cell.path.as_deref()
    };
    match models.iter().find(is_here) {
        Some(model) => Costs {
            call_ns: model.call_ns,
            byte_ns: model.byte_ns,
            copy_byte_ns: model.copy_byte_ns,
        },
        None => CostModel::default().into(),
    }
}

/// A note on the cell whose first round is expected to exceed the whole budget, if there is one. Every
/// technique moves the list twice on trial and once in the round, and the floor twice.
fn forecast(experiment: &Experiment, costs: impl Fn(&CellSpec) -> Costs) -> Option<String> {
    let budget_s = experiment.budget_ns as f64 / 1e9;
    let round_s = |cell: &CellSpec| {
        let Costs {
            call_ns,
            byte_ns,
            copy_byte_ns,
        } = costs(cell);
        let bytes = cell.workload.total_bytes() as f64;
        // A list that does not fit a pipe or socket waits for a thread at the other end: a call then costs three
        // times, and a byte six times as much.
        let has_thread = !cell.target.is_file() && cell.target != Target::Null && bytes > 65536.0;
        let (call_ns, byte_ns) = match has_thread {
            true => (3.0 * call_ns, 6.0 * byte_ns),
            false => (call_ns, byte_ns),
        };
        let count = cell.workload.segment_count() as f64;
        let techniques = experiment.rivals.iter().chain(&experiment.unranked);
        let techniques_ns: f64 = techniques
            .map(|technique| match technique {
                Technique::WriteEach | Technique::ReadEach => count * call_ns,
                Technique::CopyThenWrite | Technique::ReadThenSplit => bytes * copy_byte_ns,
                _ => call_ns,
            })
            .map(|own_ns| own_ns + bytes * byte_ns)
            .sum();
        let round_ns = 3.0 * techniques_ns + 2.0 * (call_ns + bytes * byte_ns);
        // A sample has at least as many calls as fill the queue four times.
        let calls = match cell.queue_depth {
            0 | 1 => 1.0,
            depth => 4.0 * f64::from(depth) - 1.0,
        };
        let writers = cell.writers.map_or(1.0, |writers| f64::from(writers.count));
        round_ns * calls * writers / 1e9
    };
    let (longest_s, cell) = experiment
        .cells
        .iter()
        .map(|cell| (round_s(cell), cell))
        .max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (longest_s > budget_s).then(|| {
        format!(
            "one round of {} on {}, with the trial calls before it, is expected to take {} or \
             more: the run will exceed its budget of {budget_s} s; increase --budget, or use \
             shorter lists",
            list_in_words(&cell.workload.runs()),
            cell.target,
            seconds(longest_s)
        )
    })
}

/// The results in a format.
pub fn rendered(results: &Results, format: Format, to_file: bool) -> String {
    match format {
        Format::Table => Screen::of_output(to_file).set(|options| report::table(results, options)),
        Format::Json => report::json(results),
        Format::Csv => report::csv(results),
        Format::Markdown => report::markdown(results),
    }
}
