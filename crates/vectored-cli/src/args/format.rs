//! `--format` of the subcommands that print figures.

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people, at a terminal
    Table,
    /// Everything, for programs
    Json,
    /// Lines of values, for spreadsheets; [`formats`] says of what
    Csv,
    /// Tables for a document
    Markdown,
}

/// A line of CSV where runs of `vectored measure` are shown.
pub const A_CELL_EACH: &str = "One line a cell and technique, for spreadsheets";

/// The formats, and what a line of CSV is of: that differs between subcommands.
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
