//! `/dev/null`, which shows the fixed costs, and other character devices. They
//! keep no bytes, so nothing can be compared.

use std::fs::File;
use std::io;
use std::path::Path;

use vectored_machine::platform::fd::{AsFd, BorrowedFd};
use vectored_machine::platform::plain_calls::NULL_DEVICE;

use crate::measure::targets::sink::{Batch, Mismatch, Sink};

/// A character device. Its bytes cannot be read back and compared.
pub struct DeviceSink {
    file: File,
}

impl DeviceSink {
    /// Opens `/dev/null`.
    pub fn null() -> io::Result<Self> {
        DeviceSink::open(NULL_DEVICE.as_ref())
    }

    /// Opens the device `NUL`. Windows has no others whose names are paths.
    #[cfg(windows)]
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().write(true).open(path)?;
        Ok(DeviceSink { file })
    }

    /// Opens a character device; refuses any other kind of file.
    #[cfg(unix)]
    pub fn open(path: &Path) -> io::Result<Self> {
        use rustix::fs::{FileType, Mode, OFlags};

        let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file = rustix::fs::open(path, flags, Mode::empty())?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
        if kind != FileType::CharacterDevice {
            return Err(io::Error::other("it is no longer a character device"));
        }
        Ok(DeviceSink { file: file.into() })
    }
}

impl Sink for DeviceSink {
    fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn begin(&mut self, _batch: Batch) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, _batch: Batch, _proof: Option<&[u8]>) -> Result<(), Mismatch> {
        Ok(())
    }

    fn discard(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn can_prove(&self) -> bool {
        false
    }
}
