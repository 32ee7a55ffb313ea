//! Decides which kind of finding a run is, and whether it is counted.

use crate::advisor::descriptors::fd_kind::FdKind;
use crate::advisor::findings::row::Row;
use crate::advisor::findings::tally::add_in_turn;
use crate::advisor::runs::barriers::Barrier;
use crate::advisor::runs::pattern::{FSYNC, LSEEK, PatternStep};
use crate::advisor::runs::run::{Mode, Run, add_counts};
use crate::advisor::runs::run_builder::Link;
use crate::model::{FindingKind, Grade, Tally};

/// The row of one run; `None` if merging would save no call.
pub(crate) fn classify(mut run: Run, link: Link, mode: Mode) -> Option<Row> {
    let merged_calls = run.finish();
    let is_datagram = mode.kind == FdKind::Datagram;
    let is_merged = merged_calls < run.calls;
    let own_grade = if run.has_between { Grade::HarmlessBetween } else { Grade::Adjacent };
    let grade = if mode.is_read && mode.kind.has_peer() { Grade::ReadsAhead } else { own_grade };
    let usual = match (mode.is_read, mode.is_positional) {
        (false, false) => FindingKind::AdjacentWrites,
        (false, true) => FindingKind::PositionalWrites,
        (true, false) => FindingKind::SmallReads,
        (true, true) => FindingKind::PositionalReads,
    };
    let (kind, grade, reason) = match link {
        _ if is_datagram && !is_merged => return None,
        _ if is_datagram => {
            let reason = match link {
                Link::Barrier(reason) => reason,
                _ => Barrier::Datagrams,
            };
            (FindingKind::Datagrams, Grade::Crossing, Some(reason))
        }
        Link::Sought => (FindingKind::SeekThenTransfer, grade, None),
        Link::Barrier(reason) if is_merged => {
            let is_synced = reason == Barrier::SyncOwn && !mode.is_read;
            let kind = if is_synced { FindingKind::SyncEach } else { usual };
            (kind, Grade::Crossing, Some(reason))
        }
        Link::Joined if is_merged => (usual, grade, None),
        Link::Joined if run.is_all_tiny_lists() => (FindingKind::TinySegments, own_grade, None),
        _ => return None,
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
    let (calls, merged_calls, moved) = match kind {
        FindingKind::SeekThenTransfer => (run.calls + run.seeks, run.calls, Tally::default()),
        FindingKind::TinySegments => (run.calls, merged_calls, std::mem::take(&mut run.alone)),
        _ => (run.calls, merged_calls, std::mem::take(&mut run.gathered)),
    };
    let mut tally = Tally {
        runs: 1,
        calls,
        bytes: run.bytes,
        merged_calls,
        late_ns: run.late_ns,
        descriptor: run.descriptor,
        step_bytes: run.ranges(&pattern, start),
        starts: if steps > 1 { vec![0; steps] } else { Vec::new() },
        #[cfg(test)]
        members: vec![run.members],
        ..moved
    };
    if let Some(runs) = tally.starts.get_mut(start) {
        *runs = 1;
    }
    for path in &run.order_between {
        add_in_turn(&mut tally.order_between, &String::from_utf8_lossy(path));
    }
    let mut sites = Vec::new();
    add_counts(&mut sites, &run.sites);
    Some(Row {
        kind,
        grade,
        reason,
        is_read: mode.is_read,
        is_positional: mode.is_positional,
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
