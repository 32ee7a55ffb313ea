//! `vectored`: measures which way of moving several buffers is fastest on this machine.

#[cfg(unix)]
mod advise_pipeline;
mod args;
mod atomic_file;
mod charset;
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

use std::ffi::OsString;
use std::process::ExitCode;

use args::{Cli, Command};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ColorChoice, CommandFactory, FromArgMatches};
use cluster::Launch;
use target_path::TargetName;
use terminal::{ColorWhen, print_help, print_message, set_color};
use vectored_report::sort;

/// Replaces the tips of clap that lead astray: the best of several subcommands would be its last, an option of another
/// subcommand would be taken for a similar one of this, and `--` would be put before any unknown word, which `vectored advise`
/// would run as a command.
fn mend_tip(error: &mut clap::Error) {
    if let Some(ContextValue::Strings(mut names)) = error.remove(ContextKind::SuggestedSubcommand) {
        names.reverse();
        error.insert(
            ContextKind::SuggestedSubcommand,
            ContextValue::Strings(names),
        );
    }
    let word = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(word))) => word.clone(),
        _ => String::new(),
    };
    let owners = owners_of(&word);
    if let Some(ContextValue::String(similar)) = error.get(ContextKind::SuggestedArg) {
        // `--sizes` is meant by `--size`, and `--pin` not by `--min`.
        if owners.is_none() || similar.starts_with(&word) || word.starts_with(similar.as_str()) {
            return;
        }
        // The usage shows it.
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Usage);
    }
    let words = std::env::args_os().skip_while(|word| word != "advise");
    let traced = command_in(&words.skip(1).collect::<Vec<_>>());
    let tip = match subcommand().as_deref() {
        name if owners.is_some() && (name != Some("advise") || traced.is_none()) => {
            owners.unwrap_or_default()
        }
        Some("advise") => {
            let command = traced.unwrap_or("COMMAND".to_owned());
            format!("to run a command, put -- before it: vectored advise -- {command}")
        }
        Some("measure") => match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(word)) if word.parse::<TargetName>().is_ok() => {
                format!("a target is named with --target: vectored measure --target {word}")
            }
            _ => return,
        },
        Some("reproduce") if error.kind() == ErrorKind::InvalidSubcommand => {
            let names = Cli::command();
            let names = names.find_subcommand("reproduce");
            let names = names.into_iter().flat_map(clap::Command::get_subcommands);
            let names: Vec<&str> = names.map(clap::Command::get_name).collect();
            format!("the experiments are {}", names.join(", "))
        }
        _ => {
            // Only `vectored advise` takes words after it.
            let is_dashes = |tip: &ContextValue| tip.to_string().contains("'-- ");
            if error.get(ContextKind::Suggested).is_some_and(is_dashes) {
                error.remove(ContextKind::Suggested);
            }
            return;
        }
    };
    if matches!(
        error.kind(),
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand
    ) {
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
fn color() -> ColorWhen {
    let ours = arguments().take_while(|argument| argument != "--");
    let mut ours = ours.skip_while(|argument| !argument.starts_with("--color"));
    let value = match ours.next() {
        Some(alone) if alone == "--color" => ours.next(),
        joined => joined.and_then(|text| Some(text.strip_prefix("--color=")?.to_owned())),
    };
    match value.as_deref() {
        Some("always") => ColorWhen::Always,
        Some("never") => ColorWhen::Never,
        _ => ColorWhen::Auto,
    }
}

fn parse() -> Result<Cli, clap::Error> {
    let choice = match color() {
        ColorWhen::Auto => ColorChoice::Auto,
        ColorWhen::Always => ColorChoice::Always,
        ColorWhen::Never => ColorChoice::Never,
    };
    let matches = Cli::command().color(choice).try_get_matches()?;
    Cli::from_arg_matches(&matches)
}

/// Whether a program of this name can be found.
#[cfg(unix)]
fn is_program(name: &OsString) -> bool {
    strace::find(name).is_ok()
}

/// No command is traced on Windows.
#[cfg(windows)]
fn is_program(_name: &OsString) -> bool {
    false
}

/// The command that `words` name if `--` was forgotten, as in `vectored advise make -j2`.
fn command_in(words: &[OsString]) -> Option<String> {
    let first = words.first()?;
    let is_option = first.as_encoded_bytes().starts_with(b"-");
    if is_option || words.iter().any(|word| word == "--") || !is_program(first) {
        return None;
    }
    let words = words.iter().map(|word| {
        let word = word.to_string_lossy();
        if word.contains(char::is_whitespace) || word.is_empty() {
            format!("'{word}'")
        } else {
            word.into_owned()
        }
    });
    Some(words.collect::<Vec<_>>().join(" "))
}

/// The refusal of a subcommand that is not built for this system.
#[cfg(not(target_os = "linux"))]
fn unavailable(command: &Command) -> failure::Failure {
    let (name, why) = match command {
        Command::Advise(_) => (
            "advise",
            "it explains system calls of Linux with times that it measures there: run it on Linux",
        ),
        Command::Versus(_) => ("versus", "it counts system calls of Linux: run it on Linux"),
        _ => (
            "copy",
            "it is the program that 'vectored reproduce apue-3.5' runs on Unix: run it there",
        ),
    };
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
    let cli = match parse() {
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
    set_color(cli.color);
    let outcome = match &cli.command {
        Command::Measure(args) => commands::measure::run(args),
        #[cfg(unix)]
        Command::Advise(args) => commands::advise::run(args),
        #[cfg(target_os = "linux")]
        Command::Versus(args) => commands::versus::run(args),
        Command::Host(args) => commands::host::run(args),
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
