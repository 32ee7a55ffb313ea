//! `std::io::BufWriter`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::BorrowedFd;

use super::peer::Peer;

/// `write_all` for every segment, then `flush`.
#[derive(Default)]
pub struct StdBufWriter {
    /// `None` for the default of the standard library.
    capacity: Option<usize>,
    writer: Option<BufWriter<File>>,
}

impl StdBufWriter {
    pub fn with_capacity(bytes: usize) -> Self {
        StdBufWriter {
            capacity: Some(bytes),
            writer: None,
        }
    }
}

impl Peer for StdBufWriter {
    fn open(&mut self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let file = File::from(fd.try_clone_to_owned()?);
        self.writer = Some(match self.capacity {
            Some(bytes) => BufWriter::with_capacity(bytes, file),
            None => BufWriter::new(file),
        });
        Ok(())
    }

    fn send(&mut self, _fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let writer = self.writer.as_mut().expect("opened before");
        for segment in segments {
            writer.write_all(segment)?;
        }
        writer.flush()
    }

    fn close(&mut self) {
        // Dropping the writer would write the remaining bytes.
        self.writer.take().map(BufWriter::into_parts);
    }
}
