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
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use cluster::Launch;
use terminal::{print_help, print_message};
use vectored_report::sort;

/// Replaces the tip of clap for an option that another subcommand has, and for a command after `vectored advise` without `--`.
fn mend_tip(error: &mut clap::Error) {
    let word = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(word))) => word.clone(),
        _ => return,
    };
    let owners = owners_of(&word);
    let similar = error.get(ContextKind::SuggestedArg);
    // `--sizes` is meant by `--size`, and `--pin` not by `--min`.
    if similar.is_some_and(|name| owners.is_none() || name.to_string().starts_with(&word)) {
        return;
    }
    let is_command = || subcommand().as_deref() == Some("advise");
    let to_run = "to run a command, put -- before it: vectored advise -- COMMAND";
    if let Some(tip) = owners.or_else(|| is_command().then(|| to_run.to_owned())) {
        // The usage would show what clap suggests.
        if error.remove(ContextKind::SuggestedArg).is_some() {
            error.remove(ContextKind::Usage);
        }
        let tips = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tips);
    }
}

/// The subcommands that have an option: `--min is an option of vectored reproduce apue-3.5`.
fn owners_of(option: &str) -> Option<String> {
    let name = option.strip_prefix("--")?;
    let mut owners: Vec<String> = Vec::new();
    let mut left = vec![(String::from("vectored"), Cli::command())];
    while let Some((path, command)) = left.pop() {
        let has_option = command
            .get_arguments()
            .any(|arg| arg.get_long() == Some(name));
        owners.extend(has_option.then(|| path.clone()));
        let nested = command.get_subcommands();
        left.extend(nested.map(|one| (format!("{path} {}", one.get_name()), one.clone())));
    }
    sort::sort(&mut owners);
    (!owners.is_empty()).then(|| format!("{option} is an option of {}", owners.join(", ")))
}

/// The command-line arguments, with invalid UTF-8 replaced.
fn arguments() -> impl Iterator<Item = String> {
    let arguments = std::env::args_os().skip(1);
    arguments.map(|argument| argument.to_string_lossy().into_owned())
}

/// The subcommand, even if other arguments are invalid. Only `--color` may precede it.
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

/// Whether this process is one of several that do the same work, and not the first, which speaks for all. Other commands
/// are run by each process for itself, as `mpirun vectored host` or `srun sh -c 'vectored advise log.$SLURM_PROCID'`.
fn is_silent() -> bool {
    // Without a subcommand: help and wrong usage, which are the same for all.
    let is_joint = matches!(
        subcommand().as_deref(),
        None | Some("measure" | "reproduce")
    );
    is_joint && Launch::is_other_rank()
}

/// The value of `--color`, even if other arguments are invalid: clap colours its own messages.
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

/// The refusal of a subcommand that is not built for this system.
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

/// The arguments of `vectored copy` without options. A copy is often shorter than the definition of all options takes, 0.6 ms.
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

/// The exit status; a failure is printed.
fn ended(outcome: Result<ExitCode, failure::Failure>) -> ExitCode {
    outcome.unwrap_or_else(|failure| {
        if !is_silent() {
            print_message(&format!("error: {:#}", failure.error));
        }
        ExitCode::from(failure.code)
    })
}
