//! Options of `vectored history`.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::parsers::{time, whole_number};

pub const HISTORY_ABOUT: &str = "\
List the results that were saved here

What `vectored measure`, `vectored reproduce` and `vectored advise` saved under $XDG_STATE_HOME/vectored (by default \
~/.local/state/vectored), newest first, with the names that `vectored report` and `vectored compare` \
take: latest, latest~1 and so on, experiments, experiments~1 for those of reproduce, and advice, \
advice~1 for those of advise. Only --prune removes any.";

pub const HISTORY_AFTER: &str = "\
Examples:
  vectored history
          What can be reported and compared
  vectored history --prune 30d --keep 10
          Remove what is older than 30 days, but keep the ten newest of each kind
  vectored history --prune 0s --dry-run
          List what would be removed if everything were

Exit status: 0 success, 1 failure, 2 wrong usage. A file that cannot be read is listed with the reason.";

/// Options of `vectored history`.
#[derive(Args, Debug)]
pub struct HistoryArgs {
    /// How the list is printed
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = HistoryFormat::Table)]
    pub format: HistoryFormat,

    /// Remove results that are older than this, as 30d or 12h
    ///
    /// They are listed first, and only those are listed. Only complete files of
    /// results that vectored saved here are removed, never another file.
    #[arg(long, value_name = "AGE", value_parser = age, allow_hyphen_values = true)]
    pub prune: Option<Duration>,

    /// With --prune: keep the newest of measure, of reproduce and of advise, so many each
    #[arg(
        long,
        value_name = "NUMBER",
        requires = "prune",
        default_value = "0",
        value_parser = whole_number::<usize>,
        allow_negative_numbers = true
    )]
    pub keep: usize,

    /// With --prune: list what would be removed, and remove nothing
    #[arg(long, requires = "prune")]
    pub dry_run: bool,
}

/// How a list of results is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HistoryFormat {
    /// For people
    Table,
    /// For programs
    Json,
}

fn age(text: &str) -> Result<Duration, String> {
    // humantime takes a bare 0, which looks like a number of results.
    match text.contains(|c: char| c.is_ascii_alphabetic()) {
        true => time(text, "30d or 12h"),
        false => Err("not a time: write a number with its unit, as 30d or 12h".to_owned()),
    }
}
