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
use clap::error::{ContextKind, ContextValue};
use vectored_lab::report::escape_control;

use args::{Cli, Command};

/// Whatever clap does not know it would have behind `--`, where `vectored advise` takes a command:
/// who believed it would run something else than was meant.
fn mend_tip(error: &mut clap::Error) {
    // No option goes before the subcommand.
    let is_advise = std::env::args_os()
        .nth(1)
        .is_some_and(|name| name == "advise");
    if is_advise && error.remove(ContextKind::Suggested).is_some() {
        let tip = "a command to run stands behind --: vectored advise [OPTIONS] -- COMMAND";
        let tips = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tips);
    }
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(mut error) => {
            mend_tip(&mut error);
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
