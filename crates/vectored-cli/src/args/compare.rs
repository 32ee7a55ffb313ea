//! Options of `vectored compare`.

use std::path::PathBuf;

use clap::Args;

use super::format::{A_CELL_EACH, Format, formats};
use super::parsers::share;
use crate::results_store::ResultName;

pub const COMPARE_ABOUT: &str = "\
Compare results: did anything become slower, do machines differ

Runs of a base are compared with new runs of the same cells. What is compared is a technique's time / \
the floor's of the same round, so that a machine which is busier altogether makes no difference. A \
change is reported if it is significant, given what runs of one side differ by. With fewer than three \
runs a side that is hardly known, and no change under 5 % is reported: measure both several times, in \
turn. What differs in the environment comes first.

With --machines results are set beside each other instead: crossovers and cost models, a row a run. \
Results are named as in `vectored report`.";

/// What clap makes of it does not show that one of the two is needed.
pub const COMPARE_USAGE: &str = "\
vectored compare [OPTIONS] <RESULT>... --against <RESULT>...
       vectored compare [OPTIONS] --machines <RESULT>...";

pub const COMPARE_AFTER: &str = "\
Examples:
  vectored compare latest~1 --against latest
          The last run with the one before
  vectored compare old-*.json --against new-*.json --fail-if-slower 5%
          For continuous integration: three runs of each or more
  vectored compare --machines host-*.json --html machines.html
          How machine types, kernels or file systems differ

Exit status: 0 success, 1 failure, 2 wrong usage; 3 with --fail-if-slower, when something became \
slower by as much.";

/// Options of `vectored compare`.
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// Results of the base, or of the machines: files, latest, latest~1, ...
    #[arg(value_name = "RESULT", required = true)]
    pub result: Vec<ResultName>,

    /// The new results
    #[arg(long, value_name = "RESULT", num_args = 1.., conflicts_with = "machines")]
    pub against: Vec<ResultName>,

    /// Set crossovers and cost models of these results beside each other
    #[arg(long)]
    pub machines: bool,

    /// Exit with 3 if something became significantly slower, by as much, as 5% or 0.05
    #[arg(
        long,
        value_name = "SHARE",
        value_parser = share,
        conflicts_with = "machines",
        allow_hyphen_values = true
    )]
    pub fail_if_slower: Option<f64>,

    /// With --machines: write a page of all of them
    #[arg(long, value_name = "FILE", requires = "machines")]
    pub html: Option<PathBuf>,

    /// How the result is printed
    #[arg(long, value_name = "FORMAT", value_parser = formats(A_CELL_EACH), default_value = "table")]
    pub format: Format,

    /// Write the result to this file instead of standard output
    ///
    /// A file that is there is replaced once the new one is complete, unless it
    /// is read-only. - is standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
