//! A file that is rewritten in place.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use vectored::files::AlignedBuffer;
use vectored_machine::platform::fd::{AsFd, BorrowedFd};
use vectored_machine::platform::files::unnamed_file;
use vectored_machine::platform::plain_calls::FileExt;
use vectored_results::model::SyncMode;

use crate::measure::sampler::staging::STAGING_ALIGNMENT;
use crate::measure::targets::comparison::compare_file;
use crate::measure::targets::file::sync_flags;
use crate::measure::targets::page_cache_bypass::bypass_page_cache;
use crate::measure::targets::sink::{Batch, Mismatch, POISON, Sink};

/// The length of the file that is rewritten from beginning to end, over and
/// over, unless two calls need more.
const OVERWRITE_SPAN_BYTES: u64 = 64 << 20;

/// Size of the writes that create the file.
const PIECE_BYTES: usize = 1 << 20;

/// The length of the file that calls of `call_bytes` bytes rewrite.
pub(crate) fn overwritten_bytes(call_bytes: u64) -> u64 {
    let for_two = (2 * call_bytes).next_multiple_of(PIECE_BYTES as u64);
    OVERWRITE_SPAN_BYTES.max(for_two)
}

/// An unnamed file, all of it on its device and in the page cache, unless that is bypassed. All cells of
/// a run with the same directory, sync mode and way past the page cache share it.
pub struct SpanFile {
    file: File,
    pub directory: PathBuf,
    pub file_system: String,
    pub sync: SyncMode,
    /// Whether its transfers bypass the page cache.
    pub is_direct: bool,
    pub span_bytes: u64,
}

impl SpanFile {
    /// Creates a file in `directory`, accessible to its owner only. It disappears
    /// when the process ends, however it ends.
    pub fn create(
        directory: &Path,
        file_system: String,
        sync: SyncMode,
        call_bytes: u64,
    ) -> io::Result<Self> {
        let file = File::from(unnamed_file(directory, sync_flags(sync))?);
        let span_bytes = overwritten_bytes(call_bytes);
        let piece = vec![POISON; PIECE_BYTES];
        for position in (0..span_bytes).step_by(PIECE_BYTES) {
            file.write_all_at(&piece, position)?;
        }
        // Allocates the blocks now, not while samples are timed.
        file.sync_data()?;
        Ok(SpanFile {
            file,
            directory: directory.to_owned(),
            file_system,
            sync,
            is_direct: false,
            span_bytes,
        })
    }

    /// Lets all transfers of the file bypass the page cache, also those that read the bytes back.
    pub fn past_page_cache(mut self) -> io::Result<Self> {
        bypass_page_cache(&self.file)?;
        self.is_direct = true;
        Ok(self)
    }

    /// Whether two calls of `call_bytes` bytes fit in it.
    pub fn suffices(&self, call_bytes: u64) -> bool {
        overwritten_bytes(call_bytes) <= self.span_bytes
    }
}

/// A file that is rewritten in place, in order of offset.
pub struct OverwriteSink {
    file: Rc<SpanFile>,
    /// The offset at which the batch begins.
    position: u64,
}

impl OverwriteSink {
    /// A sink that continues at the file's current position.
    pub fn new(file: Rc<SpanFile>) -> io::Result<Self> {
        Ok(OverwriteSink {
            position: (&file.file).stream_position()?,
            file,
        })
    }

    /// Returns to offset 0 if the batch would exceed the span.
    fn wrap(&mut self, batch: Batch) {
        if self.position + batch.bytes() > self.file.span_bytes {
            self.position = 0;
        }
    }
}

impl Sink for OverwriteSink {
    fn fd(&self) -> BorrowedFd<'_> {
        self.file.file.as_fd()
    }

    fn begin(&mut self, batch: Batch) -> io::Result<()> {
        self.wrap(batch);
        (&self.file.file).seek(SeekFrom::Start(self.position))?;
        Ok(())
    }

    fn finish(&mut self, batch: Batch, proof: Option<&[u8]>) -> Result<(), Mismatch> {
        let mut file = &self.file.file;
        let (began, end) = (self.position, file.stream_position()?);
        self.position = end;
        if end != began + batch.bytes() {
            let arrived = end.saturating_sub(began);
            return Err(Mismatch::wrong_count(arrived, batch.bytes()));
        }
        let Some(image) = proof else {
            return Ok(());
        };
        compare_file(file, began..end, image, batch)
    }

    fn poison(&mut self, batch: Batch) -> io::Result<()> {
        self.wrap(batch);
        let mut poison = AlignedBuffer::zeroed(batch.bytes() as usize, STAGING_ALIGNMENT);
        poison.fill(POISON);
        self.file.file.write_all_at(&poison, self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span_file(call_bytes: u64) -> Rc<SpanFile> {
        let directory = std::env::temp_dir();
        let file = SpanFile::create(&directory, String::new(), SyncMode::None, call_bytes);
        Rc::new(file.unwrap())
    }

    #[test]
    fn the_span_is_rewritten_in_order_and_never_grows() {
        let file = span_file(24 << 20);
        let mut sink = OverwriteSink::new(Rc::clone(&file)).unwrap();
        let image = vec![7; 24 << 20];
        let batch = Batch::new(1, image.len() as u64);
        let mut begins = Vec::new();
        for _ in 0..4 {
            sink.begin(batch).unwrap();
            begins.push(sink.position >> 20);
            rustix::io::write(sink.fd(), &image).unwrap();
            sink.finish(batch, Some(&image)).unwrap();
        }
        assert_eq!(begins, [0, 24, 0, 24]);
        assert_eq!(file.file.metadata().unwrap().len(), 64 << 20);
        assert!(file.suffices(32 << 20) && !file.suffices((32 << 20) + 1));
    }

    #[test]
    fn old_bytes_do_not_pass_for_new_ones() {
        let file = span_file(8);
        let mut sink = OverwriteSink::new(Rc::clone(&file)).unwrap();
        let batch = Batch::new(1, 8);
        file.file.write_all_at(b"12345678", 0).unwrap();
        sink.poison(batch).unwrap();
        sink.begin(batch).unwrap();
        // Simulates a technique that skips its bytes.
        rustix::fs::seek(sink.fd(), rustix::fs::SeekFrom::Current(8)).unwrap();
        let outcome = sink.finish(batch, Some(b"12345678"));
        assert!(matches!(outcome, Err(Mismatch::Bytes(_))), "{outcome:?}");
    }
}
