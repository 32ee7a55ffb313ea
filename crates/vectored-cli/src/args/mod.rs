//! What was typed. What it means is [`crate::measure_plan`]'s.

mod advise;
mod compare;
mod copy;
mod format;
mod history;
mod host;
mod measure;
mod parsers;
mod report;
mod reproduce;

use clap::{Parser, Subcommand};

use crate::terminal::ColorWhen;
use advise::{ADVISE_ABOUT, ADVISE_AFTER, ADVISE_USAGE};
use compare::{COMPARE_ABOUT, COMPARE_AFTER, COMPARE_USAGE};
use copy::{COPY_ABOUT, COPY_AFTER};
use history::{HISTORY_ABOUT, HISTORY_AFTER};
use host::{HOST_ABOUT, HOST_AFTER};
use measure::{MEASURE_ABOUT, MEASURE_AFTER, MEASURE_USAGE};
use report::{REPORT_ABOUT, REPORT_AFTER};
use reproduce::{REPRODUCE_ABOUT, REPRODUCE_AFTER};

pub use advise::AdviseArgs;
pub use compare::CompareArgs;
pub use copy::{CopyArgs, CopyWith, MAX_BUFFER_BYTES};
pub use format::Format;
pub use history::{HistoryArgs, HistoryFormat};
pub use host::{HostArgs, HostFormat};
pub use measure::MeasureArgs;
pub use report::ReportArgs;
pub use reproduce::{CopyTo, ReproduceArgs};

/// Which technique moves several buffers fastest, on this machine?
///
/// A program that has its bytes in several buffers can send each with a call
/// of its own, copy them together first, or hand them all to writev(2). Which
/// is best depends on the sizes, the machine, the kernel and the target.
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

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const ENVIRONMENT: &str = "\
Standard output that is closed (>&-) counts as /dev/null: results are saved, and the exit status is
that of a run whose output was written.

Environment:
  XDG_STATE_HOME
          Results are saved in its directory vectored; by default ~/.local/state
  COLUMNS
          Width of tables, whether they go to a terminal, a pipe or a file; by default
          that of the terminal, or 100
  NO_COLOR, CLICOLOR, CLICOLOR_FORCE, TERM
          With --color auto there are no colours if NO_COLOR is set, CLICOLOR is 0 or TERM is
          dumb; CLICOLOR_FORCE=1 prints them into pipes, too
  LC_ALL, LC_CTYPE, LANG
          If the first that is set names no UTF-8 (C, for example), tables and messages are
          ASCII: us for microseconds, +- for plus or minus, coarse lines in plots.
          JSON, CSV, Markdown, SVG and pages are always UTF-8";

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure the techniques for a grid of segment counts and sizes
    #[command(long_about = MEASURE_ABOUT, after_long_help = MEASURE_AFTER, override_usage = MEASURE_USAGE)]
    Measure(Box<MeasureArgs>),
    /// Show what this machine offers: limits, io_uring, flags of pwritev2, O_DIRECT
    #[command(long_about = HOST_ABOUT, after_long_help = HOST_AFTER)]
    Host(HostArgs),
    /// Run the published experiments, beside their figures
    #[command(long_about = REPRODUCE_ABOUT, after_long_help = REPRODUCE_AFTER)]
    Reproduce(Box<ReproduceArgs>),
    /// Copy standard input to standard output
    #[command(long_about = COPY_ABOUT, after_long_help = COPY_AFTER)]
    Copy(CopyArgs),
    /// Find where gathering would help a program, from its system calls
    #[command(long_about = ADVISE_ABOUT, after_long_help = ADVISE_AFTER, override_usage = ADVISE_USAGE)]
    Advise(Box<AdviseArgs>),
    /// Show saved results again: as a page, charts or tables
    #[command(long_about = REPORT_ABOUT, after_long_help = REPORT_AFTER)]
    Report(ReportArgs),
    /// Compare results: did anything become slower, do machines differ
    #[command(long_about = COMPARE_ABOUT, after_long_help = COMPARE_AFTER, override_usage = COMPARE_USAGE)]
    Compare(CompareArgs),
    /// List the results that were saved here
    #[command(long_about = HISTORY_ABOUT, after_long_help = HISTORY_AFTER)]
    History(HistoryArgs),
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
