//! A technique with an `fsync(2)` after each of its calls.

use std::io;
use std::os::fd::BorrowedFd;

use super::mover::Mover;

/// Times the sync together with the call that it follows.
pub(super) struct Synced(pub Box<dyn Mover>);

impl Mover for Synced {
    fn prepare(&mut self, segments: &[&[u8]], start_bytes: usize) {
        self.0.prepare(segments, start_bytes);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        self.0.call(fd, segments)?;
        rustix::io::retry_on_intr(|| rustix::fs::fsync(fd))?;
        Ok(())
    }
}
