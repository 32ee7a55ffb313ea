//! From the rows of runs to an advisory: counts, prices and savings.

pub mod advise;
pub(crate) mod buffers;
pub mod merge;
pub mod named_files;
pub(crate) mod pattern_counts;
pub mod price;
pub(crate) mod stream_writes;
pub(crate) mod tallies;
