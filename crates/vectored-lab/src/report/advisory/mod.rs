//! The result of `vectored advise` as a table, Markdown, CSV or JSON: the model in, text out.
//!
//! Every figure in them is in the JSON, or the quotient of two that are.

mod answer;
mod csv;
mod facts;
mod figures;
mod json;
mod markdown;
mod notes;
mod rows;
mod shares;
mod table;

pub use crate::report::advisory::answer::answer;
pub use crate::report::advisory::csv::csv;
pub use crate::report::advisory::figures::seconds as seconds_in_words;
pub use crate::report::advisory::json::json;
pub use crate::report::advisory::markdown::markdown;
pub use crate::report::advisory::table::table;

pub(crate) use crate::report::advisory::facts::{Facts, facts};
pub(crate) use crate::report::advisory::rows::{Item, Listed, Used};

/// Findings that are shown in full by default.
pub const TOP: usize = 10;
