//! Tests of writers that do not gather. `vectored-conformance/src/fuzz/queue.rs` tries random operations with any
//! writer.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::io::AsyncWrite;

use super::*;

#[derive(Default)]
struct Collector {
    taken: Vec<u8>,
    calls: Vec<usize>,
    most: Option<usize>,
}

impl AsyncWrite for Collector {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.calls.push(bytes.len());
        let taken = self.most.unwrap_or(usize::MAX).min(bytes.len());
        self.taken.extend_from_slice(&bytes[..taken]);
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn joining(join_below_bytes: usize) -> QueuePolicy {
    QueuePolicy {
        copy_below_bytes: 0,
        join_below_bytes,
        ..QueuePolicy::default()
    }
}

#[test]
fn a_writer_that_does_not_gather_gets_joined_pieces_and_long_segments_as_they_are() {
    let policy = joining(64);
    let calls = |sizes: &[usize]| {
        let mut queue = SegmentQueue::with_policy(policy);
        sizes.iter().for_each(|size| queue.push(vec![1; *size]));
        let mut writer = Collector::default();
        let cx = &mut Context::from_waker(Waker::noop());
        assert!(queue.poll_write_to(cx, &mut writer).is_ready());
        writer.calls
    };
    assert_eq!(calls(&[10; 20]), [64, 64, 64, 8]);
    assert_eq!(calls(&[64, 65, 1000]), [64, 65, 1000]);
    assert_eq!(calls(&[10, 1000, 10]), [64, 946, 10]);
}

#[test]
fn a_long_record_is_one_call_of_a_writer_that_does_not_gather() {
    let policy = QueuePolicy {
        chunk_bytes: 30,
        // A budget of 0 allows one call in each poll.
        poll_budget_bytes: 0,
        ..joining(64)
    };
    let mut queue = SegmentQueue::with_policy(policy);
    for _ in 0..3 {
        queue.push(b"head");
        queue.push(vec![1; 96]);
        queue.end_record();
    }
    let mut writer = Collector::default();
    let cx = &mut Context::from_waker(Waker::noop());
    let mut poll = || queue.poll_write_to(cx, &mut writer).is_ready();
    assert_eq!([poll(), poll(), poll()], [false, false, true]);
    assert_eq!(writer.calls, [100, 100, 100]);
}

#[test]
fn the_rest_of_a_long_record_is_not_copied_for_each_part_that_the_writer_takes() {
    let policy = joining(64);
    let mut queue = SegmentQueue::with_policy(policy);
    (0..1_000).for_each(|_| queue.push(vec![1; 10]));
    queue.end_record();
    let mut writer = Collector {
        most: Some(16),
        ..Collector::default()
    };
    let cx = &mut Context::from_waker(Waker::noop());
    assert!(queue.poll_write_to(cx, &mut writer).is_ready());
    assert_eq!(writer.taken.len(), 10_000);
    // The first call has the whole record. Each later call has four times as many bytes as the writer takes.
    assert_eq!(writer.calls[0], 10_000);
    let offered: usize = writer.calls.iter().sum();
    assert!(offered <= 5 * 10_000, "{offered} bytes were offered");
}

#[test]
fn memory_for_joining_goes_back() {
    let policy = joining(1 << 20);
    let mut queue = SegmentQueue::with_policy(policy);
    let cx = &mut Context::from_waker(Waker::noop());
    let mut turn = |segment_bytes: usize| {
        queue.push(vec![1; segment_bytes]);
        queue.push(vec![2; segment_bytes]);
        assert!(
            queue
                .poll_write_to(cx, &mut Collector::default())
                .is_ready()
        );
        super::poll::joined_capacity()
    };
    assert!(turn(500_000) <= policy.retained_bytes);
    let kept = turn(50_000);
    assert!((100_000..=policy.retained_bytes).contains(&kept), "{kept}");
}
