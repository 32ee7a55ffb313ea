//! Renderings of the results of `vectored reproduce`: the model in, text out.
//!
//! Every figure in them is in the JSON.

mod csv;
mod curves;
mod finding;
mod json;
mod markdown;
mod sheets;
mod table;

pub use crate::report::experiments::csv::csv;
pub use crate::report::experiments::finding::finding;
pub use crate::report::experiments::json::json;
pub use crate::report::experiments::markdown::markdown;
pub use crate::report::experiments::table::table;

pub(crate) use crate::report::experiments::curves::experiment_chart;
pub(crate) use crate::report::experiments::sheets::{Sheet, notes, sheets, title};
