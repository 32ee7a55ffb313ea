//! Random lists, some contiguous in memory, with random models and limits.

use std::io::{self, IoSlice};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use proptest::prelude::*;

use crate::cost::chunking::ChunkPolicy;
use crate::cost::thresholds::CopyThresholds;
use crate::sys::codes;
use crate::sys::limits::Limits;
use crate::testing::{Answer, ScriptedSink, any_limits, any_script, check_place};
use crate::{CostModel, Gather, SegmentCursor};

/// Segments of one memory: the gap before each segment, and its size.
type Cuts = Vec<(usize, usize)>;

fn any_cuts() -> impl Strategy<Value = Cuts> {
    let gap = prop_oneof![3 => Just(0_usize), 1 => Just(1_usize)];
    let size = prop_oneof![1 => Just(0), 4 => 1..8_usize, 3 => 8..40_usize, 1 => 40..120_usize];
    prop::collection::vec((gap, size), 0..14)
}

fn any_gather() -> impl Strategy<Value = Gather> {
    let threshold = prop_oneof![Just(None), (0..60_u32).prop_map(Some), Just(Some(2000))];
    let thresholds = prop::array::uniform7(threshold).prop_map(|bytes| CopyThresholds { bytes });
    let staging_bytes = prop_oneof![Just(0), 1..300_usize];
    let pieces = prop::option::of((0..200_usize, 0..60_usize));
    (thresholds, staging_bytes, pieces, any_limits()).prop_map(
        |(thresholds, staging_bytes, pieces, limits)| {
            let pieces = pieces.map(|(threshold_bytes, chunk_bytes)| ChunkPolicy {
                threshold_bytes,
                chunk_bytes,
            });
            let model = CostModel {
                copy_thresholds: thresholds,
                staging_bytes,
                chunk_policy: pieces,
                ..CostModel::default()
            };
            Gather::within(limits, model)
        },
    )
}

fn memory() -> Vec<u8> {
    (0..2000_usize).map(|i| (i % 251) as u8).collect()
}

fn cut<'m>(memory: &'m [u8], cuts: &Cuts) -> Vec<IoSlice<'m>> {
    let mut at = 0;
    let piece = |&(gap, size): &(usize, usize)| {
        at += gap + size;
        IoSlice::new(&memory[at - size..at])
    };
    cuts.iter().map(piece).collect()
}

fn all_bytes(segments: &[IoSlice<'_>]) -> Vec<u8> {
    segments
        .iter()
        .flat_map(|segment| segment.to_vec())
        .collect()
}

/// Resumes after each error, and compares the arrived bytes after each stop.
fn check(gather: &mut Gather, segments: &[IoSlice<'_>], script: &[Answer]) {
    let model = all_bytes(segments);
    let mut sink = ScriptedSink::new(script.to_vec(), gather.limits());
    let mut cursor = SegmentCursor::new();
    loop {
        let before = sink.taken.len();
        let may_split = || Ok(());
        let result = gather.send_all(segments, &mut cursor, may_split, |slices| sink.call(slices));
        let is_done = result.is_ok();
        let went = result.unwrap_or_else(|error| error.transferred());
        assert_eq!(went, (sink.taken.len() - before) as u64);
        assert_eq!(sink.taken, model[..sink.taken.len()]);
        let left = (model.len() - sink.taken.len()) as u64;
        assert_eq!(cursor.remaining_bytes(segments), left);
        check_place(segments, cursor, is_done || went > 0);
        if is_done {
            break;
        }
    }
    assert_eq!(sink.taken, model);
}

/// Sends the list to a descriptor that preserves message boundaries. Returns the number of bytes, the calls, and
/// the bytes that were taken.
fn sent_as_message(
    gather: &mut Gather,
    segments: &[IoSlice<'_>],
    script: &[Answer],
) -> (Result<u64, u64>, usize, Vec<u8>) {
    let mut sink = ScriptedSink::new(script.to_vec(), gather.limits());
    let mut cursor = SegmentCursor::new();
    let refuse = || Err(io::ErrorKind::InvalidInput.into());
    let result = gather.send_all(segments, &mut cursor, refuse, |slices| sink.call(slices));
    (
        result.map_err(|error| error.transferred()),
        sink.calls,
        sink.taken,
    )
}

proptest! {
    #[test]
    fn lists_of_pieces_arrive_whole_in_order_and_counted(
        mut gather in any_gather(), lists in prop::collection::vec((any_cuts(), any_script()), 1..4)
    ) {
        let memory = memory();
        for (cuts, script) in lists {
            // The first transfer fills the cache of thresholds and allocates the staging buffer of the second
            // transfer.
            check(&mut gather, &cut(&memory, &cuts), &[]);
            check(&mut gather, &cut(&memory, &cuts), &script);
        }
    }

    #[test]
    fn a_message_goes_whole_or_not_at_all_though_interrupted(mut gather in any_gather(), cuts in any_cuts()) {
        let memory = memory();
        let segments = cut(&memory, &cuts);
        let (result, calls, taken) = sent_as_message(&mut gather, &segments, &[]);
        let model = all_bytes(&segments);
        match result {
            Ok(went) => {
                prop_assert_eq!((went, calls), (model.len() as u64, 1));
                prop_assert_eq!(taken, model);
            }
            Err(went) => prop_assert_eq!((went, calls), (0, 0)),
        }
        let interrupted = [Answer::Fail(codes::EINTR); 2];
        let (again, ..) = sent_as_message(&mut gather, &segments, &interrupted);
        prop_assert_eq!(again, result);
    }

    #[test]
    fn after_a_panic_of_the_sink_it_can_be_used_again(
        mut gather in any_gather(), cuts in any_cuts(), after in 0..3_usize, short in 1..40_usize,
        next in any_cuts(), script in any_script(),
    ) {
        let memory = memory();
        let segments = cut(&memory, &cuts);
        let mut calls = 0;
        let sink = |slices: &[IoSlice<'_>]| {
            calls += 1;
            if calls > after {
                resume_unwind(Box::new(()));
            }
            Ok(slices.iter().map(|slice| slice.len()).sum::<usize>().min(short))
        };
        let sending = AssertUnwindSafe(|| {
            let _ = gather.send_all(&segments, &mut SegmentCursor::new(), || Ok(()), sink);
        });
        let _ = catch_unwind(sending);
        check(&mut gather, &cut(&memory, &next), &script);
    }
}

/// The list is sent without copying, because a staged list would take several calls.
#[test]
fn one_piece_that_no_staging_buffer_holds_is_one_message() {
    let memory = memory();
    let segments: Vec<_> = memory.chunks(400).map(IoSlice::new).collect();
    let model = CostModel {
        copy_thresholds: CopyThresholds::everywhere(500),
        staging_bytes: 1000,
        ..CostModel::default()
    };
    let mut gather = Gather::within(Limits::default(), model);
    for script in [vec![], vec![Answer::Fail(codes::EINTR)]] {
        let (result, ..) = sent_as_message(&mut gather, &segments, &script);
        assert_eq!(result, Ok(2000));
    }
}
