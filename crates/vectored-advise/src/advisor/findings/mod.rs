//! From runs to rows of a report: counts, descriptors, prices and what can be saved.

pub mod advise;
pub(crate) mod buffers;
pub(crate) mod call_counts;
pub(crate) mod classify;
pub(crate) mod counts;
pub mod merge;
pub(crate) mod name_table;
pub mod named_files;
pub(crate) mod pattern_counts;
pub(crate) mod pending;
pub mod price;
pub(crate) mod row;
pub(crate) mod stream_writes;
pub(crate) mod tallies;
pub(crate) mod tally;
pub(crate) mod uses;
