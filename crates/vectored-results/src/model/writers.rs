//! Several writers at once: threads that write records to one file or pipe, or each to a connection of its own.

use serde::{Deserialize, Serialize};

/// The most writers at once.
pub const MAX_WRITERS: u32 = 256;

/// The bytes at the head of each record that name its writer and its number. A shorter record cannot be checked.
pub const RECORD_HEAD_BYTES: usize = 16;

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
    /// Whether the kernel writes each record whole: see [`RecordCounts`].
    pub whole_records_promised: bool,
    /// The records that were read back: none if another program read them.
    #[serde(flatten)]
    pub records: RecordCounts,
}

/// The records that arrived in a target, those of trials included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordCounts {
    /// Records that were written and looked for.
    pub records: u64,
    /// Records of which the head arrived, but not the whole record in one piece: bytes of other records stand between
    /// its own, or are in their place.
    pub torn: u64,
    /// Records of which not even the head arrived in one piece.
    pub lost: u64,
    /// Whole records that arrived more often than they were written: the surplus.
    pub doubled: u64,
    /// Whole records that arrived before an earlier record of the same writer.
    pub out_of_order: u64,
}

impl RecordCounts {
    /// Whether each record arrived whole, once, and in the order of its writer.
    pub fn is_sound(&self) -> bool {
        self.torn + self.lost + self.doubled + self.out_of_order == 0
    }

    /// Adds the counts of another check.
    pub fn add(&mut self, other: RecordCounts) {
        self.records += other.records;
        self.torn += other.torn;
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.out_of_order += other.out_of_order;
    }
}
