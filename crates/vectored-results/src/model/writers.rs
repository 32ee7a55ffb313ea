//! Several writers at once: threads that write lists, called records, to one file or pipe, or each to a connection of its own.

use serde::{Deserialize, Serialize};

/// The most writers at once.
pub const MAX_WRITERS: u32 = 256;

/// The figures of several writers that use one technique.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WriterFigures {
    /// For each writer the time of a record: from the common start of a sample to the end of this writer,
    /// divided by its records; median over the rounds.
    pub writer_median_ns: Vec<f64>,
    /// Records of all writers in a second of wall time: from the common start to the end of the last
    /// writer, median over the rounds.
    pub records_per_s: f64,
    /// Bytes that all writers together write in a second: `records_per_s` × the bytes of a record.
    pub bytes_per_s: f64,
    /// Jain's fairness index of the writers' rates x: (Σx)² ÷ (n Σx²); median over the rounds. 1 if all rates
    /// are equal, 1/n if one writer has everything (Jain, Chiu and Hawe 1984).
    pub fairness: f64,
    /// The lowest index of a round.
    pub fairness_min: f64,
}
