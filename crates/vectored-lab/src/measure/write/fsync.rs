//! An `fsync(2)` after each call of a technique.

use std::io;
use std::os::fd::BorrowedFd;

/// Combines a call with a following `fsync`. Both are timed.
pub(crate) fn synced(
    fd: BorrowedFd<'_>,
    mut call: impl FnMut() -> io::Result<()>,
) -> impl FnMut() -> io::Result<()> {
    move || {
        call()?;
        rustix::io::retry_on_intr(|| rustix::fs::fsync(fd))?;
        Ok(())
    }
}
