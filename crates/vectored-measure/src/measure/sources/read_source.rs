//! Real sources: each delivers the bytes of a read sample, and checks that exactly these bytes were read.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::Path;
use std::rc::Rc;

use fastrand::Rng;
use vectored_machine::platform::fd::{AsFd, BorrowedFd};
use vectored_machine::platform::fetched_bytes;
use vectored_machine::platform::files::evict;
#[cfg(target_os = "linux")]
use vectored_machine::platform::files::resident_bytes;
use vectored_machine::platform::plain_calls::{self, OFlags};
use vectored_results::model::{PageCache, Target};

use crate::measure::sampler::{MeasureError, Pattern};
use crate::measure::targets::{
    Batch, End, Mismatch, OpenStream, StreamKind, check_directory, filled_file,
};

/// Samples of a file begin at multiples of this.
const PAGE_BYTES: u64 = 4096;

/// Minimum distance between two successive samples of a cold file. Read-ahead of the first sample may still be in flight
/// when the pages are evicted for the second sample.
const COLD_GAP_BYTES: u64 = 2 << 20;

#[derive(Debug)]
pub(crate) struct PatternFile {
    file: File,
    pub span_bytes: u64,
    /// Whether transfers of the file bypass the page cache.
    pub is_direct: bool,
    /// Whether the whole file has been read since its pages were last evicted.
    is_warm: Cell<bool>,
}

impl PatternFile {
    pub fn span_bytes(call_bytes: u64, least_bytes: u64) -> u64 {
        let for_two = (2 * call_bytes + COLD_GAP_BYTES).next_multiple_of(1 << 20);
        least_bytes.max(for_two)
    }

    pub fn with_span(
        directory: &Path,
        pattern: Pattern,
        span_bytes: u64,
        is_direct: bool,
    ) -> io::Result<Self> {
        let fill = |position, piece: &mut [u8]| pattern.fill(position, piece);
        let bytes = (span_bytes, is_direct);
        Ok(PatternFile {
            file: filled_file(directory, OFlags::empty(), bytes, fill)?,
            span_bytes,
            is_direct,
            is_warm: Cell::new(false),
        })
    }

    #[cfg(target_os = "linux")]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    #[cfg(target_os = "linux")]
    pub fn resident_bytes(&self) -> io::Result<u64> {
        resident_bytes(self.fd(), self.span_bytes)
    }

    pub fn warm(&self) -> io::Result<()> {
        if self.is_warm.replace(true) {
            return Ok(());
        }
        let mut file = &self.file;
        file.rewind()?;
        io::copy(&mut file, &mut io::sink()).map(drop)
    }

    /// Asks the kernel to evict the pages of the file. The kernel may keep some pages.
    pub fn evict(&self) -> io::Result<()> {
        self.is_warm.set(false);
        evict(&self.file)
    }
}

pub fn check_eviction(directory: &Path) -> Result<(), MeasureError> {
    let described = check_directory(directory, Target::File, 0)?;
    let attempt = || -> Result<(), Mismatch> {
        let file = PatternFile::with_span(directory, Pattern::new(1), 8 << 20, false)?;
        let mut source = FileSource::new(Rc::new(file), PageCache::Cold, 1)?;
        let batch = Batch::new(1, PAGE_BYTES);
        source.aim(batch);
        source.begin(batch)?;
        plain_calls::read(source.fd(), &mut [0; PAGE_BYTES as usize])?;
        source.finish(batch, None)
    };
    // Up to four attempts, since a single page may have come back by chance.
    let mut attempts = (0..4).map(|_| attempt());
    let outcome = attempts.find(|outcome| !matches!(outcome, Err(Mismatch::NotCold)));
    match outcome.unwrap_or(Err(Mismatch::NotCold)) {
        Ok(()) => Ok(()),
        Err(Mismatch::Io(error)) => Err(MeasureError::io(format!(
            "cannot evict pages of a file in '{}'",
            directory.display()
        ))(error)),
        Err(_) => Err(MeasureError::not_cold(
            &described.path,
            &described.file_system,
        )),
    }
}

pub(crate) struct FileSource {
    file: Rc<PatternFile>,
    page_cache: PageCache,
    rng: Rng,
    position: u64,
    /// Bytes that the thread had fetched from devices when the batch began.
    fetched_bytes: u64,
}

impl FileSource {
    pub fn new(file: Rc<PatternFile>, page_cache: PageCache, seed: u64) -> io::Result<Self> {
        if page_cache == PageCache::Hot && !file.is_direct {
            file.warm()?;
        }
        Ok(FileSource {
            file,
            page_cache,
            rng: Rng::with_seed(seed),
            position: 0,
            fetched_bytes: 0,
        })
    }
}

