//! A buffered reader that fills lists and reads ahead.

use std::fmt;
use std::io::{self, BufRead, IoSliceMut, Read};

use crate::cursor::SegmentCursor;
use crate::error::TransferError;
use crate::runs::RunPolicy;
use crate::sys::limits::Limits;
use crate::transfer::read_loop::{AtEof, recycle, retry_interrupted, unexpected_eof};
use crate::transfer::read_plan::{copy_out, plan_read};

const DEFAULT_CAPACITY_BYTES: usize = 8 * 1024;

/// A buffered reader that fills lists. Large segments are filled directly. Small segments are filled from bytes
/// that were read ahead.
///
/// The reader reads ahead into its buffer, like a [`BufReader`](std::io::BufReader), and fills small segments
/// from the buffer. If the rest of a list is at least as long as the buffer, one
/// [`read_vectored`](Read::read_vectored) of the inner reader fills the rest of the list and then the buffer. So
/// a large payload is read directly into its segment, and the same call reads the next header.
///
/// [`buffer`](ScatterReader::buffer) shows the bytes that were read ahead, and
/// [`into_parts`](ScatterReader::into_parts) returns them. Dropping the reader loses these bytes. With a
/// capacity of 0, nothing is read ahead.
///
/// The buffer is not aligned: for a file that is open with `O_DIRECT`, use a [`Scatter`](crate::Scatter). The
/// inner reader must be a stream of bytes ([details](crate::write_once#messages)), and should fill several
/// buffers in one call. [The first page](crate#headers-and-payloads-read) has an example.
pub struct ScatterReader<R> {
    inner: R,
    /// The length of the buffer is the capacity.
    buffer: Box<[u8]>,
    /// The bytes that were read ahead are `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Always empty between calls. The field keeps the allocation.
    iovecs: Vec<IoSliceMut<'static>>,
}

impl<R> ScatterReader<R> {
    /// A reader that reads ahead up to 8 KiB.
    #[must_use]
    pub fn new(inner: R) -> ScatterReader<R> {
        ScatterReader::with_capacity(DEFAULT_CAPACITY_BYTES, inner)
    }

    /// A reader that reads ahead up to `capacity` bytes, or nothing if `capacity` is 0. Allocates the buffer.
    #[must_use]
    pub fn with_capacity(capacity: usize, inner: R) -> ScatterReader<R> {
        ScatterReader {
            inner,
            buffer: vec![0; capacity].into_boxed_slice(),
            start: 0,
            end: 0,
            iovecs: Vec::new(),
        }
    }

    /// The inner reader.
    #[must_use]
    pub fn get_ref(&self) -> &R {
        &self.inner
    }

    /// The inner reader, mutably. A direct read from the inner reader skips the bytes that were read ahead.
    #[must_use]
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// The bytes that were read ahead and not yet returned.
    #[must_use]
    pub fn buffer(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// The size of the buffer: the most bytes that are read ahead.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.buffer.len()
    }

    /// Returns the inner reader, and the bytes that were read ahead and not yet returned.
    #[must_use = "the second part holds bytes that are no longer in the first"]
    pub fn into_parts(self) -> (R, io::Cursor<Vec<u8>>) {
        let unread = self.buffer().to_vec();
        (self.inner, io::Cursor::new(unread))
    }

