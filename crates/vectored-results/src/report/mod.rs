//! Renderings of results: the model in, documents and text out. No I/O, no clock. Only the JSON is complete.

pub(crate) mod compare;
pub mod experiments;
pub(crate) mod left_out;
pub(crate) mod machines;
pub(crate) mod measured;
mod saved;
pub(crate) mod shape_text;
pub(crate) mod target_names;
pub(crate) mod words;

pub use crate::report::compare::{comparison_csv, comparison_document, limits_in_words};
pub use crate::report::left_out::left_out_in_words;
pub use crate::report::machines::machines_document;
pub use crate::report::measured::document as measured;
pub use crate::report::target_names::conditions_in_words;
pub use crate::report::words::{refused_in_words, unsuited_in_words};
