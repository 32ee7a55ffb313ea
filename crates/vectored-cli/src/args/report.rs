//! Options of `vectored report`.

use std::path::PathBuf;

use clap::Args;

use crate::results_store::ResultName;

pub const REPORT_ABOUT: &str = "\
Show saved results again: as a page, charts or tables

A result is a file that `vectored measure`, `vectored reproduce` or `vectored advise` saved, or a name of \
one: latest is the newest run of measure that was saved here, latest~1 the one before; experiments and \
experiments~1 are those of reproduce, advice and advice~1 those of advise. `vectored history` lists them.

Without an option the table is printed. The page is one file that needs no network: the answer, a map \
of what wins by segment count and size, curves, every figure, the environment, the samples of each \
cell on demand, and experiments beside.";

pub const REPORT_AFTER: &str = "\
Examples:
  vectored report
          The newest result, as a table
  vectored report latest experiments --html report.html
          The newest run with the published experiments, for colleagues
  vectored report host-a.json host-b.json --html both.html
          Two machines in one page
  vectored report --svg charts.svg --markdown tables.md
          For a README or a paper

Exit status: 0 success, 1 failure, 2 wrong usage.";

/// Options of `vectored report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// A saved result: a file, latest, latest~1, experiments, advice, ...
    #[arg(value_name = "RESULT", default_value = "latest")]
    pub result: Vec<ResultName>,

    /// Write a page that stands alone; - is standard output
    ///
    /// A file that is there is replaced once the new one is complete, unless it
    /// is read-only, as with the other options.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Write the maps and charts as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,

    /// Write the tables for a document
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// Write lines of values for spreadsheets: one a cell and technique, a finding or a row
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
}
