//! Renderings of what `vectored advise` found: the model in, text out.
//!
//! Every figure in them is in the JSON, or the quotient of two that are.

mod csv;
mod facts;
mod figures;
mod json;
mod markdown;
mod table;

pub use csv::csv;
pub use facts::answer;
pub use figures::seconds as seconds_in_words;
pub use json::json;
pub use markdown::markdown;
pub use table::table;

pub(super) use facts::{Facts, Item, Left, Used, facts};

/// Findings that are shown in full unless somebody wants more.
pub const TOP: usize = 10;