impl End for FileSource {
    fn fd(&self) -> BorrowedFd<'_> {
        self.file.file.as_fd()
    }

    fn aim(&mut self, batch: Batch) -> u64 {
        let last = self.file.span_bytes - batch.bytes();
        let pages = |bytes: u64| bytes / PAGE_BYTES;
        self.position = match self.page_cache {
            PageCache::Hot => self.rng.u64(0..=pages(last)) * PAGE_BYTES,
            PageCache::Cold => {
                let behind = self.position + batch.bytes() + COLD_GAP_BYTES;
                let next = pages(behind) + self.rng.u64(0..pages(COLD_GAP_BYTES));
                match next * PAGE_BYTES {
                    next if next <= last => next,
                    // Wraps around to the beginning of the file.
                    _ => self.rng.u64(0..=pages(last.min(COLD_GAP_BYTES))) * PAGE_BYTES,
                }
            }
        };
        self.position
    }

    fn begin(&mut self, _batch: Batch) -> io::Result<()> {
        (&self.file.file).seek(SeekFrom::Start(self.position))?;
        if self.page_cache == PageCache::Cold {
            self.file.evict()?;
            self.fetched_bytes = fetched_bytes()?;
        }
        Ok(())
    }

    fn finish(&mut self, batch: Batch, _proof: Option<&[u8]>) -> Result<(), Mismatch> {
        if self.page_cache == PageCache::Cold
            && fetched_bytes()? - self.fetched_bytes < batch.bytes()
        {
            return Err(Mismatch::NotCold);
        }
        let end = (&self.file.file).stream_position()?;
        match end.checked_sub(self.position) {
            Some(taken) if taken == batch.bytes() => Ok(()),
            taken => Err(Mismatch::wrong_taking(taken.unwrap_or(0), batch)),
        }
    }
}

pub(crate) struct StreamSource {
    stream: OpenStream,
    pattern: Pattern,
    position: u64,
    buffer: Vec<u8>,
}

impl StreamSource {
    pub fn open(kind: StreamKind, pattern: Pattern, call_bytes: u64) -> io::Result<Self> {
        let call_bytes = usize::try_from(call_bytes).map_err(io::Error::other)?;
        Ok(StreamSource {
            stream: OpenStream::open(kind)?,
            pattern,
            position: 0,
            buffer: vec![0; call_bytes],
        })
    }

    pub fn probe(&mut self, max_calls: u32) -> io::Result<u32> {
        let mut fitting = 0;
        let call_bytes = self.buffer.len() as u64;
        while fitting < max_calls
            && self.put()?
            && self.has_arrived(u64::from(fitting + 1) * call_bytes)?
        {
            fitting += 1;
        }
        self.stream.reopen()?;
        Ok(fitting)
    }

    fn has_arrived(&self, bytes: u64) -> io::Result<bool> {
        self.stream.kind.has_arrived(&self.stream.reader, bytes)
    }

    fn put(&self) -> io::Result<bool> {
        match plain_calls::write(&self.stream.writer, &self.buffer) {
            Ok(count) => Ok(count == self.buffer.len()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl End for StreamSource {
    fn fd(&self) -> BorrowedFd<'_> {
        self.stream.reader.as_fd()
    }

    fn aim(&mut self, _batch: Batch) -> u64 {
        self.position
    }

    fn begin(&mut self, batch: Batch) -> io::Result<()> {
        for _ in 0..batch.calls {
            self.pattern.fill(self.position, &mut self.buffer);
            self.position += batch.call_bytes;
            if !self.put()? {
                return Err(io::ErrorKind::WouldBlock.into());
            }
        }
        if self.has_arrived(batch.bytes())? {
            Ok(())
        } else {
            Err(io::ErrorKind::WouldBlock.into())
        }
    }

    fn finish(&mut self, batch: Batch, _proof: Option<&[u8]>) -> Result<(), Mismatch> {
        nothing_left(&self.stream.reader, batch)
    }

    fn lay_out(&mut self, rng: &mut Rng) -> io::Result<()> {
        self.stream.lay_out(rng)
    }
}

pub(crate) fn nothing_left(reader: impl AsFd, batch: Batch) -> Result<(), Mismatch> {
    match plain_calls::ioctl_fionread(reader)? {
        0 => Ok(()),
        left => Err(Mismatch::wrong_taking(
            batch.bytes().saturating_sub(left),
            batch,
        )),
    }
}
