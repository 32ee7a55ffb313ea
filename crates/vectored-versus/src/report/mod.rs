//! The result in words, as a document, and in its saved form.

mod answer;
mod comparison;
mod document;
mod history;
mod saved;

pub use crate::report::answer::{
    answer, failures, limits_in_words, ratio_in_words, stacks_in_words,
};
pub use crate::report::comparison::{compare_versus, versus_comparison_document};
pub use crate::report::document::document;
pub use crate::report::history::{HistoryRow, history_document, history_rows};
