//! Decides which kind of finding a run is, and whether it is counted.

use crate::advisor::findings::row::Row;
use crate::advisor::findings::tally::add_in_turn;
use crate::advisor::runs::barriers::Barrier;
use crate::advisor::runs::pattern::{FSYNC, LSEEK, PatternStep};
use crate::advisor::runs::run::{Run, add_counts};
use crate::advisor::runs::run_builder::RunKind;
use crate::model::{FindingKind, Grade, Tally};

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

/// The row of one run; `None` if merging would save no call.
pub(crate) fn classify(run: &mut Run, run_kind: RunKind, mode: TransferMode) -> Option<Row> {
    let merged_calls = run.finish();
    let is_merged = merged_calls < run.calls;
    let own_grade = if run.has_between { Grade::HarmlessBetween } else { Grade::Adjacent };
    let grade = if mode.is_read && mode.is_stream { Grade::ReadsAhead } else { own_grade };
    let usual = match (mode.is_read, mode.is_positional) {
        (false, false) => FindingKind::AdjacentWrites,
        (false, true) => FindingKind::PositionalWrites,
        (true, false) => FindingKind::SmallReads,
        (true, true) => FindingKind::PositionalReads,
    };
    let (kind, grade, reason) = match run_kind {
        _ if mode.is_datagram && !is_merged => return None,
        RunKind::Barrier(reason) if mode.is_datagram => {
            (FindingKind::Datagrams, Grade::Crossing, Some(reason))
        }
        _ if mode.is_datagram => {
            let reason = Some(Barrier::Datagrams);
            (FindingKind::Datagrams, Grade::Crossing, reason)
        }
        RunKind::Sought => (FindingKind::SeekThenTransfer, grade, None),
        RunKind::Barrier(reason) if is_merged => {
            let is_synced = reason == Barrier::SyncOwn && !mode.is_read;
            let kind = if is_synced { FindingKind::SyncEach } else { usual };
            (kind, Grade::Crossing, Some(reason))
        }
        RunKind::Joined if is_merged => (usual, grade, None),
        RunKind::Joined if run.is_all_tiny_lists() => (FindingKind::TinySegments, own_grade, None),
        RunKind::Joined | RunKind::Barrier(_) => return None,
    };
    let (own, start) = run.pattern().canonical();
    let step = |call| PatternStep {
        call,
        size_class: 0,
    };
    let pattern = match kind {
        FindingKind::SeekThenTransfer => own.with(step(LSEEK), true),
        FindingKind::SyncEach => own.with(step(FSYNC), false),
        _ => own,
    };
    let steps = pattern.steps().len();
    let start = start * steps / own.steps().len().max(1);
    let mut tally = Tally {
        runs: 1,
        calls: run.calls,
        bytes: run.bytes,
        merged_calls,
        late_ns: run.late_ns,
        step_bytes: run.ranges(&pattern, start),
        starts: if steps > 1 { vec![0; steps] } else { Vec::new() },
        #[cfg(test)]
        members: vec![run.members.clone()],
        ..Tally::default()
    };
    if let Some(runs) = tally.starts.get_mut(start) {
        *runs = 1;
    }
    for path in &run.order_between {
        add_in_turn(&mut tally.order_between, &String::from_utf8_lossy(path));
    }
    if kind == FindingKind::SeekThenTransfer {
        (tally.calls, tally.merged_calls) = (run.calls + run.seeks, run.calls);
    } else {
        let moved = if kind == FindingKind::TinySegments { &run.alone } else { &run.gathered };
        tally.gathered_calls = run.gathered_calls;
        tally.segments = moved.segments;
        tally.list_calls = moved.list_calls;
        tally.long_list_calls = moved.long_list_calls;
        tally.sizes.clone_from(&moved.sizes);
        tally.list_sizes.clone_from(&moved.list_sizes);
    }
    let mut sites = Vec::new();
    add_counts(&mut sites, &run.sites);
    Some(Row {
        kind,
        grade,
        reason,
        is_read: mode.is_read,
        is_positional: mode.is_positional,
        descriptor: run.descriptor,
        pattern,
        sites,
        tally,
    })
}

pub(crate) fn rests_on_order(kind: FindingKind) -> bool {
    !matches!(
        kind,
        FindingKind::SeekThenTransfer | FindingKind::TinySegments
    )
}
