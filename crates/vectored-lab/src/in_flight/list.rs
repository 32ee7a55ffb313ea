//! The lists that are moved.

use std::io::{IoSlice, IoSliceMut};

/// A list of segments to write.
#[derive(Clone, Copy, Debug)]
pub enum WriteList<'b> {
    /// The array of `iovec` is filled when the transfer begins.
    Slices(&'b [&'b [u8]]),
    /// The array of `iovec`, which the kernel gets as it is, unless it has empty segments.
    Array(&'b [IoSlice<'b>]),
}

/// A list of segments to fill.
#[derive(Debug)]
pub enum ReadList<'l, 'b> {
    /// The array of `iovec` is filled when the transfer begins.
    Slices(&'l mut [&'b mut [u8]]),
    /// The array of `iovec`, which the kernel gets as it is, unless it has empty segments.
    Array(&'l mut [IoSliceMut<'b>]),
}
