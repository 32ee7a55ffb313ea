//! A result in the format that was asked for.

use vectored_report::Document;

use crate::args::Format;
use crate::output_file::OutputFile;
use crate::terminal::{Screen, are_read_together};

/// The text of a result: its document, JSON or CSV. With `details`, a terminal shows all of the document.
pub fn rendered(
    format: Format,
    (screen, details): (Screen, bool),
    document: impl FnOnce() -> Document,
    json: impl FnOnce() -> String,
    csv: impl FnOnce() -> String,
) -> String {
    match format {
        Format::Table => screen.show(&document(), details),
        Format::Json => json(),
        Format::Csv => csv(),
        Format::Document(format) => (format.render)(&document()),
    }
}

/// Whether the answer of a document is printed where messages are printed, too.
pub fn is_read_with_messages(format: Format, output: Option<&OutputFile>) -> bool {
    let has_answer = matches!(format, Format::Table | Format::Document(_));
    has_answer && output.is_none() && are_read_together()
}
