//! The buffers of reads: [`Buffer`].

use std::ops::DerefMut;

/// Memory that a read fills, with its owner.
///
/// Examples are a `Vec<u8>`, a `Box<[u8]>`, an [`AlignedBuffer`](crate::files::AlignedBuffer) for files that are open
/// with `O_DIRECT`, a `bytes::BytesMut`, a memory mapping, a `&'static mut [u8]`. All types that deref to bytes and can
/// be sent to another thread are buffers.
///
/// A read derefs a buffer before each call, and borrows the buffer until that call has ended. A buffer must deref to
/// the same number of bytes each time. If the number changes, the counts of the transfer are wrong, or the ring panics.
pub trait Buffer: DerefMut<Target = [u8]> + Send + 'static {}

impl<B: DerefMut<Target = [u8]> + Send + 'static> Buffer for B {}
