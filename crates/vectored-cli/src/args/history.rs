//! Options of `vectored history`.

use clap::Args;

use super::output::OutputArgs;

const AFTER: &str = "\
Examples:
  vectored history
          All saved results
  vectored history --of './prog data' --html times.html
          The times and calls of a command, from commit to commit
  vectored history --format json
          For a program

Exit status: 0 success, 1 failure, 2 wrong usage. An unreadable file is listed with the \
reason.";

/// List saved results
///
/// Lists the results of `vectored measure`, `reproduce`, `advise` and `versus` in $XDG_STATE_HOME/vectored (by default
/// ~/.local/state/vectored), the newest last, with the names that `vectored report` and `vectored compare` accept:
/// measure, measure~1 and so on, the same for the other commands. A result is a file, which rm(1) removes.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub struct HistoryArgs {
    /// Show the results of `vectored versus` in which COMMAND is new, with their commits
    #[arg(long, value_name = "COMMAND")]
    pub of: Option<String>,

    #[command(flatten)]
    pub output: OutputArgs,
}
