//! libevent's `evbuffer`.

use std::io;
use std::os::fd::BorrowedFd;

use super::peer::Peer;
use crate::sys::evbuffer::{Adding, Evbuffer, Evbuffers};

/// `evbuffer_add` or `evbuffer_add_reference` for every segment, then
/// `evbuffer_write` until the buffer is empty.
pub struct Libevent {
    functions: Evbuffers,
    adding: Adding,
    buffer: Option<Evbuffer>,
}

impl Libevent {
    pub fn new(functions: Evbuffers, adding: Adding) -> Self {
        Libevent {
            functions,
            adding,
            buffer: None,
        }
    }
}

impl Peer for Libevent {
    fn open(&mut self, _fd: BorrowedFd<'_>) -> io::Result<()> {
        self.buffer = Some(Evbuffer::new(self.functions)?);
        Ok(())
    }

    fn send(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let buffer = self.buffer.as_mut().expect("opened before");
        buffer.send(fd, segments, self.adding)
    }

    fn close(&mut self) {
        self.buffer = None;
    }
}
