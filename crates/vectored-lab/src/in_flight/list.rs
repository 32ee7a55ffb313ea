//! The lists that are moved.

use std::io::{IoSlice, IoSliceMut};

/// A list of segments to write.
#[derive(Clone, Copy, Debug)]
pub enum WriteList<'b> {
    /// The array of `iovec` is filled when the transfer begins.
    Slices(&'b [&'b [u8]]),
    /// An array of `iovec`, which Linux AIO passes to the kernel as it is, unless it has empty segments.
    Array(&'b [IoSlice<'b>]),
}

/// A list of segments to fill.
#[derive(Debug)]
pub enum ReadList<'l, 'b> {
    /// The array of `iovec` is filled when the transfer begins.
    Slices(&'l mut [&'b mut [u8]]),
    /// An array of `iovec`, which Linux AIO passes to the kernel as it is, unless it has empty segments.
    Array(&'l mut [IoSliceMut<'b>]),
}

impl ReadList<'_, '_> {
    /// The bytes of all segments.
    #[cfg(target_os = "linux")]
    pub(super) fn bytes(&self) -> u64 {
        match self {
            ReadList::Slices(list) => list.iter().map(|segment| segment.len() as u64).sum(),
            ReadList::Array(list) => list.iter().map(|segment| segment.len() as u64).sum(),
        }
    }
}
