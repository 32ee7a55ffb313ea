//! What a remedy does with the calls of a finding, and which remedies a finding may have.

use crate::advisor::wording::sentences::{is_record, joins_records};
use crate::model::{FindingKey, FindingKind, Tally};

/// What a remedy does with the calls of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RemedyKind {
    /// One call in place of the calls of a run, or of the pieces of a record: a list, or one joined buffer. No byte stays in
    /// memory after it.
    Join,
    /// A buffer that collects what is written until it is full or flushed.
    WriteBuffer,
    /// One read of exactly the bytes of a run.
    ReadRun,
    /// A buffer that is filled with more than the program asked for.
    ReadAhead,
    /// A change of each call by itself: an offset in place of a seek, a joined list, a longer list, fewer syncs.
    EachCall,
}

/// The kinds of remedies that a finding may have, the best first.
pub fn remedy_kinds(key: &FindingKey, tally: &Tally) -> &'static [RemedyKind] {
    use RemedyKind::{EachCall, Join, ReadAhead, ReadRun, WriteBuffer};
    match key.kind {
        // Of a record no byte may wait for the next one.
        FindingKind::AdjacentWrites if is_record(key, tally) && !joins_records(key, tally) => {
            &[Join]
        }
        FindingKind::AdjacentWrites => &[WriteBuffer, Join],
        FindingKind::Stall => &[Join, WriteBuffer],
        FindingKind::PositionalWrites => &[Join],
        // A buffer would outlive what ended the runs.
        FindingKind::SmallReads if !tally.ends.is_empty() => &[ReadRun],
        FindingKind::SmallReads => &[ReadAhead, ReadRun],
        FindingKind::PositionalReads => &[ReadRun],
        FindingKind::SeekThenTransfer
        | FindingKind::TinySegments
        | FindingKind::ManySegments
        | FindingKind::SyncEach
        | FindingKind::Datagrams
        | FindingKind::PeerStall => &[EachCall],
    }
}
