//! What a run is, and whether it is counted.

use crate::advisor::runs::barriers::Reason;
use crate::advisor::runs::pattern::{FSYNC, LSEEK, Move, Pattern};
use crate::advisor::runs::run::{Moved, Run};
use crate::advisor::runs::run_builder::Outcome;
use crate::model::{FindingKind, Grade};

/// Which direction a run went, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// Reads, not writes.
    pub(crate) is_read: bool,
    /// At offsets that the calls gave.
    pub(crate) is_positional: bool,
    /// Through a pipe or a stream socket.
    pub(crate) is_stream: bool,
    /// Through a datagram socket.
    pub(crate) is_datagram: bool,
}

/// What a run is found to be.
pub(crate) struct Found<'a> {
    pub(crate) kind: FindingKind,
    pub(crate) grade: Grade,
    pub(crate) reason: Option<Reason>,
    pub(crate) pattern: Pattern,
    /// The step of the pattern that the run began with.
    pub(crate) start: usize,
    pub(crate) calls: u64,
    pub(crate) merged_calls: u64,
    pub(crate) moved: Option<&'a Moved>,
}

/// Linux writes no more at once into a pipe without mixing it with what others write.
const PIPE_BUF_BYTES: u64 = 4096;

/// What a run is, and whether it is counted; `has_other_writers` of the pipe that it went to.
pub(crate) fn judge(
    run: &Run,
    merged_calls: u64,
    outcome: Outcome,
    way: Way,
    has_other_writers: bool,
) -> Option<Found<'_>> {
    let own_grade = match run.has_between {
        true => Grade::HarmlessBetween,
        false => Grade::Adjacent,
    };
    let grade = match way.is_read && way.is_stream {
        true => Grade::ReadsAhead,
        false => own_grade,
    };
    let (pattern, start) = run.pattern().canonical();
    let found = Found {
        kind: kind_of(way),
        grade,
        reason: None,
        pattern,
        start,
        calls: run.calls,
        merged_calls,
        moved: Some(&run.gathered),
    };
    let is_merged = merged_calls < run.calls;
    if way.is_datagram {
        let crossed = match outcome {
            Outcome::Crossed(reason) => reason,
            Outcome::Joined | Outcome::Sought => Reason::Datagrams,
        };
        return is_merged.then_some(Found {
            kind: FindingKind::Datagrams,
            grade: Grade::Crossing,
            reason: Some(crossed),
            ..found
        });
    }
    match outcome {
        Outcome::Sought => Some(Found {
            kind: FindingKind::SeekThenTransfer,
            pattern: pattern.with(SEEK, true),
            start: start * pattern.with(SEEK, true).steps().len() / pattern.steps().len().max(1),
            calls: run.calls + run.seeks,
            merged_calls: run.calls,
            moved: None,
            ..found
        }),
        Outcome::Crossed(reason) if is_merged => Some(Found {
            grade: Grade::Crossing,
            reason: Some(reason),
            ..match reason {
                Reason::SyncOwn if !way.is_read => Found {
                    kind: FindingKind::SyncEach,
                    pattern: pattern.with(SYNC, false),
                    start: start * pattern.with(SYNC, false).steps().len()
                        / pattern.steps().len().max(1),
                    ..found
                },
                _ => found,
            }
        }),
        Outcome::Joined if is_merged => {
            let mixes = has_other_writers && run.longest_bytes > PIPE_BUF_BYTES;
            Some(match mixes {
                false => found,
                true => Found {
                    grade: Grade::Crossing,
                    reason: Some(Reason::OtherWriters),
                    ..found
                },
            })
        }
        Outcome::Joined if run.is_all_tiny_lists() => Some(Found {
            grade: own_grade,
            kind: FindingKind::TinySegments,
            moved: Some(&run.alone),
            ..found
        }),
        Outcome::Joined if run.is_split_list() => Some(Found {
            grade: own_grade,
            kind: FindingKind::ManySegments,
            moved: Some(&run.alone),
            ..found
        }),
        Outcome::Joined | Outcome::Crossed(_) => None,
    }
}

const SEEK: Move = Move {
    call: LSEEK,
    size_class: 0,
};

const SYNC: Move = Move {
    call: FSYNC,
    size_class: 0,
};

fn kind_of(way: Way) -> FindingKind {
    match (way.is_read, way.is_positional) {
        (false, false) => FindingKind::AdjacentWrites,
        (false, true) => FindingKind::PositionalWrites,
        (true, false) => FindingKind::SmallReads,
        (true, true) => FindingKind::PositionalReads,
    }
}

pub(crate) fn rests_on_order(kind: FindingKind) -> bool {
    !matches!(
        kind,
        FindingKind::SeekThenTransfer | FindingKind::TinySegments | FindingKind::ManySegments
    )
}
