//! `--format` of the subcommands that print figures.

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Format of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables for a terminal
    Table,
    /// The complete result, for programs
    Json,
    /// Lines of values for spreadsheets; [`formats`] names the unit of a line
    Csv,
    /// Tables for a document
    Markdown,
}

/// Help of `csv` for results of `vectored measure`.
pub const CSV_OF_CELLS: &str = "One line for each cell and technique, for spreadsheets";

/// Parses a format. `csv` is the help of [`Format::Csv`], whose lines differ between subcommands.
pub fn formats(csv: &'static str) -> impl TypedValueParser<Value = Format> {
    let formats = Format::value_variants().iter().map(move |format| {
        let value = format.to_possible_value().expect("none is left out");
        match format {
            Format::Csv => value.help(csv),
            _ => value,
        }
    });
    PossibleValuesParser::new(formats)
        .map(|name| Format::from_str(&name, false).expect("one of the possible values"))
}
