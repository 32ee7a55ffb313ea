//! A file that is appended to.

use std::fs::File;
use std::io::{self, Seek};
use std::path::Path;

use vectored_machine::platform::fd::{AsFd, BorrowedFd};
use vectored_machine::platform::files::unnamed_file;
use vectored_machine::platform::plain_calls::OFlags;
use vectored_results::model::SyncMode;

use crate::measure::targets::comparison::compare_file;
use crate::measure::targets::page_cache_bypass::bypass_page_cache;
use crate::measure::targets::sink::{Batch, Mismatch, Sink};

/// A file is appended to up to this size, then truncated.
pub const FILE_SPAN_BYTES: u64 = 32 << 20;

/// `O_DSYNC`. The constant of rustix 1.1 is `O_SYNC` on Linux.
#[cfg(unix)]
const DSYNC: OFlags = OFlags::from_bits_retain(libc::O_DSYNC as u32);
#[cfg(windows)]
const DSYNC: OFlags = OFlags::DSYNC;

/// The flags with which a file is opened for a sync mode.
pub(crate) fn sync_flags(sync: SyncMode) -> OFlags {
    match sync {
        SyncMode::Dsync => DSYNC,
        SyncMode::Sync => OFlags::SYNC,
        // An fsync is a call of its own.
        SyncMode::None | SyncMode::Fsync => OFlags::empty(),
    }
}

/// The largest size of a file that is appended to, with calls of `call_bytes`
/// bytes. A sample of several calls ends near [`FILE_SPAN_BYTES`]; a single
/// call, with the untimed call and a proof before it, may exceed that.
pub(crate) fn appended_bytes(call_bytes: u64) -> u64 {
    FILE_SPAN_BYTES.max(3 * call_bytes)
}

/// How a write finds the end of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileEnd {
    /// `O_APPEND`, which the writer of a log uses.
    Appended,
    /// The position of the descriptor, or an offset. Linux ignores offsets in a file with `O_APPEND`, so asynchronous
    /// writes to it would be in any order.
    Positioned,
}

/// A file that is appended to, and truncated when the next batch would exceed
/// [`FILE_SPAN_BYTES`].
pub struct FileSink {
    file: File,
    length_bytes: u64,
}

impl FileSink {
    /// Creates an unnamed file in `directory`, accessible to its owner only. It
    /// disappears when the process ends, however it ends.
    pub fn create(directory: &Path, sync: SyncMode, end: FileEnd) -> io::Result<Self> {
        let flags = sync_flags(sync)
            | match end {
                FileEnd::Appended => OFlags::APPEND,
                FileEnd::Positioned => OFlags::empty(),
            };
        Ok(FileSink {
            file: unnamed_file(directory, flags)?.into(),
            length_bytes: 0,
        })
    }

    /// Lets all transfers of the file bypass the page cache, also those that read the bytes back.
    pub fn past_page_cache(self) -> io::Result<Self> {
        bypass_page_cache(&self.file)?;
        Ok(self)
    }
}

impl Sink for FileSink {
    fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn begin(&mut self, batch: Batch) -> io::Result<()> {
        if self.length_bytes > 0 && self.length_bytes + batch.bytes() > FILE_SPAN_BYTES {
            self.discard()?;
        }
        Ok(())
    }

    fn finish(&mut self, batch: Batch, proof: Option<&[u8]>) -> Result<(), Mismatch> {
        let began = self.length_bytes;
        self.length_bytes = self.file.metadata()?.len();
        if self.length_bytes != began + batch.bytes() {
            let arrived = self.length_bytes.saturating_sub(began);
            return Err(Mismatch::wrong_count(arrived, batch.bytes()));
        }
        let Some(image) = proof else {
            return Ok(());
        };
        compare_file(&self.file, began..self.length_bytes, image, batch)
    }

    fn discard(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        (&self.file).rewind()?;
        self.length_bytes = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_unnamed_and_private() {
        use std::os::unix::fs::MetadataExt;
        let directory = std::env::temp_dir();
        let sink = FileSink::create(&directory, SyncMode::None, FileEnd::Appended).unwrap();
        let metadata = sink.file.metadata().unwrap();
        assert_eq!(metadata.nlink(), 0);
        assert_eq!(metadata.mode() & 0o7777, 0o600);
    }
}
