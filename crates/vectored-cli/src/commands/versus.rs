//! `vectored versus`.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Instant, SystemTime};

use vectored_machine::host::{Environment, allowed_cpus};
use vectored_machine::platform::processes::adopt_orphans;
use vectored_report::{csv_of, json};
use vectored_versus::judge::{Limits, rulings};
use vectored_versus::model::{Comparison, Ruling, RunOptions, Side, VERSUS_SCHEMA, Versus};
use vectored_versus::report::{document, failures, limits_in_words, stacks_in_words};

use crate::args::VersusArgs;
use crate::commands::compare::ruled;
use crate::commands::outputs::Outputs;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::notes::Notes;
use crate::results_store::{ResultKind, ResultName, Store, time_of};
use crate::strace;
use crate::versus_runs::{Program, differs, measure};

const DIFFERENT: u8 = 5;

pub fn run(args: &VersusArgs) -> Result<ExitCode, Failure> {
    let notes = Notes {
        quiet: args.saving.quiet,
    };
    let inputs = [args.input.as_slice(), &args.same].concat();
    let mut outputs = Outputs::check(&args.output, &inputs)?;
    outputs.details = args.details;
    let tracing = strace::check().map_err(|failure| format!("{:#}", failure.error));
    let of_calls = &args.fail_if_more_calls;
    match &tracing {
        Err(why) if !of_calls.is_empty() => {
            return Err(anyhow::anyhow!("--fail-if-more-calls cannot be decided: {why}").into());
        }
        Ok(()) => strace::check_calls(of_calls.iter().filter_map(|limit| limit.name.as_deref()))?,
        Err(_) => {}
    }
    let programs = programs(args)?;
    let earlier = args.add.as_ref().map(ResultName::load_as).transpose()?;
    let store = Store::open(args.saving.no_save)?;
    let environment = Environment::capture(None, (None, None), allowed_cpus());
    let planned = planned(args, &programs, earlier.as_ref());
    if let (Some(name), Some(earlier)) = (&args.add, &earlier)
        && let Some(why) = differs(earlier, &planned, environment.so_far())
    {
        let name = name.in_words();
        return Err(Failure::usage(format!(
            "cannot go on from '{name}' of --add: {why}"
        )));
    }
    let interrupt = Interrupt::watch()?;
    adopt_orphans().map_err(anyhow::Error::from)?;
    let began = Instant::now();
    let mut result = Versus {
        started_at: time_of(SystemTime::now())?,
        not_counted: tracing.err(),
        commit: commit(),
        ..planned
    };
    let is_traced = result.not_counted.is_none();
    measure(
        args,
        &programs,
        is_traced,
        earlier.as_ref(),
        &interrupt,
        &mut result,
    )?;
    result.host = environment.finish();
    result.elapsed_s = (began.elapsed().as_secs_f64() * 1e3).round() / 1e3;
    // If a command failed or the commands do different things, the figures decide nothing.
    let verdict = verdict(args, &result);
    if verdict.is_ok() {
        let limits = Limits {
            slower: args.fail_if_slower,
            calls: of_calls,
            memory: args.fail_if_more_memory,
        };
        result.limits = rulings(&result, limits);
    }
    let is_counted = result.new.iter().any(|one| !one.side.ended.is_empty());
    if let (Some(code), false) = (interrupt.exit_code(), is_counted) {
        notes.note("stopped before the calls of all commands were counted: nothing is saved");
        return Ok(ExitCode::from(code));
    }
    let json = json(&result);
    let kept = store.save(ResultKind::Versus, &result.started_at, &json);
    // The result is shown even if saving failed. The path is printed even if showing failed.
    let shown = outputs.show(&document(&result), &json, || csv_of(&[&result]));
    notes.saved(&kept?);
    shown?;
    if let Some(code) = interrupt.exit_code() {
        return Ok(ExitCode::from(code));
    }
    verdict?;
    let mut limits = limits_in_words(&result.limits, "old");
    let stacks = result.new.iter().filter_map(stacks_in_words);
    limits.extend(stacks.map(|text| (Ruling::Beyond, text)));
    ruled(&limits)
}

