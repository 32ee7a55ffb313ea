//! Random operations on a [`SegmentQueue`], for a soak or a fuzzer.

pub mod sink;
#[cfg(unix)]
pub mod soak;
pub mod strict;

use std::io::{IoSlice, Write as _};
use std::sync::Arc;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use fastrand::Rng;
use vectored::SegmentQueue;
use vectored::queue::QueuePolicy;
use vectored::queue::Segment;

/// A source of decisions: random numbers, or the input of a fuzzer.
pub trait Choose {
    /// A number below `count`, which is not 0.
    fn below(&mut self, count: usize) -> usize;
}

impl Choose for Rng {
    fn below(&mut self, count: usize) -> usize {
        self.usize(..count)
    }
}

pub fn any_policy(choose: &mut impl Choose) -> QueuePolicy {
    let default = QueuePolicy::default();
    let mut policy = default;
    for (field, default) in [
        (&mut policy.copy_below_bytes, default.copy_below_bytes),
        (&mut policy.join_below_bytes, default.join_below_bytes),
        (&mut policy.limit_bytes, default.limit_bytes),
        (&mut policy.chunk_bytes, default.chunk_bytes),
        (&mut policy.retained_bytes, default.retained_bytes),
        (&mut policy.poll_budget_bytes, default.poll_budget_bytes),
    ] {
        *field = match choose.below(8) {
            0 => 0,
            1 => usize::MAX,
            2 | 3 => default,
            _ => any_size(choose),
        };
    }
    // Calls of a few bytes each take too long.
    policy.chunk_bytes = policy.chunk_bytes.max(16);
    policy.poll_budget_bytes = policy.poll_budget_bytes.max(64);
    policy
}

pub fn any_size(choose: &mut impl Choose) -> usize {
    let below = [9, 70, 700, 5_000, 20_000][choose.below(5)];
    choose.below(below)
}

/// Puts bytes at the end of a queue, by any function for that.
pub fn put(queue: &mut SegmentQueue, bytes: &[u8], choose: &mut impl Choose) {
    let half = bytes.len() / 2;
    match choose.below(14) {
        0 => queue.put_slice(bytes),
        1 => queue.push(bytes.to_vec()),
        2 => queue.push(Box::<[u8]>::from(bytes)),
        3 => queue.push(Arc::<[u8]>::from(bytes)),
        4 => queue.push(Bytes::copy_from_slice(bytes)),
        // A part of a larger allocation.
        5 => queue.push(Bytes::from([b"before", bytes].concat()).slice(6..)),
        6 => queue.push(BytesMut::from(bytes)),
        7 => queue.push(Segment::from_owner(bytes.to_vec())),
        8 => match queue.try_push(bytes.to_vec()) {
            Ok(()) => {}
            Err(full) => queue.push(full.into_segment()),
        },
        9 => queue
            .write_all(bytes)
            .expect("a queue takes all that is written to it"),
        10 => {
            let (first, second) = bytes.split_at(half);
            let slices = [IoSlice::new(first), IoSlice::new(b""), IoSlice::new(second)];
            let written = queue.write_vectored(&slices);
            let written = written.expect("a queue takes all that is written to it");
            assert_eq!(written, bytes.len());
        }
        11 => {
            let (first, second) = bytes.split_at(half);
            queue.push_buf(Bytes::copy_from_slice(first).chain(second));
        }
        12 => BufMut::put(queue, bytes),
        _ => {
            // Filled byte by byte, as a decoder does.
            for byte in bytes {
                queue.put_u8(*byte);
            }
        }
    }
}

pub fn expect_bytes(queue: &SegmentQueue, expected: &[u8]) {
    assert_eq!(queue.len(), expected.len());
    assert_eq!(queue.is_empty(), expected.is_empty());
    let mut left = expected;
    for segment in queue.segments() {
        assert!(!segment.is_empty(), "an empty segment");
        let (here, behind) = left.split_at(segment.len());
        assert!(segment == here, "the bytes are not those that were put in");
        left = behind;
    }
    assert!(left.is_empty(), "bytes are missing");
}
