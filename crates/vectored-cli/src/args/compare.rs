//! Options of `vectored compare`.

use clap::Args;

use super::output::OutputArgs;
use super::parsers::share;
use crate::results_store::ResultName;

/// The usage line that clap generates does not show that one of two options is required.
const USAGE: &str = "\
vectored compare [OPTIONS] <RESULT>... --against <RESULT>...
       vectored compare [OPTIONS] --machines <RESULT>...";

const AFTER: &str = "\
Examples:
  vectored compare latest~1 --against latest
          The newest run against the one before it
  vectored compare old-*.json --against new-*.json --fail-if-slower 5%
          For continuous integration, with three runs of each version or more
  vectored compare old-*.json --against new-*.json --html changes.html
          The changes as a page
  vectored compare advise~1 --against advise --fail-if-more-calls 1%
          Whether the program makes more calls than before
  vectored compare versus~1 --against versus
          Whether an edit still saves what it saved before
  vectored compare --machines host-*.json --html machines.html
          Differences between machine types, kernels or file systems

Exit status: 0 success, 1 failure, 2 wrong usage; 3 with --fail-if-slower, if any technique \
is significantly slower by at least SHARE, or with --fail-if-more-calls, if the new program makes more calls by more than \
SHARE; 4 if a limit could not be decided.";

/// Compare saved results of two versions of a program, or of several machines
///
/// Base runs are compared with new runs of the same cells. The figure compared is the time of a technique divided by
/// that of the floor in the same round, so that a slower or busier machine does not look like a change. A change is
/// reported only if it exceeds the run-to-run variation within each side. With fewer than three runs on a side this
/// variation is poorly known, and changes below 5 % are not reported: measure each side several times, in alternation.
/// Differences between the environments are listed first.
///
/// Results of advise, one on each side, are compared by their calls: how many move bytes, and which findings came, went
/// or changed, by program, file and call site. --fail-if-more-calls makes a test of the calls that move bytes, where
/// that of `vectored versus` counts all calls, reads and writes. What an edit saves is measured by `vectored versus`.
///
/// Results of versus, one on each side, are compared by the ratios of new to old that each has, and by the calls of
/// new. A change is reported if the two intervals have nothing in common.
///
/// With --machines, the crossovers of results are shown side by side instead, one row for each run and target. Results
/// are named as in `vectored report`.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER, override_usage = USAGE)]
pub struct CompareArgs {
    /// Base results, or with --machines all results: files, latest, latest~1, ...
    #[arg(value_name = "RESULT", required = true)]
    pub result: Vec<ResultName>,

    /// New results, which are compared with the base
    #[arg(long, value_name = "RESULT", num_args = 1.., conflicts_with = "machines")]
    pub against: Vec<ResultName>,

    /// Show crossovers of several machines side by side
    #[arg(long)]
    pub machines: bool,

    /// Exit with status 3 if any technique is significantly slower by at least SHARE, for example 5% or 0.05
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with = "machines")]
    pub fail_if_slower: Option<f64>,

    /// Exit with status 3 if the new program makes more calls that move bytes, by more than SHARE, for example 1% or 0
    ///
    /// For results of advise and versus. A program with threads may make another number of calls in each run.
    #[arg(
        long,
        value_name = "SHARE",
        value_parser = share,
        conflicts_with_all = ["machines", "fail_if_slower"]
    )]
    pub fail_if_more_calls: Option<f64>,

    #[command(flatten)]
    pub output: OutputArgs,
}
