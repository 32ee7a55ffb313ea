//! Tests of transfers by io_uring.

mod ends;
mod refusals;
mod whole;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use vectored::SegmentQueue;
use vectored::queue::QueuePolicy;
use vectored::queue::Segment;
use vectored::uring::{Completion, Ring};

use crate::support::skip;

/// Makes a ring. Reports a skip and returns `None` if io_uring is disabled.
fn ring(test: &str, depth: u32) -> Option<Ring> {
    match Ring::new(depth) {
        Ok(ring) => Some(ring),
        Err(error) if error.is_disabled() => {
            skip(test, &error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Makes a queue that keeps every segment and copies no segment.
fn queue_of(data: &[Vec<u8>]) -> SegmentQueue {
    let mut policy = QueuePolicy::default();
    policy.copy_below_bytes = 0;
    let mut queue = SegmentQueue::with_policy(policy);
    data.iter().for_each(|bytes| queue.push(bytes.clone()));
    queue
}

/// Returns the completion of the only transfer.
fn only(ring: &mut Ring) -> Completion {
    let done = ring.wait().unwrap().expect("a transfer");
    assert!(ring.is_empty());
    done
}

/// An owner that counts its drops in a shared counter.
struct Counted(Vec<u8>, Arc<AtomicUsize>);

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        // If the kernel used the memory after the drop, the kernel would read these bytes.
        self.0.fill(0xdd);
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

fn counted(bytes: usize, drops: &Arc<AtomicUsize>) -> SegmentQueue {
    let mut queue = SegmentQueue::new();
    queue.put_slice(b"head");
    queue.push(Segment::from_owner(Counted(
        vec![7; bytes],
        Arc::clone(drops),
    )));
    queue
}
