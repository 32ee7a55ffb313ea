//! Renderings of what `vectored reproduce` found: the model in, text out.
//!
//! Every figure in them is in the JSON.

mod csv;
mod finding;
mod json;
mod markdown;
mod pictures;
mod sheets;
mod table;

pub use csv::csv;
pub use finding::finding;
pub use json::json;
pub use markdown::markdown;
pub use table::table;

pub(super) use super::chart::Curve as CurveOf;
pub(super) use pictures::curves_of;
pub(super) use sheets::{Sheet, notes, sheets, title};