fn programs(args: &VersusArgs) -> Result<Vec<Program>, Failure> {
    if let Some(input) = &args.input {
        check_input(input)?;
    }
    if args.prepare.len() > 1 && args.prepare.len() != args.new.len() + 1 {
        return Err(Failure::usage(format!(
            "--prepare is given {} times for {} commands: give it once for all, or once for each",
            args.prepare.len(),
            args.new.len() + 1
        )));
    }
    if let Some(typed) = args.prepare.first() {
        strace::find(args.shell().as_ref()).map_err(|failure| Failure {
            error: failure.error.context(format!(
                "cannot run the command of --prepare ('{typed}') by a shell"
            )),
            ..failure
        })?;
    }
    let name = |index: usize| match index {
        0 => "old".to_owned(),
        1 => "new".to_owned(),
        more => format!("new {more}"),
    };
    let typed = std::iter::once(&args.old).chain(&args.new).enumerate();
    let programs =
        typed.map(|(index, typed)| Program::new(name(index), typed, args.shell.as_deref()));
    programs.collect()
}

/// Refuses an input that is not a regular file. open(2) of a FIFO would block. The bytes that a run reads from a FIFO
/// or terminal are lost for the next run.
fn check_input(input: &Path) -> Result<(), Failure> {
    let opened = match fs::metadata(input) {
        Ok(found) if !found.is_file() => Err(io::Error::other(
            "it is no regular file, which each run could read from its beginning: copy what it gives into a file",
        )),
        found => found.and_then(|_| fs::File::open(input)),
    };
    opened.map(drop).map_err(|error| {
        Failure::usage(format!("cannot use --input '{}': {error}", input.display()))
    })
}

/// Returns the commit of the working directory. `None` without a repository or without git.
fn commit() -> Option<String> {
    let mut git = Command::new("git");
    git.args(["describe", "--always", "--dirty"]);
    let output = git.stdin(Stdio::null()).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| said.trim().to_owned())
}

fn planned(args: &VersusArgs, programs: &[Program], earlier: Option<&Versus>) -> Versus {
    let mut sides = programs.iter().map(|program| Side {
        name: program.name.clone(),
        command: program.typed.clone(),
        ..Side::default()
    });
    Versus {
        schema: VERSUS_SCHEMA.to_owned(),
        vectored_version: env!("CARGO_PKG_VERSION").to_owned(),
        added: earlier.map_or_else(Vec::new, |earlier| {
            [
                &earlier.added[..],
                std::slice::from_ref(&earlier.started_at),
            ]
            .concat()
        }),
        options: RunOptions {
            shell: args.shell.clone(),
            stdout: args.stdout,
            input: args.input.as_ref().map(|path| path.display().to_string()),
            warmup: args.warmup,
            prepare: args.prepare.clone(),
            budget_s: args.budget.as_secs_f64(),
            ignore_failure: args.ignore_failure,
            same_layout: args.same_layout,
        },
        old: sides.next().unwrap_or_default(),
        new: sides
            .map(|side| Comparison {
                side,
                ..Comparison::default()
            })
            .collect(),
        ..Versus::default()
    }
}

/// Fails if a run failed, or if the commands do different things.
fn verdict(args: &VersusArgs, result: &Versus) -> Result<(), Failure> {
    let mut new = result.new.iter();
    if new.clone().any(|one| result.is_spoiled(one)) {
        let what: Vec<String> = result.sides().filter_map(failures).collect();
        let what = what.join("; ");
        return Err(anyhow::anyhow!("{what}: give --ignore-failure if that is meant").into());
    }
    if new.any(|one| one.differs(args.ignore_output, args.ignore_failure)) {
        return Err(Failure {
            error: anyhow::anyhow!(if args.ignore_output {
                "the exit statuses differ: give also --ignore-failure if that is meant"
            } else {
                "the commands do different things: give --ignore-output if that is meant"
            }),
            code: DIFFERENT,
        });
    }
    Ok(())
}
