//! The command line, with a file for each subcommand.

mod advise;
mod axes;
mod compare;
mod completions;
mod copy;
mod history;
mod host;
mod man;
mod measure;
mod output;
mod parsers;
mod report;
mod reproduce;
mod versus;

use clap::{ColorChoice, Parser, Subcommand};

pub use advise::AdviseArgs;
#[cfg(unix)]
pub use advise::Source;
pub use compare::CompareArgs;
pub use completions::CompletionsArgs;
pub use copy::CopyArgs;
#[cfg(unix)]
pub use copy::CopyWith;
pub use history::HistoryArgs;
pub use host::HostArgs;
pub use man::ManArgs;
pub use measure::MeasureArgs;
pub use output::{Format, OutputArgs};
pub use report::ReportArgs;
pub use reproduce::ReproduceArgs;
#[cfg(unix)]
pub use reproduce::{CopiesArgs, Experiments, PassesArgs};
pub use versus::VersusArgs;

/// Find the small reads and writes of a program, and the fastest way to move several buffers
///
/// advise finds calls that one larger call could replace, and versus proves what an edit saves.
/// measure compares a call for each buffer, a copy of all into one buffer, and writev(2): which is
/// fastest depends on the sizes, the machine, the kernel and the target. copy copies files and streams.
#[derive(Debug, Parser)]
#[command(name = "vectored", version, max_term_width = 100, after_long_help = ENVIRONMENT)]
pub struct Cli {
    /// When to print colours: always is also in files and pipes
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        display_order = 900
    )]
    pub color: ColorChoice,

    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

const ENVIRONMENT: &str = "\
Environment:
  XDG_STATE_HOME
          Results are saved in $XDG_STATE_HOME/vectored; by default in \
~/.local/state/vectored. On Windows: in %LOCALAPPDATA%\\vectored
  COLUMNS
          Width of tables, on a terminal and in pipes and files; by default the width of the \
terminal, or 100
  NO_COLOR, CLICOLOR, CLICOLOR_FORCE, TERM
          With --color auto, colours are off if NO_COLOR is set, if CLICOLOR is 0, or if \
TERM is dumb. CLICOLOR_FORCE=1 turns colours on in pipes, too, unless NO_COLOR is \
set

If standard output is closed (>&-), or its disk is full, a command that prints to it ends with \
exit status 1.";

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    Measure(Box<MeasureArgs>),
    Host(HostArgs),
    Reproduce(Box<ReproduceArgs>),
    Copy(CopyArgs),
    Advise(Box<AdviseArgs>),
    Versus(Box<VersusArgs>),
    Report(ReportArgs),
    Compare(CompareArgs),
    History(HistoryArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
