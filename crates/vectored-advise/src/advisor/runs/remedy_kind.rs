//! What a remedy does with the calls of a finding, and which remedies a finding may have.

use crate::advisor::runs::barriers::Barrier;
use crate::languages::RemedyKind;
use crate::model::{FindingKey, FindingKind, Tally};

/// Whether a remedy may be printed despite a barrier between calls of the same open file description. `None`: it may
/// not. `Some(None)`: it may. `Some(Some(call))`: it may, if no byte is in a buffer when the program makes `call`.
pub(crate) fn verdict(end: Barrier, remedy: RemedyKind) -> Option<Option<&'static str>> {
    let is_read = matches!(remedy, RemedyKind::ReadRun | RemedyKind::ReadAhead);
    match (remedy, end) {
        (RemedyKind::EachCall, _) => Some(None),
        (RemedyKind::ReadAhead, Barrier::Gap | Barrier::ClockSetBack) => Some(None),
        // Bytes that entered the buffer before the barrier may be old after the barrier.
        (RemedyKind::ReadAhead, _) => None,
        // The writing thread makes no call at the barrier, so it cannot flush before the barrier.
        (RemedyKind::WriteBuffer, end) if end.is_elsewhere() => None,
        (RemedyKind::Join | RemedyKind::ReadRun | RemedyKind::WriteBuffer, end) => {
            Some(end.before(is_read))
        }
    }
}

/// The kinds of remedies for a kind of finding, the best first, without regard to barriers.
pub(crate) fn kinds_of(kind: FindingKind, is_record: bool) -> &'static [RemedyKind] {
    use RemedyKind::{EachCall, Join, ReadAhead, ReadRun, WriteBuffer};
    match kind {
        // No byte of a record may wait for the next record.
        FindingKind::AdjacentWrites if is_record => &[Join],
        FindingKind::AdjacentWrites => &[WriteBuffer],
        FindingKind::Stall => &[Join, WriteBuffer],
        FindingKind::PositionalWrites => &[Join],
        FindingKind::SmallReads => &[ReadAhead, ReadRun],
        FindingKind::PositionalReads => &[ReadRun],
        FindingKind::SeekThenTransfer
        | FindingKind::PeerStall
        | FindingKind::TinySegments
        | FindingKind::SyncEach
        | FindingKind::Datagrams => &[EachCall],
    }
}

/// The kinds of remedies that a finding may have, the best first.
pub(crate) fn remedy_kinds(key: &FindingKey, tally: &Tally) -> Vec<RemedyKind> {
    let is_record = is_record(key.steps.len(), tally);
    let kinds = kinds_of(key.kind, is_record).iter().copied();
    let may_have = |kind: &RemedyKind| *kind != RemedyKind::ReadAhead || tally.ends.is_empty();
    kinds.filter(may_have).collect()
}

/// The most calls of a run that is a record. Longer runs are streams.
const RECORD_CALLS: u64 = 16;

/// Whether a merged call has one record. The runs of a record are short, and have each step once in most runs, or have
/// a step that is too large for a buffer of several records. A stream that a buffer would collect has long runs.
pub(crate) fn is_record(pieces: usize, tally: &Tally) -> bool {
    let pieces = pieces as u64;
    let most = RECORD_CALLS.min(pieces + pieces / 2);
    let is_short = tally.calls <= tally.runs.saturating_mul(most);
    pieces > 1
        && tally.calls <= tally.merged_calls.saturating_mul(most)
        && (is_short || has_large_step(tally))
}

/// From this size on, in bytes, a step is better referenced than copied.
const LARGE_BYTES: u64 = 2048;

pub(crate) fn has_large_step(tally: &Tally) -> bool {
    let is_large = |&(least, _): &(u64, u64)| least >= LARGE_BYTES;
    tally.step_bytes.iter().any(is_large) && !tally.step_bytes.iter().all(is_large)
}
