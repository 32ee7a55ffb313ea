//! `/dev/null`, which shows the fixed costs. It keeps no bytes, so nothing can be compared.

use std::fs::File;
use std::io;

use vectored_machine::platform::fd::{AsFd, BorrowedFd};
use vectored_machine::platform::plain_calls::NULL_DEVICE;

use crate::measure::targets::sink::{Batch, Mismatch, Sink};

/// `/dev/null`, or on Windows the device `NUL`.
pub struct NullSink {
    file: File,
}

impl NullSink {
    pub fn open() -> io::Result<Self> {
        let file = File::options().write(true).open(NULL_DEVICE)?;
        Ok(NullSink { file })
    }
}

impl Sink for NullSink {
    fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn finish(&mut self, _batch: Batch, _proof: Option<&[u8]>) -> Result<(), Mismatch> {
        Ok(())
    }

    fn can_prove(&self) -> bool {
        false
    }
}
