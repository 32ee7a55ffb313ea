//! An `fsync(2)` after each call of a technique.

use std::io;

use vectored_machine::platform::fd::BorrowedFd;
use vectored_machine::platform::plain_calls;

/// Combines a call with a following `fsync`. Both are timed.
pub(crate) fn synced(
    fd: BorrowedFd<'_>,
    mut call: impl FnMut() -> io::Result<()>,
) -> impl FnMut() -> io::Result<()> {
    move || {
        call()?;
        plain_calls::retry_on_intr(|| plain_calls::fsync(fd))?;
        Ok(())
    }
}
