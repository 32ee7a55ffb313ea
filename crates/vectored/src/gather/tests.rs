//! Tests of the calls and of the memory of a `Gather`.

use super::*;
use crate::cost::TargetKind;
use crate::cost::thresholds::CopyThresholds;
use crate::testing::{list, payload};

fn gather_within(limits: Limits, copy_below_bytes: usize, staging_bytes: usize) -> Gather {
    let model = CostModel {
        copy_thresholds: CopyThresholds::everywhere(copy_below_bytes as u32),
        staging_bytes,
        ..CostModel::default()
    };
    Gather::within(limits, model)
}

fn gather_with_staging(staging_bytes: usize) -> Gather {
    Gather::with_model(CostModel {
        staging_bytes,
        ..CostModel::default()
    })
}

pub(super) fn entries_of_calls(gather: &mut Gather, segments: &[IoSlice<'_>]) -> Vec<Vec<usize>> {
    let mut calls: Vec<Vec<usize>> = Vec::new();
    let mut cursor = SegmentCursor::new();
    let sink = |slices: &[IoSlice<'_>]| {
        let entries: Vec<usize> = slices.iter().map(|slice| slice.len()).collect();
        let bytes = entries.iter().sum();
        calls.push(entries);
        Ok(bytes)
    };
    let sent = gather.send_all(segments, &mut cursor, || Ok(()), sink);
    let bytes: usize = segments.iter().map(|segment| segment.len()).sum();
    assert_eq!(sent.unwrap(), bytes as u64);
    assert!(cursor.is_at_end(segments));
    calls
}

fn calls_of(sizes: &[usize]) -> usize {
    entries_of_calls(&mut Gather::default(), &list(&payload(sizes))).len()
}

#[test]
fn a_list_that_is_one_piece_is_passed_as_it_is() {
    let data = payload(&[60]).concat();
    let touching = [&data[0..10], &data[10..20], &data[20..25], &data[25..50]];
    let limits = Limits {
        segments: 4,
        bytes: 50,
    };
    let mut gather = gather_within(limits, 100, 50);
    let calls = entries_of_calls(&mut gather, &touching.map(IoSlice::new));
    assert_eq!(calls, [[10, 10, 5, 25]]);
    assert_eq!(gather.fast_path.staging.capacity(), 0, "nothing is copied");
}

#[test]
fn small_segments_go_by_the_staging_buffer_and_large_ones_by_iov_max() {
    for (count, size, calls) in [
        (1, 50, 1),
        (1025, 50, 1),
        (3000, 50, 1),
        // 1,000,000 bytes need four buffers of 256 KiB.
        (10_000, 100, 4),
        (1024, 1000, 1),
        (1025, 1000, 2),
        (2048, 1000, 2),
        (3000, 1000, 3),
    ] {
        assert_eq!(calls_of(&vec![size; count]), calls, "{count} × {size}");
    }
}

#[test]
fn a_run_and_what_is_behind_it_are_as_many_entries_however_many() {
    for count in 1..20 {
        let sizes = [vec![10, 20], vec![50_000; count]].concat();
        let data = payload(&sizes);
        let entries = entries_of_calls(&mut Gather::default(), &list(&data)).concat();
        assert_eq!(entries, [vec![30], vec![50_000; count]].concat());
    }
}

#[test]
fn a_list_of_more_than_28_kib_goes_into_a_pipe_in_chunks() {
    let calls_of = |sizes: &[usize]| -> Vec<usize> {
        let mut gather = Gather::with_model(CostModel::for_target(TargetKind::Pipe));
        let data = payload(sizes);
        let calls = entries_of_calls(&mut gather, &list(&data));
        calls.iter().map(|entries| entries.iter().sum()).collect()
    };
    for whole in [
        vec![28_672],
        vec![4096; 7],
        vec![64; 448],
        vec![64, 100, 28_508],
    ] {
        assert_eq!(calls_of(&whole), [28_672]);
    }
    // The last chunk may be up to 1.5 times as long as a usual chunk. If more bytes are left, the next chunk has
    // the usual length.
    assert_eq!(calls_of(&[28_673]), [8192, 8192, 8192, 4097]);
    assert_eq!(calls_of(&[1000; 29]), [8192, 8192, 8192, 4424]);
    assert_eq!(calls_of(&[2500; 13]), [8192, 8192, 8192, 7924]);
    assert_eq!(calls_of(&[32_769]), [8192, 8192, 8192, 8193]);
    assert_eq!(calls_of(&[4096; 9]), [8192, 8192, 8192, 12_288]);
    let whole_chunks = [&[8192; 8][..], &[4464]].concat();
    assert_eq!(calls_of(&[7000; 10]), whole_chunks);
    assert_eq!(calls_of(&[64; 513]), [8192, 8192, 8192, 8256]);
    // The first segments of these lists are shorter than the later segments.
    let header_and_body = calls_of(&[64, 100, 32_605]);
    assert_eq!(header_and_body, [8192, 8192, 8192, 8193]);
    assert_eq!(calls_of(&[16, 8192].repeat(16))[..3], [8192, 8192, 8192]);
    let growing = [vec![8; 100], vec![1000; 70]].concat();
    assert_eq!(calls_of(&growing)[..2], [8192; 2]);
    for sizes in [
        [&[10; 100][..], &[9300; 3]].concat(),
        vec![10; 2900],
        vec![100, 200, 28_500],
    ] {
        assert_eq!(calls_of(&sizes).len(), 4, "{sizes:?}");
    }
}

/// A pipe takes a write of up to `PIPE_BUF` bytes atomically (pipe(7)), so the write must stay one call.
#[test]
fn no_policy_splits_what_a_pipe_takes_as_one() {
    for chunk_bytes in [0, 1, 100, 4096] {
        let mut gather = Gather::with_model(CostModel {
            chunk_policy: Some(crate::cost::chunking::ChunkPolicy {
                threshold_bytes: 0,
                chunk_bytes,
            }),
            ..CostModel::default()
        });
        let mut calls_of = |count| {
            let data = payload(&vec![1024; count]);
            entries_of_calls(&mut gather, &list(&data)).len()
        };
        assert_eq!(calls_of(4), 1, "{chunk_bytes}");
        assert!(calls_of(5) > 1, "{chunk_bytes}");
    }
}

#[test]
fn pieces_that_are_longer_than_the_list_are_no_reason_to_copy_less() {
    let pieces = Some(crate::cost::chunking::ChunkPolicy {
        threshold_bytes: 0,
        chunk_bytes: 8192,
    });
    let mut gather = Gather::with_model(CostModel {
        chunk_policy: pieces,
        ..CostModel::default()
    });
    let data = payload(&[8; 1000]);
    for _ in 0..2 {
        assert_eq!(entries_of_calls(&mut gather, &list(&data)), [[8000]]);
    }
}

#[test]
fn a_chunk_is_copied_as_a_list_of_so_many_segments_would_be() {
    let mut thresholds = CopyThresholds::everywhere(10);
    thresholds.set(8, Some(1000)).unwrap();
    let mut gather = Gather::with_model(CostModel {
        copy_thresholds: thresholds,
        ..CostModel::for_target(TargetKind::Pipe)
    });
    let data = payload(&[1000; 12]);
    let calls = entries_of_calls(&mut gather, &list(&data));
    assert_eq!(calls, [vec![1000; 12]]);
    let data = payload(&[1000; 67]);
    let calls = entries_of_calls(&mut gather, &list(&data));
    // The rest of each chunk is a part of the next segment.
    assert_eq!(calls[..2], [[8000, 192], [7808, 384]]);
}

#[test]
fn working_memory_is_kept_and_does_not_grow() {
    let mut gather = Gather::default();
    let sizes: Vec<usize> = (0..4000).map(|i| [10, 20, 5000, 30][i % 4]).collect();
    let data = payload(&sizes);
    let segments = list(&data);
    let sink = crate::testing::null_device();
    let memory = |gather: &Gather| {
        let (staging, iovecs) = (&gather.fast_path.staging, &gather.iovecs);
        (
            (staging.as_ptr(), staging.capacity()),
            (iovecs.as_ptr(), iovecs.capacity()),
        )
    };
    gather.write_all(&sink, &segments).unwrap();
    let first = memory(&gather);
    assert!(
        first.1.1 > 0,
        "the list must need an array for this to say anything"
    );
    for _ in 0..10 {
        gather.write_all(&sink, &segments).unwrap();
        assert_eq!(memory(&gather), first);
    }
}

#[test]
fn lists_that_are_not_copied_allocate_no_staging_buffer() {
    let sink = crate::testing::null_device();
    let mut gather = gather_with_staging(0);
    gather
        .write_all(&sink, &list(&payload(&[10; 100])))
        .unwrap();
    let memory = (
        gather.fast_path.staging.capacity(),
        gather.iovecs.capacity(),
    );
    assert_eq!(memory, (0, 0));
    // A list of large segments, the rest of this list, and a list with a single small segment need no staging.
    let mut gather = Gather::default();
    let data = payload(&[5000, 10, 5000, 0, 5000]);
    for (segment, offset) in [(0, 0), (0, 7), (2, 4999)] {
        let mut cursor = SegmentCursor::at(segment, offset);
        gather
            .resume_write(&sink, &list(&data), &mut cursor)
            .unwrap();
        assert_eq!(gather.fast_path.staging.capacity(), 0);
    }
    gather.write_all(&sink, &list(&payload(&[10, 10]))).unwrap();
    let staging_bytes = gather.cost_model().staging_bytes;
    assert_eq!(gather.fast_path.staging.capacity(), staging_bytes);
}
