//! `vectored`: measures which way of moving several buffers is fastest on this machine.

#[cfg(unix)]
mod advise_pipeline;
mod args;
mod atomic_file;
mod cluster;
#[cfg(unix)]
mod command_signals;
mod commands;
#[cfg(unix)]
mod copying;
#[cfg(all(test, target_os = "linux"))]
mod documented_tests;
mod failure;
mod interrupt;
#[cfg(unix)]
mod live;
mod measure_plan;
mod notes;
mod output_file;
mod pinning;
mod progress;
#[cfg(unix)]
mod proof;
#[cfg(unix)]
mod reproduce_plan;
mod results_store;
mod size_lists;
#[cfg(unix)]
mod strace;
mod synthetic;
mod target_path;
mod terminal;
#[cfg(target_os = "linux")]
mod versus_runs;

#[cfg(unix)]
use std::ffi::OsString;
use std::process::ExitCode;

use anstream::ColorChoice;
use args::{Cli, Command};
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use cluster::Launch;
use terminal::{print_help, print_message};

/// Replaces clap's tip if a command follows `vectored advise` without `--`.
fn mend_tip(error: &mut clap::Error) {
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    let has_similar = error.get(ContextKind::SuggestedArg).is_some();
    if is_unknown && !has_similar && subcommand().as_deref() == Some("advise") {
        let tip = "to run a command, put -- before it: vectored advise -- COMMAND";
        let tips = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tips);
    }
}

/// Replaces invalid UTF-8 in the arguments.
fn arguments() -> impl Iterator<Item = String> {
    let arguments = std::env::args_os().skip(1);
    arguments.map(|argument| argument.to_string_lossy().into_owned())
}

/// Finds the subcommand even if other arguments are invalid. Only `--color` may precede the subcommand.
fn subcommand() -> Option<String> {
    let mut arguments = arguments();
    loop {
        let argument = arguments.next()?;
        match argument.as_str() {
            "--color" => drop(arguments.next()),
            option if option.starts_with('-') => {}
            _ => return Some(argument),
        }
    }
}

/// Returns whether another rank prints for this process. Some subcommands have no joint work, and each process prints
/// its own result: `mpirun vectored host` or `srun sh -c 'vectored advise log.$SLURM_PROCID'`.
fn is_silent() -> bool {
    // Without a subcommand, all ranks would print the same help or usage error.
    let is_joint = matches!(
        subcommand().as_deref(),
        None | Some("measure" | "reproduce")
    );
    is_joint && Launch::is_other_rank()
}

fn color() -> ColorChoice {
    let ours: Vec<String> = arguments()
        .take_while(|argument| argument != "--")
        .collect();
    let is_given = |when: &str| {
        let alone = ours.windows(2).any(|pair| pair == ["--color", when]);
        alone || ours.contains(&format!("--color={when}"))
    };
    match ["always", "never"].map(is_given) {
        [true, _] => ColorChoice::Always,
        [_, true] => ColorChoice::Never,
        _ => ColorChoice::Auto,
    }
}

#[cfg(not(target_os = "linux"))]
fn unavailable(command: &Command) -> failure::Failure {
    let (name, system) = match command {
        Command::Advise(_) => ("advise", "Linux"),
        Command::Versus(_) => ("versus", "Linux"),
        Command::Reproduce(_) => ("reproduce", "Unix"),
        _ => ("copy", "Unix"),
    };
    let why = format!("it uses system calls of {system}; run it on such a system");
    failure::Failure::usage(format!("'vectored {name}' is not available here: {why}"))
}

/// Parses `vectored copy` with two names and no options. Without this fast path, clap defines all options in 0.6 ms,
/// and many copies take less time.
#[cfg(unix)]
fn copy_alone() -> Option<args::CopyArgs> {
    let mut words = std::env::args_os().skip(1);
    let is_copy = words.next()? == "copy";
    let names: Vec<OsString> = words.collect();
    let is_name = |word: &OsString| word == "-" || !word.as_encoded_bytes().starts_with(b"-");
    let is_plain = is_copy && names.len() <= 2 && names.iter().all(is_name);
    is_plain.then(|| args::CopyArgs::of(names))
}

fn main() -> ExitCode {
    #[cfg(unix)]
    if let Some(args) = copy_alone() {
        return ended(commands::copy::run(&args));
    }
    color().write_global();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(mut error) => {
            mend_tip(&mut error);
            if is_silent() {
                return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
            }
            if error.use_stderr() {
                let _ = error.print();
                return ExitCode::from(2);
            }
            let printed = print_help(&error).map_err(failure::Failure::from);
            return ended(printed.map(|()| ExitCode::SUCCESS));
        }
    };
    let outcome = match &cli.command {
        Command::Measure(args) => commands::measure::run(args),
        #[cfg(unix)]
        Command::Advise(args) => commands::advise::run(args),
        #[cfg(target_os = "linux")]
        Command::Versus(args) => commands::versus::run(args),
        Command::Host(args) => commands::host::run(args),
        #[cfg(unix)]
        Command::Reproduce(args) => commands::reproduce::run(args),
        #[cfg(unix)]
        Command::Copy(args) => commands::copy::run(args),
        Command::Report(args) => commands::report::run(args),
        Command::Compare(args) => commands::compare::run(args),
        Command::History(args) => commands::history::run(args),
        Command::Completions(args) => commands::completions::run(args),
        Command::Man(args) => commands::man::run(args),
        #[cfg(not(target_os = "linux"))]
        other => Err(unavailable(other)),
    };
    ended(outcome)
}

fn ended(outcome: Result<ExitCode, failure::Failure>) -> ExitCode {
    outcome.unwrap_or_else(|failure| {
        if !is_silent() {
            print_message(&format!("error: {:#}", failure.error));
        }
        ExitCode::from(failure.code)
    })
}
