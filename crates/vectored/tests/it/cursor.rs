//! The cursor against a simple model: the bytes of all segments in order.

use std::io::{IoSlice, IoSliceMut};

use proptest::prelude::*;
use vectored::limits::Limits;
use vectored::{Gather, Scatter, SegmentCursor, resume_read, resume_write};

use crate::support::{list, payload};

/// Moves a list by batches of which a call takes only a part, and returns the bytes moved.
///
/// `accepted` are the bytes that the calls take, in turn; each takes at least one.
fn deliver(segments: &[IoSlice<'_>], limits: Limits, accepted: &[usize]) -> Vec<u8> {
    let mut moved = Vec::new();
    let mut cursor = SegmentCursor::new();
    let mut scratch = Vec::new();
    let mut accepted = accepted.iter().cycle();
    while !cursor.is_at_end(segments) {
        let batch = cursor.batch(segments, limits, &mut scratch);
        assert!(!batch.is_empty());
        assert!(batch.len() <= limits.segments);
        assert!(batch.iter().all(|slice| !slice.is_empty()));
        let bytes: Vec<u8> = batch
            .iter()
            .flat_map(|slice| slice.iter().copied())
            .collect();
        assert!(bytes.len() <= limits.bytes);
        let taken = (*accepted.next().unwrap()).clamp(1, bytes.len());
        moved.extend_from_slice(&bytes[..taken]);
        cursor.advance(segments, taken);
    }
    assert!(cursor.batch(segments, limits, &mut scratch).is_empty());
    moved
}

fn any_sizes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(prop_oneof![Just(0), 1..6_usize, 6..100_usize], 0..40)
}

proptest! {
    #[test]
    fn any_short_calls_deliver_every_byte_once_and_in_order(
        sizes in any_sizes(),
        segments in 1..10_usize,
        bytes in 1..150_usize,
        accepted in prop::collection::vec(1..200_usize, 1..10),
    ) {
        let data = payload(&sizes);
        let moved = deliver(&list(&data), Limits { segments, bytes }, &accepted);
        prop_assert_eq!(moved, data.concat());
    }

    #[test]
    fn one_advance_equals_many_small_ones(sizes in any_sizes(), steps in prop::collection::vec(0..20_usize, 0..20)) {
        let data = payload(&sizes);
        let segments = list(&data);
        let total = data.concat().len();
        let mut done = 0;
        let mut stepwise = SegmentCursor::new();
        stepwise.advance(&segments, 0);
        for step in steps {
            let step = step.min(total - done);
            stepwise.advance(&segments, step);
            done += step;
            let mut at_once = SegmentCursor::new();
            at_once.advance(&segments, done);
            prop_assert_eq!(stepwise, at_once);
            prop_assert_eq!(stepwise.remaining_bytes(&segments), (total - done) as u64);
            prop_assert_eq!(stepwise.is_at_end(&segments), done == total);
            if done < total {
                // The cursor points to the next byte.
                let here = segments[stepwise.segment()][stepwise.offset()];
                prop_assert_eq!(here, data.concat()[done]);
            }
        }
    }
}

#[test]
fn batches_hold_iov_max_segments_and_no_more() {
    for count in [1023, 1024, 1025, 2048, 3000] {
        let data = payload(&vec![2; count]);
        let segments = list(&data);
        let mut scratch = Vec::new();
        let batch = SegmentCursor::new().batch(&segments, Limits::default(), &mut scratch);
        assert_eq!(batch.len(), count.min(vectored::limits::iov_max()));
    }
}

#[test]
fn the_end_of_a_segment_is_the_start_of_the_next() {
    let data = payload(&[3, 0, 2]);
    let segments = list(&data);
    for cursor in [
        SegmentCursor::at(0, 3),
        SegmentCursor::at(1, 0),
        SegmentCursor::at(2, 0),
    ] {
        assert_eq!(cursor.remaining_bytes(&segments), 2);
        let mut scratch = Vec::new();
        let batch = cursor.batch(&segments, Limits::default(), &mut scratch);
        assert_eq!(&*batch[0], &data[2][..]);
        let mut moved = cursor;
        moved.advance(&segments, 0);
        assert_eq!(moved, SegmentCursor::at(2, 0));
    }
}

#[test]
fn remaining_bytes_may_exceed_memory() {
    let buffer = vec![0; 1 << 20];
    let segments = vec![IoSlice::new(&buffer); 1 << 16];
    assert_eq!(
        SegmentCursor::at(1, 1).remaining_bytes(&segments),
        (1 << 36) - (1 << 20) - 1
    );
}

#[test]
fn an_advance_too_far_panics_and_leaves_the_cursor_alone() {
    let segments = [IoSlice::new(b"abc"), IoSlice::new(b"de")];
    let mut cursor = SegmentCursor::at(0, 1);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        cursor.advance(&segments, 5);
    }));
    let message = *result.unwrap_err().downcast::<String>().unwrap();
    assert_eq!(message, "cannot advance by 5 bytes: only 4 remain");
    assert_eq!(cursor, SegmentCursor::at(0, 1));
}

#[test]
#[should_panic(expected = "outside of the list")]
fn a_cursor_inside_no_segment_is_a_programmer_error() {
    let _ = SegmentCursor::at(0, 4).remaining_bytes(&[IoSlice::new(b"abc")]);
}

#[test]
#[should_panic(expected = "outside of the list")]
fn a_cursor_past_the_list_is_a_programmer_error() {
    let _ = SegmentCursor::at(2, 0).is_at_end(&[IoSlice::new(b"abc")]);
}

#[test]
#[should_panic(expected = "must not be zero")]
fn a_limit_of_zero_is_a_programmer_error() {
    let limits = Limits {
        segments: 0,
        bytes: 1,
    };
    let _ = SegmentCursor::new().batch(&[IoSlice::new(b"abc")], limits, &mut Vec::new());
}

#[test]
fn a_transfer_leaves_the_cursor_behind_the_list_also_if_that_ends_with_empty_segments() {
    let (reader, writer) = std::io::pipe().unwrap();
    for sizes in [&[0, 0][..], &[5, 0], &[3, 0, 4, 0, 0], &[600, 0]] {
        let data = payload(sizes);
        let segments = list(&data);
        let end = SegmentCursor::at(segments.len(), 0);
        for copies in [true, false] {
            let mut cursor = SegmentCursor::new();
            let written = if copies {
                Gather::default().resume_write(&writer, &segments, &mut cursor)
            } else {
                resume_write(&writer, &segments, &mut cursor)
            };
            written.unwrap();
            assert_eq!(cursor, end, "{sizes:?} written, copied: {copies}");

            let mut buffers = data.clone();
            let mut places: Vec<_> = buffers.iter_mut().map(|b| IoSliceMut::new(b)).collect();
            let mut cursor = SegmentCursor::new();
            let read = if copies {
                Scatter::default().resume_read(&reader, &mut places, &mut cursor)
            } else {
                resume_read(&reader, &mut places, &mut cursor)
            };
            read.unwrap();
            assert_eq!(cursor, end, "{sizes:?} read, copied: {copies}");
        }
    }
}
