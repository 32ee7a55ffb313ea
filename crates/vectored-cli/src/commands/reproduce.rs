//! `vectored reproduce`.

use std::process::ExitCode;
use std::time::{Instant, SystemTime};

use anyhow::Context;
use clap::{Command, CommandFactory};
use vectored_machine::MonotonicClock;
use vectored_machine::host::{Environment, allowed_cpus};
use vectored_measure::measure::{MeasureError, measure_timer};
use vectored_measure::reproduce::{Bench, run as run_plans};
use vectored_report::{csv_of, json};
use vectored_results::model::{EXPERIMENTS_SCHEMA, Experiments, Reproduction};
use vectored_results::report::experiments::document;

use crate::args::{Cli, ReproduceArgs};
use crate::cluster::Launch;
use crate::commands::outputs::Outputs;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::notes::Notes;
use crate::pinning::pin;
use crate::progress::Bar;
use crate::reproduce_plan::plans;
use crate::results_store::{ResultKind, Store, time_of};
use crate::terminal::print;

pub fn run(args: &ReproduceArgs) -> Result<ExitCode, Failure> {
    let Some(experiments) = &args.experiments else {
        print(&listed())?;
        return Ok(ExitCode::SUCCESS);
    };
    refuse_ranks(Launch::from_environment())?;
    let plans = plans(experiments, args)?;
    let seed = args.seed.unwrap_or_else(|| fastrand::u32(..).into());
    let outputs = Outputs::check(&args.output, &[])?;
    let store = Store::open(args.saving.no_save)?;
    let notes = Notes {
        quiet: args.saving.quiet,
    };
    let program = std::env::current_exe().context("cannot find this program to run copies")?;

    #[cfg(target_os = "linux")]
    vectored_machine::platform::processes::adopt_orphans().map_err(anyhow::Error::from)?;
    let interrupt = Interrupt::watch()?;
    let began = Instant::now();
    let started_at = time_of(SystemTime::now())?;
    let bar = Bar::new(args.saving.quiet);
    bar.show_waiting("checking the machine");
    let mut directory = None;
    for plan in &plans {
        let described = plan.check(&args.dir).map_err(Failure::of_directory)?;
        directory.get_or_insert(described);
    }
    let allowed = allowed_cpus();
    let pins = pin(args.pin.unwrap_or_default(), &allowed)?;
    let environment = Environment::capture(directory, pins, allowed);
    let clock = MonotonicClock;
    let timer = measure_timer(&clock).context("cannot measure the clock with /dev/null")?;
    bar.show_waiting("preparing the first experiment");
    let (experiments, failure) = {
        let mut tell = |progress: &_| bar.show_reproducing(progress);
        let mut bench = Bench {
            clock: &clock,
            directory: &args.dir,
            program: &program,
            reader_cpu: pins.1,
            seed,
            on_progress: &mut tell,
            stop: interrupt.flag(),
        };
        run_plans(&plans, &mut bench)
    };
    drop(bar);
    if let Some(error) = worthless(&experiments, failure.as_ref()) {
        return Err(Failure::from(anyhow::anyhow!("{error}")));
    }
    let results = Experiments {
        schema: EXPERIMENTS_SCHEMA.to_owned(),
        complete: experiments.len() == plans.len() && experiments.iter().all(|one| one.complete),
        vectored_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at,
        elapsed_s: (began.elapsed().as_secs_f64() * 1e3).round() / 1e3,
        seed,
        host: environment.finish(),
        timer,
        experiments,
    };
    let saved_form = json(&results);
    let saved = store.save(ResultKind::Reproduce, &results.started_at, &saved_form);
    // The result is shown even if saving failed. The path is printed even if showing failed.
    let shown = outputs.show(&document(&results), &saved_form, || csv_of(&[&results]));
    if !results.complete && failure.is_none() {
        notes.note(&stopped(&results, plans.len()));
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

fn listed() -> String {
    let program = Cli::command();
    let reproduce = program.find_subcommand("reproduce");
    let all = reproduce.into_iter().flat_map(Command::get_subcommands);
    let mut text = String::new();
    for one in all {
        let about = one.get_about().map(ToString::to_string);
        let about = about.unwrap_or_default();
        text += &format!("{:<12}{about}\n", one.get_name());
    }
    text + "\nvectored reproduce apue-14.28 runs one.\nvectored reproduce all --quick runs all, at a reduced size.\n"
}

/// The published experiments ran in one process.
fn refuse_ranks(launch: Option<Launch>) -> Result<(), Failure> {
    match launch.filter(|launch| launch.size > 1) {
        None => Ok(()),
        Some(Launch { size, variable, .. }) => Err(Failure::usage(format!(
            "started as one of {size} processes ({variable}), which would reproduce the experiments without knowing of \
             each other: start it once, without mpirun and srun"
        ))),
    }
}

/// Returns the error if no figure is usable. Figures are unusable if nothing was measured, bytes were wrong, or a
/// program failed.
fn worthless<'a>(
    experiments: &[Reproduction],
    failure: Option<&'a MeasureError>,
) -> Option<&'a MeasureError> {
    let rows = experiments.iter().flat_map(|experiment| &experiment.rows);
    let is_empty = rows.into_iter().all(|row| row.repeats == 0);
    failure.filter(|error| {
        is_empty
            || matches!(
                error,
                MeasureError::WrongBytes { .. } | MeasureError::Program { .. }
            )
    })
}

fn stopped(results: &Experiments, asked_for: usize) -> String {
    let finished = results
        .experiments
        .iter()
        .filter(|one| one.complete)
        .count();
    format!("stopped: {finished} of {asked_for} experiments are complete")
}
