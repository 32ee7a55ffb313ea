//! Decides which kind of finding a run is, and whether it is counted.

use crate::advisor::runs::barriers::Barrier;
use crate::advisor::runs::pattern::{FSYNC, LSEEK, Pattern, PatternStep};
use crate::advisor::runs::run::{MovedSegments, Run};
use crate::advisor::runs::run_builder::RunKind;
use crate::model::{FindingKind, Grade};

/// Direction and means of the transfers of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransferMode {
    /// Reads, not writes.
    pub(crate) is_read: bool,
    /// At offsets that the calls gave.
    pub(crate) is_positional: bool,
    /// Through a pipe or a stream socket.
    pub(crate) is_stream: bool,
    /// Through a datagram socket.
    pub(crate) is_datagram: bool,
}

pub(crate) struct Found<'a> {
    pub(crate) kind: FindingKind,
    pub(crate) grade: Grade,
    pub(crate) reason: Option<Barrier>,
    pub(crate) pattern: Pattern,
    /// Index of the step that the run began with.
    pub(crate) start: usize,
    pub(crate) calls: u64,
    pub(crate) merged_calls: u64,
    pub(crate) moved: Option<&'a MovedSegments>,
}

/// Decides which kind of finding a run is; `None` if merging would save no call.
pub(crate) fn classify(
    run: &Run,
    merged_calls: u64,
    run_kind: RunKind,
    mode: TransferMode,
) -> Option<Found<'_>> {
    let own_grade = if run.has_between { Grade::HarmlessBetween } else { Grade::Adjacent };
    let grade = if mode.is_read && mode.is_stream { Grade::ReadsAhead } else { own_grade };
    let (pattern, start) = run.pattern().canonical();
    let found = Found {
        kind: kind_of(mode),
        grade,
        reason: None,
        pattern,
        start,
        calls: run.calls,
        merged_calls,
        moved: Some(&run.gathered),
    };
    let is_merged = merged_calls < run.calls;
    if mode.is_datagram {
        let crossed = match run_kind {
            RunKind::Barrier(reason) => reason,
            RunKind::Joined | RunKind::Sought => Barrier::Datagrams,
        };
        return is_merged.then_some(Found {
            kind: FindingKind::Datagrams,
            grade: Grade::Crossing,
            reason: Some(crossed),
            ..found
        });
    }
    match run_kind {
        RunKind::Sought => Some(Found {
            kind: FindingKind::SeekThenTransfer,
            pattern: pattern.with(SEEK, true),
            start: start * pattern.with(SEEK, true).steps().len() / pattern.steps().len().max(1),
            calls: run.calls + run.seeks,
            merged_calls: run.calls,
            moved: None,
            ..found
        }),
        RunKind::Barrier(reason) if is_merged => Some(Found {
            grade: Grade::Crossing,
            reason: Some(reason),
            ..match reason {
                Barrier::SyncOwn if !mode.is_read => Found {
                    kind: FindingKind::SyncEach,
                    pattern: pattern.with(SYNC, false),
                    start: start * pattern.with(SYNC, false).steps().len()
                        / pattern.steps().len().max(1),
                    ..found
                },
                _ => found,
            }
        }),
        RunKind::Joined if is_merged => Some(found),
        RunKind::Joined if run.is_all_tiny_lists() => Some(Found {
            grade: own_grade,
            kind: FindingKind::TinySegments,
            moved: Some(&run.alone),
            ..found
        }),
        RunKind::Joined if run.is_split_list() => Some(Found {
            grade: own_grade,
            kind: FindingKind::ManySegments,
            moved: Some(&run.alone),
            ..found
        }),
        RunKind::Joined | RunKind::Barrier(_) => None,
    }
}

const SEEK: PatternStep = PatternStep {
    call: LSEEK,
    size_class: 0,
};

const SYNC: PatternStep = PatternStep {
    call: FSYNC,
    size_class: 0,
};

fn kind_of(mode: TransferMode) -> FindingKind {
    match (mode.is_read, mode.is_positional) {
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
