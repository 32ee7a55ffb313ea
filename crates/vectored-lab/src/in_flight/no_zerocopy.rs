//! Systems and processors without `IORING_OP_SENDMSG_ZC`.

use crate::platform::fd::BorrowedFd;
use std::io::{self, IoSlice};
use std::time::Duration;

use crate::in_flight::notices::ZerocopyNotices;

/// A ring that cannot be made here.
pub struct ZerocopyRing {}

impl ZerocopyRing {
    /// Refuses.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn new() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Refuses.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn send(
        &mut self,
        _fd: BorrowedFd<'_>,
        _iovecs: &[IoSlice<'_>],
        _is_non_blocking: bool,
    ) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// None.
    pub fn outstanding(&self) -> u64 {
        0
    }

    /// Has nothing to wait for.
    ///
    /// # Errors
    ///
    /// None.
    pub fn wait(&mut self, _patience: Duration) -> io::Result<()> {
        Ok(())
    }

    /// None.
    pub fn take_notices(&mut self) -> ZerocopyNotices {
        ZerocopyNotices::default()
    }
}
