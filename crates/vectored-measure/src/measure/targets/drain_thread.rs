//! A stream that a thread on another CPU reads during a sample.

use std::io;

use vectored_machine::platform::fd::{AsFd, BorrowedFd};

use crate::measure::targets::comparison::ByteComparison;
use crate::measure::targets::reader_thread::ReaderThread;
use crate::measure::targets::sink::{Batch, Mismatch, Sink};
use crate::measure::targets::stream_kind::StreamKind;

/// A stream with a reader thread.
///
/// The reader thread also compares the bytes. If the measuring thread did, each
/// `read` of the next batch would first have to fetch its buffer from the other
/// CPU's cache, inside the timed region.
pub struct DrainThreadSink {
    reader: ReaderThread,
    /// Memory for the image of the next batch.
    spare: Vec<u8>,
}

impl DrainThreadSink {
    pub(crate) fn start(stream: StreamKind, cpu: Option<usize>) -> io::Result<Self> {
        Ok(DrainThreadSink {
            reader: ReaderThread::start(stream, cpu)?,
            spare: Vec::new(),
        })
    }
}

impl Sink for DrainThreadSink {
    fn fd(&self) -> BorrowedFd<'_> {
        self.reader.writer().as_fd()
    }

    fn begin(&mut self, batch: Batch) -> io::Result<()> {
        self.reader.begin(batch.bytes())
    }

    fn finish(&mut self, batch: Batch, proof: Option<&[u8]>) -> Result<(), Mismatch> {
        let mut copy = std::mem::take(&mut self.spare);
        copy.clear();
        copy.extend_from_slice(proof.unwrap_or_default());
        let is_proof = proof.is_some();
        let compare = move |arrived: &[u8]| {
            let mut comparison = ByteComparison::new(is_proof.then_some(&copy[..]), batch);
            comparison.take(arrived)?;
            comparison.end()?;
            Ok(copy)
        };
        self.spare = self.reader.finish(batch.bytes(), Box::new(compare))?;
        Ok(())
    }
}
