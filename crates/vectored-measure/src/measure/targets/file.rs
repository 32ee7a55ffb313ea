//! Files that are written: appended to, or rewritten in place.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use vectored::files::AlignedBuffer;
use vectored_machine::platform::fd::{AsFd, BorrowedFd};
use vectored_machine::platform::files::{evict, set_direct, unnamed_file};
use vectored_machine::platform::plain_calls::{FileExt, OFlags};
use vectored_results::model::{CellSpec, SyncMode, Target};

use crate::measure::sampler::STAGING_ALIGNMENT;
use crate::measure::targets::comparison::compare_file;
use crate::measure::targets::end::{Batch, End, Mismatch, POISON};

/// A file is appended to up to this size, then truncated.
pub const FILE_SPAN_BYTES: u64 = 32 << 20;

/// `O_DSYNC`. The constant of rustix 1.1 is `O_SYNC` on Linux.
#[cfg(unix)]
const DSYNC: OFlags = OFlags::from_bits_retain(libc::O_DSYNC as u32);
#[cfg(windows)]
const DSYNC: OFlags = OFlags::DSYNC;

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

/// The length of the file that is rewritten from beginning to end, over and over. If two calls need more, the file is
/// longer.
const OVERWRITE_SPAN_BYTES: u64 = 64 << 20;

const PIECE_BYTES: usize = 1 << 20;

pub(crate) fn overwritten_bytes(call_bytes: u64) -> u64 {
    let for_two = (2 * call_bytes).next_multiple_of(PIECE_BYTES as u64);
    OVERWRITE_SPAN_BYTES.max(for_two)
}

/// An unnamed file, accessible to its owner only. The file disappears when the process ends, however the process ends.
pub struct SpanFile {
    file: File,
    pub directory: PathBuf,
    pub file_system: String,
    pub sync: SyncMode,
    /// Whether transfers of the file bypass the page cache.
    pub is_direct: bool,
    /// The length up to which the file is written. Then the file is truncated, or rewritten from its beginning.
    pub span_bytes: u64,
    is_truncated: bool,
}

impl SpanFile {
    /// A file in `directory` to append to or to rewrite. All blocks of a file to rewrite are allocated and clean.
    ///
    /// Appending uses `O_APPEND`, as the writer of a log does, or the position of the descriptor, or an offset. Linux
    /// ignores offsets in a file with `O_APPEND`, so asynchronous writes would be in any order.
    pub fn create(
        directory: &Path,
        file_system: String,
        spec: &CellSpec,
        appends: bool,
    ) -> io::Result<Self> {
        let asked = &spec.conditions;
        let is_truncated = asked.target == Target::File;
        let append = if is_truncated && appends { OFlags::APPEND } else { OFlags::empty() };
        let flags = sync_flags(asked.sync) | append;
        let (filled_bytes, span_bytes) = if is_truncated {
            (0, FILE_SPAN_BYTES)
        } else {
            let bytes = overwritten_bytes(spec.half_batch_bytes());
            (bytes, bytes)
        };
        let poison = |_, piece: &mut [u8]| piece.fill(POISON);
        Ok(SpanFile {
            file: filled_file(directory, flags, (filled_bytes, asked.direct), poison)?,
            directory: directory.to_owned(),
            file_system,
            sync: asked.sync,
            is_direct: asked.direct,
            span_bytes,
            is_truncated,
        })
    }

    /// Whether two calls of `call_bytes` bytes fit in the span.
    pub fn suffices(&self, call_bytes: u64) -> bool {
        overwritten_bytes(call_bytes) <= self.span_bytes
    }

    fn position(&self) -> io::Result<u64> {
        if self.is_truncated {
            return Ok(self.file.metadata()?.len());
        }
        (&self.file).stream_position()
    }
}

pub struct FileSink {
    file: Rc<SpanFile>,
    position: u64,
}

impl FileSink {
    pub fn new(file: Rc<SpanFile>) -> io::Result<Self> {
        let position = file.position()?;
        Ok(FileSink { file, position })
    }

    /// Returns to offset 0 if the batch would exceed the span.
    fn wrap(&mut self, batch: Batch) -> io::Result<()> {
        if self.position + batch.bytes() > self.file.span_bytes {
            self.discard()?;
        }
        Ok(())
    }
}

impl End for FileSink {
    fn fd(&self) -> BorrowedFd<'_> {
        self.file.file.as_fd()
    }

    fn begin(&mut self, batch: Batch) -> io::Result<()> {
        self.wrap(batch)?;
        (&self.file.file).seek(SeekFrom::Start(self.position))?;
        Ok(())
    }

    fn finish(&mut self, batch: Batch, proof: Option<&[u8]>) -> Result<(), Mismatch> {
        let (began, end) = (self.position, self.file.position()?);
        self.position = end;
        if end != began + batch.bytes() {
            let arrived = end.saturating_sub(began);
            return Err(Mismatch::wrong_count(arrived, batch.bytes()));
        }
        match proof {
            Some(image) => compare_file(&self.file.file, began..end, image, batch),
            None => Ok(()),
        }
    }

    fn discard(&mut self) -> io::Result<()> {
        if self.file.is_truncated {
            self.file.file.set_len(0)?;
        }
        self.position = 0;
        Ok(())
    }

    fn poison(&mut self, batch: Batch) -> io::Result<()> {
        if self.file.is_truncated {
            return Ok(());
        }
        self.wrap(batch)?;
        let mut poison = AlignedBuffer::zeroed(batch.bytes() as usize, STAGING_ALIGNMENT);
        poison.fill(POISON);
        self.file.file.write_all_at(&poison, self.position)
    }
}