    fn copy_buffered(
        &mut self,
        segments: &mut [IoSliceMut<'_>],
        cursor: &mut SegmentCursor,
    ) -> usize {
        let copied = copy_out(self.buffer(), *cursor, segments);
        cursor.advance(segments, copied);
        self.start += copied;
        copied
    }
}

impl<R: Read> ScatterReader<R> {
    /// Reads into `segments` in order until all segments are full, and returns the number of bytes.
    ///
    /// Each call of the inner reader gets at most [`iov_max`](crate::limits::iov_max) buffers and
    /// [`MAX_CALL_BYTES`](crate::limits::MAX_CALL_BYTES) bytes. A list without bytes makes no call.
    ///
    /// # Errors
    ///
    /// The first error other than `Interrupted`, with the number of bytes of the list that were filled before
    /// the error:
    ///
    /// - [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the stream ends before the list is full. If no
    ///   byte was transferred, the stream ended between two lists.
    /// - [`WouldBlock`](io::ErrorKind::WouldBlock) from a non-blocking reader.
    ///   [`resume_read`](ScatterReader::resume_read) can resume.
    /// - [`InvalidData`](io::ErrorKind::InvalidData) if the inner reader reports more bytes than the call
    ///   asked for.
    /// - Any error of the inner reader.
    ///
    /// The bytes that were read ahead stay in the buffer, so the reader can be used after an error.
    pub fn read_exact_vectored(
        &mut self,
        segments: &mut [IoSliceMut<'_>],
    ) -> Result<u64, TransferError> {
        self.resume_read(segments, &mut SegmentCursor::new())
    }

    /// Reads into `segments` from `cursor` on until the segments are full, and advances the cursor.
    ///
    /// Returns how many bytes the method read. After [`WouldBlock`](io::ErrorKind::WouldBlock), call the method
    /// again with the same list and cursor. The function [`resume_read`](crate::resume_read) does the same
    /// without a buffer.
    pub fn resume_read(
        &mut self,
        segments: &mut [IoSliceMut<'_>],
        cursor: &mut SegmentCursor,
    ) -> Result<u64, TransferError> {
        self.receive_all(segments, cursor, Limits::default(), AtEof::Fail)
    }

    /// Reads into `segments` in order until the segments are full or the stream ends, and returns the number
    /// of bytes.
    pub fn read_up_to_eof(
        &mut self,
        segments: &mut [IoSliceMut<'_>],
    ) -> Result<u64, TransferError> {
        let cursor = &mut SegmentCursor::new();
        self.receive_all(segments, cursor, Limits::default(), AtEof::Stop)
    }

    fn receive_all(
        &mut self,
        segments: &mut [IoSliceMut<'_>],
        cursor: &mut SegmentCursor,
        limits: Limits,
        at_eof: AtEof,
    ) -> Result<u64, TransferError> {
        let mut transferred = self.copy_buffered(segments, cursor) as u64;
        while !cursor.is_at_end(segments) {
            let read = if cursor.remaining_bytes(segments) < self.buffer.len() as u64 {
                self.refill().map(|_| self.copy_buffered(segments, cursor))
            } else {
                self.read_directly(segments, cursor, limits)
            };
            match (read, at_eof) {
                (Ok(0), AtEof::Stop) => break,
                (Ok(0), AtEof::Fail) => {
                    return Err(TransferError::reading(transferred, unexpected_eof()));
                }
                (Ok(read), _) => transferred += read as u64,
                (Err(error), _) => return Err(TransferError::reading(transferred, error)),
            }
        }
        Ok(transferred)
    }

    /// One call fills the rest of the list and then the empty buffer. Returns how many bytes the list got.
    fn read_directly(
        &mut self,
        segments: &mut [IoSliceMut<'_>],
        cursor: &mut SegmentCursor,
        limits: Limits,
    ) -> io::Result<usize> {
        let rules = RunPolicy::new(0, limits);
        let Some(plan) = plan_read(segments, *cursor, rules, 0, &mut Vec::new()) else {
            return Ok(0);
        };
        // The call reads ahead only if it can reach the end of the list, and if its array has a free entry.
        let ahead = if plan.end.is_at_end(segments) && plan.entries < limits.segments {
            self.buffer.len().min(limits.bytes - plan.bytes)
        } else {
            0
        };
        let mut iovecs = recycle(std::mem::take(&mut self.iovecs));
        plan.build(segments, &[], &mut [], &mut iovecs);
        if ahead > 0 {
            iovecs.push(IoSliceMut::new(&mut self.buffer[..ahead]));
        }
        let result = retry_interrupted(|| self.inner.read_vectored(&mut iovecs));
        self.iovecs = recycle(iovecs);
        let read = check_count(result?, plan.bytes + ahead)?;
        let of_list = read.min(plan.bytes);
        cursor.advance(segments, of_list);
        (self.start, self.end) = (0, read - of_list);
        Ok(of_list)
    }

    fn refill(&mut self) -> io::Result<usize> {
        (self.start, self.end) = (0, 0);
        let result = retry_interrupted(|| self.inner.read(&mut self.buffer));
        self.end = check_count(result?, self.buffer.len())?;
        Ok(self.end)
    }
}

/// An implementation of `Read` may return a wrong count.
fn check_count(read: usize, asked: usize) -> io::Result<usize> {
    if read > asked {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("the inner reader reported {read} bytes, but was asked for at most {asked}"),
        ));
    }
    Ok(read)
}

impl<R: Read> Read for ScatterReader<R> {
    /// If the buffer contains bytes, reads from the buffer. If the buffer is empty, makes one call of the inner
    /// reader. The call fills `buf` if `buf` is at least as long as the buffer, and fills the buffer if `buf` is
    /// shorter.
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.read_vectored(&mut [IoSliceMut::new(buf)])
    }

    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let wanted = SegmentCursor::new().remaining_bytes(bufs);
        if wanted == 0 {
            return Ok(0);
        }
        if self.start == self.end && wanted >= self.buffer.len() as u64 {
            let asked = usize::try_from(wanted).unwrap_or(usize::MAX);
            return check_count(self.inner.read_vectored(bufs)?, asked);
        }
        self.fill_buf()?;
        Ok(self.copy_buffered(bufs, &mut SegmentCursor::new()))
    }
}

/// With a capacity of 0, [`fill_buf`](BufRead::fill_buf) panics, because an empty result would mean the end
/// of the file.
impl<R: Read> BufRead for ScatterReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.end {
            assert!(
                !self.buffer.is_empty(),
                "fill_buf needs a ScatterReader with a capacity above 0"
            );
            (self.start, self.end) = (0, 0);
            // `Interrupted` is returned to the caller, like by `BufReader`.
            self.end = check_count(self.inner.read(&mut self.buffer)?, self.buffer.len())?;
        }
        Ok(self.buffer())
    }

    fn consume(&mut self, amount: usize) {
        self.start = self.start.saturating_add(amount).min(self.end);
    }
}

impl<R: fmt::Debug> fmt::Debug for ScatterReader<R> {
    /// Shows the number of buffered bytes. Does not show the bytes, because they may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScatterReader")
            .field("inner", &self.inner)
            .field("buffered_bytes", &self.buffer().len())
            .field("capacity", &self.buffer.len())
            .finish()
    }
}

#[cfg(test)]
mod tests;
