//! Long lists into a pipe, with and without a pause between them, by a clock that the tests set.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use crate::descriptor::borrowed::RawDescriptor;
use crate::gather::pace::{MAX_GAP, Pace};
use crate::testing::{Answer, any_script, check_against_model, list, payload};
use crate::transfer::write_loop::Sink;
use crate::{ChunkPolicy, CostModel, Gather, SegmentCursor, TargetKind};

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

thread_local! {
    static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static CLOCK_READS: Cell<usize> = const { Cell::new(0) };
}

fn now() -> Instant {
    CLOCK_READS.set(CLOCK_READS.get() + 1);
    *START + NOW.get()
}

fn pause(time: Duration) {
    NOW.set(NOW.get() + time);
}

fn gather_for(model: CostModel) -> Gather {
    let mut gather = Gather::new(model);
    gather.pace = Pace::with_clock(now);
    gather
}

fn pipe_gather() -> Gather {
    gather_for(CostModel::default_for(TargetKind::Pipe))
}

/// Takes everything and keeps the bytes of each call; each call lasts longer than a pause.
struct Calls {
    descriptor: Option<RawDescriptor>,
    bytes: Vec<usize>,
}

impl Sink for Calls {
    fn take_all(
        &mut self,
        slices: &[IoSlice<'_>],
        _: usize,
        _: bool,
    ) -> Result<(), io::Result<usize>> {
        self.call(slices).map(drop).map_err(Err)
    }

    fn call(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        pause(10 * MAX_GAP);
        let bytes = slices.iter().map(|slice| slice.len()).sum();
        self.bytes.push(bytes);
        Ok(bytes)
    }

    fn descriptor(&self) -> Option<RawDescriptor> {
        self.descriptor
    }
}

/// The bytes of the calls for a list of these sizes, and how often it was asked whether it may be split.
fn calls_to(
    gather: &mut Gather,
    descriptor: Option<RawDescriptor>,
    sizes: &[usize],
) -> (Vec<usize>, usize) {
    let data = payload(sizes);
    let mut sink = Calls {
        descriptor,
        bytes: Vec::new(),
    };
    let mut asked = 0;
    let may_split = || {
        asked += 1;
        Ok(())
    };
    let mut cursor = SegmentCursor::new();
    let sent = gather.send_from(&list(&data), &mut cursor, may_split, &mut sink);
    assert_eq!(sent.unwrap(), sizes.iter().sum::<usize>() as u64);
    assert!(cursor.is_at_end(&data));
    (sink.bytes, asked)
}

fn calls_of(gather: &mut Gather, sizes: &[usize]) -> Vec<usize> {
    calls_to(gather, Some(3), sizes).0
}

impl<S: Sink> Sink for &mut S {
    fn take_all(
        &mut self,
        slices: &[IoSlice<'_>],
        bytes: usize,
        may_adjoin: bool,
    ) -> Result<(), io::Result<usize>> {
        (**self).take_all(slices, bytes, may_adjoin)
    }

    fn call(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        (**self).call(slices)
    }

    fn descriptor(&self) -> Option<RawDescriptor> {
        (**self).descriptor()
    }
}

/// 25,000 bytes: the second of a burst goes in pieces.
const LIST: [usize; 10] = [2500; 10];

/// Writes the first list of a burst, which goes whole.
fn begin_burst(gather: &mut Gather, descriptor: Option<RawDescriptor>) {
    assert_eq!(calls_to(gather, descriptor, &LIST), (vec![25_000], 0));
}

#[test]
fn lists_without_a_pause_go_in_pieces() {
    let mut gather = pipe_gather();
    begin_burst(&mut gather, Some(3));
    for _ in 0..3 {
        pause(MAX_GAP);
        assert_eq!(calls_of(&mut gather, &LIST), [7500, 7500, 10_000]);
    }
    // The last piece may be half as long again, but the first of two is not.
    assert_eq!(calls_of(&mut gather, &[1000; 17]), [8000, 9000]);
    assert_eq!(calls_of(&mut gather, &[1000; 15]), [8000, 7000]);
    assert_eq!(calls_of(&mut gather, &[12_289]), [8192, 4097]);
}

#[test]
fn a_pause_ends_a_burst() {
    let mut gather = pipe_gather();
    for _ in 0..2 {
        begin_burst(&mut gather, Some(3));
        assert_eq!(calls_of(&mut gather, &LIST).len(), 3);
        pause(MAX_GAP + Duration::from_nanos(1));
    }
    for _ in 0..10 {
        assert_eq!(calls_of(&mut gather, &LIST), [25_000]);
        pause(2 * MAX_GAP);
    }
}

#[test]
fn a_list_of_a_burst_goes_by_the_same_calls_whatever_it_begins_with() {
    let mut gather = pipe_gather();
    begin_burst(&mut gather, Some(3));
    for sizes in [
        [vec![10; 100], vec![6000, 6000, 6000]].concat(),
        vec![10; 1900],
        vec![100, 200, 18_700],
        vec![19_000],
    ] {
        let bytes: usize = sizes.iter().sum();
        let calls = calls_of(&mut gather, &sizes);
        assert_eq!(calls.len(), 2, "{sizes:?}: {calls:?}");
        assert_eq!(calls.iter().sum::<usize>(), bytes);
        assert!(calls[0] <= 8192, "{calls:?}");
    }
}

#[test]
fn short_lists_and_other_models_read_no_clock() {
    CLOCK_READS.set(0);
    let mut gather = pipe_gather();
    for _ in 0..100 {
        for sizes in [
            vec![4096],
            vec![1000; 12],
            vec![10; 1000],
            vec![5, 6, 12_000],
        ] {
            assert_eq!(calls_of(&mut gather, &sizes).len(), 1, "{sizes:?}");
        }
    }
    let mut gather = gather_for(CostModel::default_for(TargetKind::Socket));
    for _ in 0..10 {
        assert_eq!(calls_of(&mut gather, &[5000; 100]), [500_000]);
    }
    assert_eq!(CLOCK_READS.get(), 0);
    // Two a list.
    let mut gather = pipe_gather();
    (0..10).for_each(|_| drop(calls_of(&mut gather, &LIST)));
    assert_eq!(CLOCK_READS.get(), 19);
}

#[test]
fn short_lists_within_a_burst_go_whole() {
    let mut gather = pipe_gather();
    begin_burst(&mut gather, Some(3));
    for _ in 0..3 {
        assert_eq!(calls_of(&mut gather, &LIST).len(), 3);
        for sizes in [vec![4000; 3], vec![10; 1228], vec![50, 60, 12_000], vec![8]] {
            assert_eq!(calls_of(&mut gather, &sizes).len(), 1, "{sizes:?}");
            assert_eq!(calls_of(&mut gather, &sizes).len(), 1, "{sizes:?}");
        }
        assert!(calls_of(&mut gather, &[]).is_empty());
        assert!(calls_of(&mut gather, &[0; 20]).is_empty());
        begin_burst(&mut gather, Some(3));
    }
}

/// A write of up to `PIPE_BUF` bytes, which a pipe never mixes with those of other writers, stays one call.
#[test]
fn no_model_of_pieces_splits_what_a_pipe_takes_as_one() {
    for chunk_bytes in [0, 1, 100, 4096] {
        let pieces = Some(ChunkPolicy {
            threshold_bytes: 65_536,
            chunk_bytes,
        });
        let mut gather = gather_for(CostModel {
            chunk_policy: pieces,
            ..CostModel::default()
        });
        for _ in 0..100 {
            assert_eq!(calls_of(&mut gather, &[1024; 4]), [4096], "{chunk_bytes}");
        }
    }
}

#[test]
fn a_descriptor_is_asked_once_in_a_burst_whether_it_takes_a_list_in_several_calls() {
    let mut gather = pipe_gather();
    for (descriptor, later) in [(Some(3), 0), (Some(4), 0), (Some(3), 0), (None, 1)] {
        begin_burst(&mut gather, descriptor);
        for expected in [1, later, later] {
            let (calls, asked) = calls_to(&mut gather, descriptor, &LIST);
            assert_eq!((calls.len(), asked), (3, expected), "{descriptor:?}");
        }
    }
}

#[test]
fn a_descriptor_that_keeps_messages_apart_gets_the_list_of_a_burst_whole() {
    let refuse = || Err(io::ErrorKind::InvalidInput.into());
    let mut gather = pipe_gather();
    let mut sink = Calls {
        descriptor: Some(3),
        bytes: Vec::new(),
    };
    let data = payload(&LIST);
    for _ in 0..5 {
        let mut cursor = SegmentCursor::new();
        let sent = gather.send_from(&list(&data), &mut cursor, refuse, &mut sink);
        assert_eq!(sent.unwrap(), 25_000);
    }
    assert_eq!(sink.bytes, [25_000; 5]);
    // One that always goes in pieces is refused as ever.
    let data = payload(&[2500; 14]);
    let sent = gather.send_from(&list(&data), &mut SegmentCursor::new(), refuse, &mut sink);
    assert_eq!(sent.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    assert_eq!(sink.bytes.len(), 5);
}

/// A writer that waits until the pipe has room resumes the list, and its end is the end of that.
#[test]
fn the_end_of_a_resumed_list_is_the_end_of_a_list() {
    let mut gather = pipe_gather();
    let data = payload(&LIST);
    let segments = list(&data);
    for round in 0..5 {
        let mut cursor = SegmentCursor::new();
        let mut calls = 0;
        let mut first = true;
        let full = gather.send_all(
            &segments,
            &mut cursor,
            || Ok(()),
            |slices| {
                calls += 1;
                match std::mem::take(&mut first) {
                    true => Ok(slices[0].len()),
                    false => Err(io::ErrorKind::WouldBlock.into()),
                }
            },
        );
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::WouldBlock);
        pause(100 * MAX_GAP);
        let sink = |slices: &[IoSlice<'_>]| {
            calls += 1;
            Ok(slices.iter().map(|slice| slice.len()).sum())
        };
        let rest = gather.send_all(&segments, &mut cursor, || Ok(()), sink);
        assert!(rest.is_ok() && cursor.is_at_end(&segments));
        let in_pieces = round >= 1;
        assert_eq!(calls, if in_pieces { 5 } else { 3 }, "{round}");
    }
}

/// Sizes of lists around what is short, what goes whole and what a burst may have.
fn any_long_sizes() -> impl Strategy<Value = Vec<usize>> {
    let size = prop_oneof![Just(0), 1..60_usize, 300..3000_usize, 6000..20_000_usize];
    prop::collection::vec(size, 0..14)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn lists_at_any_pace_arrive_whole_in_order_and_counted(
        lists in prop::collection::vec(
            (any_long_sizes(), any_script(), prop::bool::weighted(0.2)), 1..12
        ),
    ) {
        let mut gather = pipe_gather();
        for (sizes, script, pauses) in lists {
            // Each answer of some bytes stands for kilobytes.
            let script: Vec<Answer> = script
                .into_iter()
                .map(|answer| match answer {
                    Answer::Take(bytes) => Answer::Take(bytes.saturating_mul(100)),
                    answer => answer,
                })
                .collect();
            let limits = gather.limits();
            check_against_model(&sizes, &script, limits, |segments, cursor, sink| {
                gather.send_all(segments, cursor, || Ok(()), |slices| sink.call(slices))
            });
            if pauses {
                pause(2 * MAX_GAP);
            }
        }
    }
}
