//! Renderings of the results of `vectored reproduce`: the model in, text out.
//!
//! Every figure in them is in the JSON.

mod csv;
mod finding;
mod json;
mod markdown;
mod pictures;
mod sheets;
mod table;

pub use crate::report::experiments::csv::csv;
pub use crate::report::experiments::finding::finding;
pub use crate::report::experiments::json::json;
pub use crate::report::experiments::markdown::markdown;
pub use crate::report::experiments::table::table;

pub(crate) use crate::report::chart::Curve as CurveOf;
pub(crate) use crate::report::experiments::pictures::curves_of;
pub(crate) use crate::report::experiments::sheets::{Sheet, notes, sheets, title};
