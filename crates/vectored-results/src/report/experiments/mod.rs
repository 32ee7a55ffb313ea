//! The results of `vectored reproduce`: the model in, a document out.
//!
//! A `Layout` says, as data, what the report of an experiment shows. One table, one chart and one list of claims are built from
//! the `Layout`. Every figure is in the JSON.

mod chart;
mod conclude;
mod document;
mod figure;
mod finding;
mod layout;
mod near_fastest;
mod published;

pub use crate::report::experiments::conclude::conclude;
pub use crate::report::experiments::document::document;
pub use crate::report::experiments::published::published;
