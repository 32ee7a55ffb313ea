//! `--format` of the subcommands that print figures.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use vectored_report::FORMATS;

/// Format of a result.
#[derive(Clone, Copy, Debug)]
pub enum Format {
    /// Tables for a terminal.
    Table,
    /// The complete result, for programs.
    Json,
    /// Lines of values for spreadsheets.
    Csv,
    /// One of [`FORMATS`].
    Document(&'static vectored_report::Format),
}

/// Help of `csv` for results of `vectored measure`.
pub const CSV_OF_CELLS: &str = "One line for each cell and technique, for spreadsheets";

/// Parses a format. `csv` is the help of [`Format::Csv`], whose lines differ between subcommands; without it there is none.
pub fn formats(csv: Option<&'static str>) -> impl TypedValueParser<Value = Format> {
    let value = |name: &'static str, about: &'static str| PossibleValue::new(name).help(about);
    let values = [
        value("table", "Tables for a terminal"),
        value("json", "The complete result, for programs"),
    ];
    let csv = csv.map(|about| value("csv", about));
    let documents = FORMATS.iter().map(move |one| value(one.name, one.about));
    PossibleValuesParser::new(values.into_iter().chain(csv).chain(documents)).map(|name| {
        let mut documents = FORMATS.iter();
        match (&*name, documents.find(|one| one.name == name)) {
            (_, Some(format)) => Format::Document(format),
            ("json", _) => Format::Json,
            ("csv", _) => Format::Csv,
            _ => Format::Table,
        }
    })
}
