//! Options that say where a result goes, in which format, and whether it is saved.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use vectored_report::FORMATS;

/// Where a result goes, and in which format.
#[derive(Args, Clone, Debug)]
pub struct OutputArgs {
    /// Format of the result
    #[arg(long, value_name = "FORMAT", value_parser = formats(), default_value = "table")]
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
#[derive(Clone, Copy, Debug)]
pub enum Format {
    /// Tables for a terminal.
    Table,
    /// The complete result.
    Json,
    /// One line for each row of figures.
    Csv,
    /// A document for other programs.
    Document(&'static vectored_report::Format),
}

fn formats() -> impl TypedValueParser<Value = Format> {
    let value = |name: &'static str, about: &'static str| PossibleValue::new(name).help(about);
    let values = [
        value("table", "Tables for a terminal"),
        value("json", "The complete result, for programs"),
        value("csv", "One line for each row of figures, for spreadsheets"),
    ];
    let documents = FORMATS.iter().map(|one| value(one.name, one.about));
    PossibleValuesParser::new(values.into_iter().chain(documents)).map(|name| {
        let mut documents = FORMATS.iter();
        match (&*name, documents.find(|one| one.name == name)) {
            (_, Some(format)) => Format::Document(format),
            ("json", _) => Format::Json,
            ("csv", _) => Format::Csv,
            _ => Format::Table,
        }
    })
}
