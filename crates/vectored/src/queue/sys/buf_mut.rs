//! Implements `BufMut`, which is an unsafe trait.

#![allow(unsafe_code)]

use bytes::BufMut;
use bytes::buf::UninitSlice;

use crate::queue::SegmentQueue;

/// Appends copies, even to a full queue. With feature `bytes`.
// SAFETY: `chunk_mut` and `advance_mut` call the methods of `Vec<u8>` with the same names. These methods keep the
// contract. The chunk is the spare capacity of `copied`. `advance_mut` appends the first bytes of the chunk to the
// queue.
unsafe impl BufMut for SegmentQueue {
    fn remaining_mut(&self) -> usize {
        // The kept bytes count as well.
        (isize::MAX as usize).saturating_sub(self.len())
    }

    unsafe fn advance_mut(&mut self, bytes: usize) {
        // SAFETY: the caller has initialized `bytes` bytes of the chunk, which is the spare capacity of `copied`.
        unsafe { self.copied.advance_mut(bytes) };
    }

    fn chunk_mut(&mut self) -> &mut UninitSlice {
        // `Vec::chunk_mut` grows a full buffer. `reserve_copied` first reuses the memory of written bytes.
        self.reserve_copied(MIN_CHUNK_BYTES);
        self.copied.chunk_mut()
    }

    fn put_slice(&mut self, bytes: &[u8]) {
        SegmentQueue::put_slice(self, bytes);
    }
}

/// `BufMut` for `Vec<u8>` also reserves 64 bytes.
const MIN_CHUNK_BYTES: usize = 64;
