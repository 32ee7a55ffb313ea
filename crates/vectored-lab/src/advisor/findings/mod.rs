//! From runs to rows of a report: counts, descriptors, prices and what can be saved.

pub mod advise;
pub mod merge;
pub(crate) mod pending;
pub mod price;
pub(crate) mod tally;
pub(crate) mod uses;
