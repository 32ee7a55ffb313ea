//! Options that say where a result goes, in which format, and whether it is saved.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Where a result goes, and in which format.
#[derive(Args, Clone, Debug)]
pub struct OutputArgs {
    /// Format of the result
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,

    /// Write the result to FILE instead of standard output
    ///
    /// An existing file is replaced when the new one is complete, unless it is read-only. - is standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Also write a self-contained web page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Options of a command that saves its result.
#[derive(Args, Clone, Copy, Debug)]
pub struct SavingArgs {
    /// Print the result without saving it
    #[arg(long)]
    pub no_save: bool,

    /// Print only the result and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Format of a result.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Format {
    /// Tables for a terminal
    Table,
    /// The complete result, for programs
    Json,
    /// One line for each row of figures, for spreadsheets
    Csv,
    /// Tables for a document
    Markdown,
}
