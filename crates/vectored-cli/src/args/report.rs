//! Options of `vectored report`.

use std::path::PathBuf;

use clap::Args;

use crate::results_store::ResultName;

const AFTER: &str = "\
Examples:
  vectored report
          The newest result, as a table
  vectored report measure reproduce --html report.html
          The newest measurement and the newest experiments, as one page
  vectored report host-a.json host-b.json --html both.html
          Two machines on one page
  vectored report --markdown tables.md
          For a README

Exit status: 0 success, 1 failure, 2 wrong usage.";

/// Show saved results as tables or a web page
///
/// A result is a file that `vectored measure`, `vectored reproduce` or `vectored advise` saved, or the name of one.
/// latest is the newest result, and latest~1 the one before it; measure, reproduce and advise are the newest of each
/// command, and measure~1 the one before it. `vectored history` lists them.
///
/// Without options, tables are printed. The web page is one file that works offline. It shows the conclusions, a map of
/// the fastest technique by segment count and size, charts, all figures, the environment, and the experiments.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub struct ReportArgs {
    /// Saved results: files, or names such as latest, latest~1, measure or advise~1
    #[arg(value_name = "RESULT", default_value = "latest")]
    pub result: Vec<ResultName>,

    /// Write a self-contained web page; - is standard output
    ///
    /// An existing file is replaced when the new one is complete, unless it is read-only. This also applies
    /// to the other options.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Write the result as markdown, for a document
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// Write CSV: one line for each cell and technique, finding or row
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
}
