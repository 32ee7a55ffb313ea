//! Implements the traits of the crate `bytes`.

use std::io::IoSlice;

use bytes::{Buf, Bytes};

use crate::queue::SegmentQueue;

impl SegmentQueue {
    /// Appends the bytes of a `Buf`. Chunks of up to [`copy_below_bytes`](crate::queue::QueuePolicy::copy_below_bytes)
    /// are copied. Longer chunks are kept by
    /// [`Buf::copy_to_bytes`](https://docs.rs/bytes/1/bytes/trait.Buf.html#method.copy_to_bytes), which does not copy
    /// the bytes of a [`Bytes`].
    ///
    /// With feature `bytes`.
    ///
    /// # Panics
    ///
    /// If the buffer has bytes remaining but an empty chunk. Such a buffer breaks the contract of `Buf::chunk`.
    pub fn push_buf(&mut self, mut buf: impl Buf) {
        while buf.has_remaining() {
            // `chunks_vectored` may skip data: https://github.com/tokio-rs/bytes/issues/701
            let chunk = buf.chunk();
            let bytes = chunk.len();
            // With an empty chunk, the loop would never end.
            assert!(
                bytes > 0,
                "the Buf has {} bytes remaining, but its chunk() is empty",
                buf.remaining()
            );
            if bytes <= self.policy.copy_below_bytes {
                self.put_slice(chunk);
                buf.advance(bytes);
            } else {
                self.push(buf.copy_to_bytes(bytes));
            }
        }
    }
}

/// Gives access to the bytes that are not written yet. [`advance`](Buf::advance) removes bytes from the queue. With
/// feature `bytes`.
///
/// `tokio_util::io::poll_write_buf` can write a queue by this trait.
impl Buf for SegmentQueue {
    fn remaining(&self) -> usize {
        self.len()
    }

    fn chunk(&self) -> &[u8] {
        self.segments().next().unwrap_or_default()
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let pairs = slices.iter_mut().zip(self.segments());
        pairs
            .map(|(slice, segment)| *slice = IoSlice::new(segment))
            .count()
    }

    fn advance(&mut self, bytes: usize) {
        self.advance(bytes);
    }

    fn copy_to_bytes(&mut self, bytes: usize) -> Bytes {
        let remaining = self.len();
        assert!(
            bytes <= remaining,
            "cannot take {bytes} bytes of a queue of {remaining}"
        );
        if let Some(first) = self.kept.share_first(bytes) {
            self.advance(bytes);
            return first.slice(..bytes);
        }
        let mut taken = Vec::with_capacity(bytes);
        while taken.len() < bytes {
            let chunk = self.chunk();
            let here = chunk.len().min(bytes - taken.len());
            taken.extend_from_slice(&chunk[..here]);
            self.advance(here);
        }
        Bytes::from(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Hollow;

    impl Buf for Hollow {
        fn remaining(&self) -> usize {
            3
        }

        fn chunk(&self) -> &[u8] {
            &[]
        }

        fn advance(&mut self, _: usize) {}
    }

    #[test]
    #[should_panic(expected = "the Buf has 3 bytes remaining, but its chunk() is empty")]
    fn a_buf_with_bytes_but_an_empty_chunk_is_a_panic() {
        SegmentQueue::new().push_buf(Hollow);
    }
}
