//! A result in the format that was asked for.

use vectored_report::Document;

use crate::args::Format;
use crate::terminal::Screen;

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
