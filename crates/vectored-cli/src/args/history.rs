//! Options of `vectored history`.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::parsers::{time, whole_number};

pub const HISTORY_ABOUT: &str = "\
List or remove saved results

Lists the results of `vectored measure`, `vectored reproduce` and `vectored advise` in \
$XDG_STATE_HOME/vectored (by default ~/.local/state/vectored), the newest last, with the names \
that `vectored report` and `vectored compare` accept: measure, measure~1 and so on, the \
same for reproduce and advise. \
Results are removed by --prune only.";

pub const HISTORY_AFTER: &str = "\
Examples:
  vectored history
          All saved results
  vectored history --prune 30d --keep 10
          Remove results older than 30 days, but keep the ten newest of each command
  vectored history --prune 0s --dry-run
          List all results that could be removed

Exit status: 0 success, 1 failure, 2 wrong usage. An unreadable file is listed with the \
reason.";

/// Options of `vectored history`.
#[derive(Args, Debug)]
pub struct HistoryArgs {
    /// Format of the list
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = HistoryFormat::Table)]
    pub format: HistoryFormat,

    /// Remove results older than AGE, for example 30d or 12h
    ///
    /// The removed results are listed, and no others. Only complete results that vectored saved are
    /// removed, never other files.
    #[arg(long, value_name = "AGE", value_parser = age, allow_hyphen_values = true)]
    pub prune: Option<Duration>,

    /// With --prune: keep the NUMBER newest results of each of measure, reproduce and advise
    #[arg(
        long,
        value_name = "NUMBER",
        requires = "prune",
        default_value = "0",
        value_parser = whole_number::<usize>,
        allow_negative_numbers = true
    )]
    pub keep: usize,

    /// With --prune: list what would be removed, without removing it
    #[arg(long, requires = "prune")]
    pub dry_run: bool,
}

/// Format of a list of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HistoryFormat {
    /// A list for a terminal
    Table,
    /// For programs
    Json,
}

fn age(text: &str) -> Result<Duration, String> {
    let examples = "30d or 12h";
    // humantime accepts a bare 0, which looks like a number of results.
    if text.contains(|c: char| c.is_ascii_alphabetic()) {
        time(text, examples)
    } else {
        Err(format!(
            "expected a number with its unit, for example {examples}"
        ))
    }
}