/// An unnamed file of `bytes` bytes, which `fill` gives piece by piece. The blocks of the file are allocated and clean, so
/// no writeback happens while samples are timed. The transfers of a direct file bypass the page cache. No page of a direct
/// file is in the page cache: otherwise the first transfer of each page would have to evict the page.
pub(crate) fn filled_file(
    directory: &Path,
    flags: OFlags,
    (bytes, is_direct): (u64, bool),
    mut fill: impl FnMut(u64, &mut [u8]),
) -> io::Result<File> {
    let mut file = File::from(unnamed_file(directory, flags)?);
    let mut piece = vec![0; PIECE_BYTES];
    for position in (0..bytes).step_by(PIECE_BYTES) {
        let length = (bytes - position).min(PIECE_BYTES as u64) as usize;
        fill(position, &mut piece[..length]);
        file.write_all(&piece[..length])?;
    }
    if bytes > 0 {
        file.sync_data()?;
    }
    if is_direct {
        match evict(&file) {
            Err(error) if error.kind() != io::ErrorKind::Unsupported => return Err(error),
            _ => set_direct(file.as_fd(), true)?,
        }
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use vectored_results::model::Workload;

    use super::*;

    fn span_file(target: Target, call_bytes: usize, sync: SyncMode) -> Rc<SpanFile> {
        let spec = CellSpec::write(target, Workload::uniform(1, call_bytes));
        let spec = spec.with(|asked| asked.sync = sync);
        Rc::new(SpanFile::create(&std::env::temp_dir(), String::new(), &spec, true).unwrap())
    }

    #[test]
    fn the_span_is_written_in_order_and_never_grows() {
        for (target, call_mib, expected, span_mib) in [
            (Target::FileOverwrite, 24, [0, 24, 0, 24], 64),
            (Target::File, 12, [0, 12, 0, 12], 24),
        ] {
            let image = vec![7; call_mib << 20];
            let batch = Batch::new(1, image.len() as u64);
            let file = span_file(target, image.len(), SyncMode::None);
            let mut sink = FileSink::new(Rc::clone(&file)).unwrap();
            let begins = [(); 4].map(|()| {
                sink.begin(batch).unwrap();
                let begin = sink.position >> 20;
                rustix::io::write(sink.fd(), &image).unwrap();
                sink.finish(batch, Some(&image)).unwrap();
                begin
            });
            assert_eq!(begins, expected);
            assert_eq!(file.file.metadata().unwrap().len(), span_mib << 20);
        }
        let file = span_file(Target::FileOverwrite, 24 << 20, SyncMode::None);
        assert!(file.suffices(32 << 20) && !file.suffices((32 << 20) + 1));
    }

    #[test]
    fn the_descriptor_has_the_flags_of_the_sync_mode() {
        // `O_SYNC` has the bit of `O_DSYNC`.
        for (sync, expected) in [
            (SyncMode::None, 0),
            (SyncMode::Fsync, 0),
            (SyncMode::Dsync, libc::O_DSYNC as u32),
            (SyncMode::Sync, libc::O_SYNC as u32),
        ] {
            for target in [Target::File, Target::FileOverwrite] {
                let flags = rustix::fs::fcntl_getfl(&span_file(target, 8, sync).file).unwrap();
                assert_eq!(flags.bits() & libc::O_SYNC as u32, expected, "{sync}");
            }
        }
    }

    #[test]
    fn old_bytes_do_not_pass_for_new_ones() {
        let file = span_file(Target::FileOverwrite, 8, SyncMode::None);
        let mut sink = FileSink::new(Rc::clone(&file)).unwrap();
        let batch = Batch::new(1, 8);
        file.file.write_all_at(b"12345678", 0).unwrap();
        sink.poison(batch).unwrap();
        sink.begin(batch).unwrap();
        // Simulates a technique that skips its bytes.
        rustix::fs::seek(sink.fd(), rustix::fs::SeekFrom::Current(8)).unwrap();
        let outcome = sink.finish(batch, Some(b"12345678"));
        assert!(matches!(outcome, Err(Mismatch::Bytes(_))), "{outcome:?}");
    }

    #[test]
    fn a_file_is_unnamed_and_private() {
        use std::os::unix::fs::MetadataExt;
        let file = span_file(Target::FileOverwrite, 8, SyncMode::None);
        let metadata = file.file.metadata().unwrap();
        assert_eq!(metadata.nlink(), 0);
        assert_eq!(metadata.mode() & 0o7777, 0o600);
    }
}
