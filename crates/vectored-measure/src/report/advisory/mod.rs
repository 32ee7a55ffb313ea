//! The result of `vectored advise` as a document or JSON: the model in, text out.
//!
//! Every figure in them is in the JSON, or the quotient of two that are.

mod answer;
mod document;
mod facts;
mod figures;
mod json;
mod notes;
mod rows;
mod shares;

pub use crate::report::advisory::answer::answer;
pub use crate::report::advisory::document::document;
pub use crate::report::advisory::figures::seconds as seconds_in_words;
pub use crate::report::advisory::json::json;

/// Findings that are shown in full by default.
pub const TOP: usize = 10;
