//! System calls that only Linux has.

use std::io::{self, IoSlice, IoSliceMut};

use super::fd::AsFd;
use super::plain_calls::Errno;

/// Windows has no `pwritev2`.
pub fn pwritev2(
    _fd: impl AsFd,
    _slices: &[IoSlice<'_>],
    _offset: u64,
    _flags: u32,
) -> Result<usize, Errno> {
    Err(Errno::NOSYS)
}

/// Windows has no `preadv2`.
pub(crate) fn preadv2(
    _fd: impl AsFd,
    _slices: &mut [IoSliceMut<'_>],
    _offset: u64,
    _flags: u32,
) -> Result<usize, Errno> {
    Err(Errno::NOSYS)
}

/// Does nothing: Windows cannot be asked to acknowledge at once.
pub fn acknowledge_now(_socket: impl AsFd) -> io::Result<()> {
    Ok(())
}
