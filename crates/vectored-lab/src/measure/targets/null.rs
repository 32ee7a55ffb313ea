//! `/dev/null`, where fixed costs show.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use super::{Batch, Mismatch, Sink};

/// `/dev/null`: nothing arrives, so nothing can be compared.
pub struct NullSink {
    file: File,
}

impl NullSink {
    /// Opens `/dev/null`.
    pub fn open() -> io::Result<Self> {
        Ok(NullSink {
            file: File::options().write(true).open("/dev/null")?,
        })
    }
}

impl Sink for NullSink {
    fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
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
