//! Renderings of results: the model in, documents and text out. No I/O, no clock.
//!
//! [`document`] is for people, in each of the formats of [`vectored_report`]; [`csv`](csv()) for spreadsheets and
//! [`json()`] for programs. Only [`json()`] is complete, and [`parse`] reads it back.

pub mod advisory;
pub(crate) mod asynchronous;
pub(crate) mod compare;
pub(crate) mod crossover_text;
pub(crate) mod csv;
pub mod experiments;
pub(crate) mod json;
pub(crate) mod left_out;
pub(crate) mod machines;
pub(crate) mod measured;
pub(crate) mod ranks;
pub(crate) mod scaling;
pub(crate) mod shape_text;
pub(crate) mod target_names;
pub(crate) mod validate;
pub(crate) mod words;
pub(crate) mod writers;

use vectored_report::Document;

use crate::model::Saved;

pub use crate::report::compare::{comparison_csv, comparison_document, comparison_json};
pub use crate::report::csv::csv;
pub use crate::report::json::{ParseError, json, parse, parse_saved};
pub use crate::report::left_out::{LeftOutWords, left_out_in_words};
pub use crate::report::machines::machines_document;
pub use crate::report::measured::document as measured;
pub use crate::report::target_names::conditions_in_words;
pub use crate::report::words::unsuited_in_words;
pub use crate::text::format::{bytes_in_words, escape_control, grouped, list_in_words};

/// A saved result as a document.
pub fn document(saved: &Saved) -> Document {
    match saved {
        Saved::Results(results) => measured(results, None),
        Saved::Experiments(found) => experiments::document(found),
        Saved::Advisory(found) => advisory::document(found, advisory::TOP),
    }
}
