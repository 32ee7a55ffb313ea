//! The results of `vectored reproduce`: the model in, a document out.
//!
//! A `Layout` says as data what each experiment shows; one table, one chart and one list of claims are
//! built from it. Every figure is in the JSON.

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
