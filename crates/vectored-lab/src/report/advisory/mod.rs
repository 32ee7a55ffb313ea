//! Renderings of what `vectored advise` found: the model in, text out.
//!
//! Every figure in them is in the JSON, or the quotient of two that are.

mod csv;
mod facts;
mod figures;
mod json;
mod markdown;
mod table;

pub use crate::report::advisory::csv::csv;
pub use crate::report::advisory::facts::answer;
pub use crate::report::advisory::figures::seconds as seconds_in_words;
pub use crate::report::advisory::json::json;
pub use crate::report::advisory::markdown::markdown;
pub use crate::report::advisory::table::table;

pub(crate) use crate::report::advisory::facts::{Facts, Item, Left, Used, facts};

/// Findings that are shown in full unless somebody wants more.
pub const TOP: usize = 10;
