//! `vectored`: measures which technique moves several buffers fastest, here.

mod again;
mod analysis;
mod args;
mod commands;
mod failure;
mod interrupt;
mod list;
mod notes;
mod place;
mod plan;
mod progress;
mod reproduction;
mod save;
mod saved;
mod strace;
mod synthetic;
mod terminal;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use vectored_lab::report::escape_control;

use args::{Cli, Command};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to standard output, the rest is an error.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let outcome = match &cli.command {
        Command::Measure(args) => commands::measure::run(args),
        Command::Advise(args) => commands::advise::run(args),
        Command::Host(args) => commands::host::run(args),
        Command::Reproduce(args) => commands::reproduce::run(args),
        Command::Copy(args) => commands::copy::run(args),
        Command::Report(args) => commands::report::run(args),
        Command::Compare(args) => commands::compare::run(args),
        Command::History(args) => commands::history::run(args),
    };
    outcome.unwrap_or_else(|failure| {
        let message = escape_control(&format!("{:#}", failure.error));
        let _ = writeln!(std::io::stderr(), "error: {message}");
        ExitCode::from(failure.code)
    })
}
