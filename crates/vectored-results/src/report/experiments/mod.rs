//! The results of `vectored reproduce`: the model in, a document out.
//!
//! Every figure in it is in the JSON.

mod curves;
mod document;
mod finding;
mod sheets;
mod tooltips;

pub use crate::report::experiments::document::document;
pub use crate::report::experiments::finding::finding;
pub use crate::report::experiments::sheets::other_buffer;
