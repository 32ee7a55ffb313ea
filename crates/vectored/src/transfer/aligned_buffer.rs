//! Memory at an aligned address.

use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::sys::staging::try_zeroed;

/// A buffer at an aligned address, for direct I/O. It does not grow.
///
/// What a file needs is [`DirectAlignment::memory_bytes`](crate::files::DirectAlignment). The buffer is a `Vec` that is longer than needed by up to `alignment` bytes, and derefs to the aligned part.
///
/// ```
/// let mut buffer = vectored::files::AlignedBuffer::zeroed(10_000, 4096);
/// buffer[..5].copy_from_slice(b"hello");
/// assert_eq!(buffer.len(), 10_000);
/// assert_eq!(buffer.as_ptr().addr() % 4096, 0);
/// ```
pub struct AlignedBuffer {
    /// The memory, which never grows, so it stays where it is.
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl AlignedBuffer {
    /// `len` zeros at an address that is a multiple of `alignment`.
    ///
    /// # Panics
    ///
    /// If `alignment` is not a power of two, or there is no memory.
    #[must_use]
    pub fn zeroed(len: usize, alignment: usize) -> AlignedBuffer {
        assert!(
            alignment.is_power_of_two(),
            "an alignment of {alignment} bytes is not a power of two"
        );
        let Some(buffer) = AlignedBuffer::try_zeroed(len, alignment) else {
            panic!("there is no memory for {len} bytes at a multiple of {alignment}");
        };
        buffer
    }

    /// No bytes, and no memory.
    pub(crate) const fn empty() -> AlignedBuffer {
        AlignedBuffer {
            memory: Vec::new(),
            start: 0,
            len: 0,
        }
    }

    /// [`zeroed`](AlignedBuffer::zeroed), or `None` if there is no memory.
    pub(crate) fn try_zeroed(len: usize, alignment: usize) -> Option<AlignedBuffer> {
        let memory = try_zeroed(len.checked_add(alignment - 1)?)?;
        let start = memory.as_ptr().addr().wrapping_neg() % alignment;
        Some(AlignedBuffer { memory, start, len })
    }
}

impl Default for AlignedBuffer {
    /// No bytes, and no memory.
    fn default() -> AlignedBuffer {
        AlignedBuffer::empty()
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.len]
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }
}

impl AsRef<[u8]> for AlignedBuffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for AlignedBuffer {
    /// Leaves out the bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlignedBuffer")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
