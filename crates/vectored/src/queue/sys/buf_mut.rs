//! `BufMut`, which is an unsafe trait.

#![allow(unsafe_code)]

use bytes::BufMut;
use bytes::buf::UninitSlice;

use crate::queue::SegmentQueue;

/// Appends copies, whether the queue is full or not. With feature `bytes`.
// SAFETY: `chunk_mut` and `advance_mut` call those functions of `Vec<u8>`, which keep the contract: the chunk is the spare capacity
// of `copied`, and `advance_mut` makes its first bytes a part of the queue, after all others.
unsafe impl BufMut for SegmentQueue {
    fn remaining_mut(&self) -> usize {
        // All bytes count, also the kept bytes.
        (isize::MAX as usize).saturating_sub(self.len())
    }

    unsafe fn advance_mut(&mut self, bytes: usize) {
        // SAFETY: the caller has initialized that many bytes of the chunk, which belongs to `copied`.
        unsafe { self.copied.advance_mut(bytes) };
    }

    fn chunk_mut(&mut self) -> &mut UninitSlice {
        // `Vec` grows if it has no spare capacity. Written bytes are used again first.
        self.reserve_copied(MIN_CHUNK_BYTES);
        self.copied.chunk_mut()
    }

    fn put_slice(&mut self, bytes: &[u8]) {
        SegmentQueue::put_slice(self, bytes);
    }
}

/// The least bytes of a chunk for a caller to fill, as for a `Vec`.
const MIN_CHUNK_BYTES: usize = 64;
