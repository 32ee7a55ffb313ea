//! The command line: one file for each subcommand.

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

use clap::{Parser, Subcommand};

use crate::terminal::ColorWhen;
use advise::{ADVISE_ABOUT, ADVISE_AFTER, ADVISE_USAGE};
use compare::{COMPARE_ABOUT, COMPARE_AFTER, COMPARE_USAGE};
use completions::{COMPLETIONS_ABOUT, COMPLETIONS_AFTER};
use copy::{COPY_ABOUT, COPY_AFTER};
use history::{HISTORY_ABOUT, HISTORY_AFTER};
use host::{HOST_ABOUT, HOST_AFTER};
use man::{MAN_ABOUT, MAN_AFTER};
use measure::{MEASURE_ABOUT, MEASURE_AFTER, MEASURE_USAGE};
use report::{REPORT_ABOUT, REPORT_AFTER};
use reproduce::{REPRODUCE_ABOUT, REPRODUCE_AFTER};
use versus::{VERSUS_ABOUT, VERSUS_AFTER};

pub use advise::AdviseArgs;
#[cfg(unix)]
pub use advise::Source;
pub use compare::CompareArgs;
pub use completions::CompletionsArgs;
pub use copy::CopyArgs;
#[cfg(unix)]
pub use copy::{CopyWith, MAX_BUFFER_BYTES};
pub use history::HistoryArgs;
pub use host::HostArgs;
pub use man::ManArgs;
pub use measure::MeasureArgs;
pub use output::{Format, OutputArgs};
pub use report::ReportArgs;
pub use reproduce::{CopiesArgs, Experiments, PassesArgs, ReproduceArgs};
#[cfg(target_os = "linux")]
pub use versus::StdoutTo;
pub use versus::VersusArgs;

/// Find the small reads and writes of a program, and the fastest way to move several buffers
///
/// advise finds calls that one larger call could replace, and versus proves what an edit saves.
/// measure compares a call for each buffer, a copy of all into one buffer, and writev(2): which is
/// fastest depends on the sizes, the machine, the kernel and the target. copy copies files and streams.
#[derive(Debug, Parser)]
#[command(name = "vectored", version, max_term_width = 100, after_long_help = ENVIRONMENT)]
pub struct Cli {
    /// When to print colours
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        display_order = 900
    )]
    pub color: ColorWhen,

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
  LC_ALL, LC_CTYPE, LANG
          If the first of these that is set names no UTF-8 locale (for example C), tables \
and messages are ASCII: us for microseconds, +- for plus or minus. JSON, \
CSV, Markdown and web pages are always UTF-8

If standard output is closed (>&-), or its disk is full, a command that prints to it ends with \
exit status 1.";

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find the fastest technique for each segment count and size
    #[command(long_about = MEASURE_ABOUT, after_long_help = MEASURE_AFTER, override_usage = MEASURE_USAGE)]
    Measure(Box<MeasureArgs>),
    /// Show the limits and features of this machine: iovec limits, io_uring, O_DIRECT
    #[command(long_about = HOST_ABOUT, after_long_help = HOST_AFTER)]
    Host(HostArgs),
    /// Repeat published experiments and compare their figures with this machine
    #[command(long_about = REPRODUCE_ABOUT, after_long_help = REPRODUCE_AFTER)]
    Reproduce(Box<ReproduceArgs>),
    /// Copy a file or stream
    #[command(long_about = COPY_ABOUT, after_long_help = COPY_AFTER)]
    Copy(CopyArgs),
    /// Find system calls in a program that one larger call could replace
    #[command(long_about = ADVISE_ABOUT, after_long_help = ADVISE_AFTER, override_usage = ADVISE_USAGE)]
    Advise(Box<AdviseArgs>),
    /// Compare two commands: their time, memory, system calls and output
    #[command(long_about = VERSUS_ABOUT, after_long_help = VERSUS_AFTER)]
    Versus(Box<VersusArgs>),
    /// Show saved results as tables or a web page
    #[command(long_about = REPORT_ABOUT, after_long_help = REPORT_AFTER)]
    Report(ReportArgs),
    /// Compare saved results of two versions, or of several machines
    #[command(long_about = COMPARE_ABOUT, after_long_help = COMPARE_AFTER, override_usage = COMPARE_USAGE)]
    Compare(CompareArgs),
    /// List or remove saved results
    #[command(long_about = HISTORY_ABOUT, after_long_help = HISTORY_AFTER)]
    History(HistoryArgs),
    /// Print a script that completes the options in a shell
    #[command(long_about = COMPLETIONS_ABOUT, after_long_help = COMPLETIONS_AFTER)]
    Completions(CompletionsArgs),
    /// Show the manual page of vectored or of a subcommand
    #[command(long_about = MAN_ABOUT, after_long_help = MAN_AFTER)]
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
