//! libuv.

use std::io;
use std::os::fd::BorrowedFd;

use super::peer::Peer;
use crate::sys::uv::{Uv, Writer};

/// `uv_try_write` on pipes and sockets, `uv_fs_write` on everything else. Both are synchronous here, without
/// a callback.
pub struct Libuv {
    uv: Uv,
    writer: Option<Writer>,
}

impl Libuv {
    pub fn new(uv: Uv) -> Self {
        Libuv { uv, writer: None }
    }
}

impl Peer for Libuv {
    fn open(&mut self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.writer = Some(Writer::open(self.uv, fd)?);
        Ok(())
    }

    fn send(&mut self, _fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        self.writer
            .as_mut()
            .expect("opened before")
            .write_all(segments)
    }

    fn close(&mut self) {
        self.writer = None;
    }
}
