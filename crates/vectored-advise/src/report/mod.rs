//! The result of `vectored advise` as a document, and as a saved result. This room turns the model into text.
//!
//! Every figure of a document is in the JSON, or is the quotient of two figures in the JSON.

mod answer;
mod comparison;
mod document;
mod figures;
mod notes;
mod rows;
mod saved;

pub use crate::report::answer::is_worth_an_edit;
pub use crate::report::comparison::{AdviceComparison, advice_comparison_document, compare_advice};
pub use crate::report::document::document;
pub use crate::report::figures::seconds as seconds_in_words;

pub const TOP: usize = 10;
