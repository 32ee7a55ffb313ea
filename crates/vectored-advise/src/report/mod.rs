//! The result of `vectored advise` as a document, and its saved form: the model in, text out.
//!
//! Every figure in them is in the JSON, or the quotient of two that are.

mod answer;
mod comparison;
mod document;
mod figures;
mod notes;
mod rows;
mod saved;

pub use crate::report::answer::{answer, is_worth_an_edit};
pub use crate::report::comparison::{
    ADVICE_COMPARISON_SCHEMA, AdviceComparison, advice_comparison_document, compare_advice,
    compared_in_words,
};
pub use crate::report::document::document;
pub use crate::report::figures::seconds as seconds_in_words;

/// Findings that are shown in full by default.
pub const TOP: usize = 10;
