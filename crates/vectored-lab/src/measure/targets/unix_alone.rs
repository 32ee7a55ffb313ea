//! Targets that Windows does not have.

use std::io;
use std::path::Path;
use std::rc::Rc;

use crate::measure::sampling::sampler::MeasureError;
use crate::measure::targets::endpoints::Pair;
use crate::measure::targets::sink::{Batch, Mismatch, Sink};
use crate::platform::fd::{AsFd, BorrowedFd, OwnedFd};
use crate::platform::lacks;

/// Refuses a FIFO.
///
/// # Errors
///
/// Always.
pub fn check_fifo(path: &Path) -> Result<(), MeasureError> {
    let what = format!("cannot measure the FIFO '{}'", path.display());
    open_fifo(path).map(drop).map_err(MeasureError::io(what))
}

/// Refuses a FIFO.
pub(crate) fn open_fifo(_path: &Path) -> io::Result<Pair> {
    Err(lacks("FIFOs"))
}

/// A Unix socket that another program listens on.
pub(crate) struct ForeignSocketSink {
    socket: Rc<OwnedFd>,
}

impl ForeignSocketSink {
    /// Refuses the socket.
    pub fn connect(_path: &Path) -> io::Result<Rc<OwnedFd>> {
        Err(lacks("Unix sockets that this program can use"))
    }

    /// A sink on a connection.
    pub fn new(socket: Rc<OwnedFd>) -> Self {
        ForeignSocketSink { socket }
    }
}

impl Sink for ForeignSocketSink {
    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn begin(&mut self, _batch: Batch) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, _batch: Batch, _image: &[u8], _proof: bool) -> Result<(), Mismatch> {
        Ok(())
    }

    fn discard(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn can_prove(&self) -> bool {
        false
    }
}

/// The error of a write that took too long.
pub(crate) fn peer_is_stuck() -> io::Error {
    io::Error::other("the program at the other end has read nothing for some seconds")
}
