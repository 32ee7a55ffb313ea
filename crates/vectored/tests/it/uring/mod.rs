//! Transfers by io_uring.

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

/// A ring. If io_uring is disabled, reports a skip and returns `None`.
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

/// A queue of segments of these sizes, each of them kept and not copied.
fn queue_of(data: &[Vec<u8>]) -> SegmentQueue {
    let mut policy = QueuePolicy::default();
    policy.copy_below_bytes = 0;
    let mut queue = SegmentQueue::with_policy(policy);
    data.iter().for_each(|bytes| queue.push(bytes.clone()));
    queue
}

/// The one completion that is left.
fn only(ring: &mut Ring) -> Completion {
    let done = ring.wait().unwrap().expect("a transfer");
    assert!(ring.is_empty());
    done
}

/// An owner of bytes that counts how many of its kind were dropped.
struct Counted(Vec<u8>, Arc<AtomicUsize>);

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        // The kernel would read these bytes if it still used the memory after the drop.
        self.0.fill(0xdd);
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

/// A queue of a copied segment and of a segment that counts its drops.
fn counted(bytes: usize, drops: &Arc<AtomicUsize>) -> SegmentQueue {
    let mut queue = SegmentQueue::new();
    queue.put_slice(b"head");
    queue.push(Segment::from_owner(Counted(
        vec![7; bytes],
        Arc::clone(drops),
    )));
    queue
}
