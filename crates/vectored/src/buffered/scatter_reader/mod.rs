//! A reader of records: header and payload into separate buffers, with what comes next read ahead.

use std::fmt;
use std::io::{self, BufRead, IoSliceMut, Read};
use std::os::fd::AsFd;

use crate::Limits;
use crate::cursor::SegmentCursor;
use crate::error::TransferError;
use crate::transfer::message_sockets::refuse_reading_messages;
use crate::transfer::read_loop::{AtEof, recycle, retry_interrupted, unexpected_eof};
use crate::transfer::read_plan::{copy_out, plan_read};
use crate::transfer::rules::Rules;

/// The usual size of the buffer, in bytes: that of [`std::io::BufReader`].
const DEFAULT_CAPACITY: usize = 8 * 1024;

/// A buffered reader that fills lists: large parts directly, what follows them read ahead.
///
/// A stream of records, each a header that tells the length of a payload, costs a naive reader two
/// calls a record. `ScatterReader` reads ahead into a buffer of its own, as
/// [`BufReader`](std::io::BufReader) does, and serves small records from there. A list that asks for
/// more than the buffer holds is not copied through it: the rest of the list and, behind it, the
/// buffer go into one [`read_vectored`](Read::read_vectored) of the inner reader. So a large payload
/// lands where it belongs, and the next header comes with it.
///
/// What was read ahead is in [`buffer`](ScatterReader::buffer) and comes back from
/// [`into_parts`](ScatterReader::into_parts); to drop the reader drops it. With a capacity of 0
/// nothing is read ahead.
///
/// The buffer is not aligned, so a file that is open with `O_DIRECT` mostly answers `EINVAL`. Read such a file with
/// [`read_exact_vectored_at`](crate::read_exact_vectored_at) into an [`AlignedBuffer`](crate::AlignedBuffer), or with
/// a [`Scatter`](crate::Scatter).
///
/// The inner reader should really scatter, as descriptors and sockets do. One whose `read_vectored`
/// fills the first buffer alone (the default of the trait) is right as well, in more calls. It should
/// be a stream of bytes: [`refusing_messages`](ScatterReader::refusing_messages) asks a descriptor.
///
/// # Examples
///
/// ```
/// use std::io::{IoSliceMut, Write};
/// use vectored::ScatterReader;
///
/// # fn main() -> std::io::Result<()> {
/// let (reader, mut writer) = std::io::pipe()?;
/// writer.write_all(b"\x05\0hello\x03\0you")?;
/// drop(writer);
///
/// let mut reader = ScatterReader::new(reader);
/// let mut header = [0; 2];
/// reader.read_exact_vectored(&mut [IoSliceMut::new(&mut header)])?;
/// let mut records = Vec::new();
/// loop {
///     // This record's payload together with the header of the next, if there is a next.
///     let mut payload = vec![0; u16::from_le_bytes(header).into()];
///     let wanted = payload.len() as u64;
///     let bytes = reader.read_up_to_eof_vectored(&mut [
///         IoSliceMut::new(&mut payload),
///         IoSliceMut::new(&mut header),
///     ])?;
///     // In between, a part of a payload or of a header would pass for the whole.
///     assert!(bytes == wanted || bytes == wanted + 2, "the stream ends within a record");
///     records.push(payload);
///     if bytes == wanted {
///         break;
///     }
/// }
/// assert_eq!(records, [&b"hello"[..], b"you"]);
/// # Ok(())
/// # }
/// ```
pub struct ScatterReader<R> {
    inner: R,
    /// Of the capacity for good.
    buffer: Box<[u8]>,
    /// What was read ahead lies in `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Always empty between calls: kept for its memory.
    iovecs: Vec<IoSliceMut<'static>>,
}

impl<R> ScatterReader<R> {
    /// A reader that reads ahead up to 8 KiB.
    #[must_use]
    pub fn new(inner: R) -> ScatterReader<R> {
        ScatterReader::with_capacity(DEFAULT_CAPACITY, inner)
    }

    /// A reader that reads ahead up to `capacity` bytes, which are allocated here; with 0, nothing.
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

    /// The inner reader. To read from it directly skips what was read ahead.
    #[must_use]
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// The bytes that were read ahead and not yet asked for.
    #[must_use]
    pub fn buffer(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// The most bytes that are read ahead.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.buffer.len()
    }

    /// The inner reader, and the bytes that were taken from it and not yet asked for.
    ///
    /// ```
    /// use std::io::{IoSliceMut, Read};
    /// use vectored::ScatterReader;
    ///
    /// # fn main() -> std::io::Result<()> {
    /// let mut reader = ScatterReader::new(&b"header, body"[..]);
    /// let mut header = [0; 6];
    /// reader.read_exact_vectored(&mut [IoSliceMut::new(&mut header)])?;
    ///
    /// let (inner, unread) = reader.into_parts();
    /// let mut rest = String::new();
    /// unread.chain(inner).read_to_string(&mut rest)?;
    /// assert_eq!(rest, ", body");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "the second part holds bytes that are no longer in the first"]
    pub fn into_parts(self) -> (R, io::Cursor<Vec<u8>>) {
        let unread = self.buffer().to_vec();
        (self.inner, io::Cursor::new(unread))
    }

    /// Serves the list from the buffer, as far as that goes.
    fn take_buffered(
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

impl<R: AsFd> ScatterReader<R> {
    /// The same reader, if what it reads from is not a socket that keeps messages apart.
    ///
    /// [`new`](ScatterReader::new) takes any reader, and cannot ask. Of such a socket (in a `File`,
    /// say) it would lose what does not fit, and join the rest. A program that cannot know what it
    /// was handed, as its standard input, asks so: once, where the functions that borrow a
    /// descriptor ask for every list ([why](crate#messages)).
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if it is a socket of any type but
    /// `SOCK_STREAM`. The reader is dropped then; to keep the inner one, hand over a `&File` or the
    /// like.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::fs::File;
    /// use std::os::fd::OwnedFd;
    /// use std::os::unix::net::UnixDatagram;
    /// use vectored::ScatterReader;
    ///
    /// # fn main() -> std::io::Result<()> {
    /// let (stream, _writer) = std::io::pipe()?;
    /// assert!(ScatterReader::new(stream).refusing_messages().is_ok());
    ///
    /// let messages = File::from(OwnedFd::from(UnixDatagram::unbound()?));
    /// let error = ScatterReader::new(messages).refusing_messages().unwrap_err();
    /// assert!(error.to_string().contains("SOCK_DGRAM"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn refusing_messages(self) -> io::Result<ScatterReader<R>> {
        refuse_reading_messages(self.inner.as_fd())?;
        Ok(self)
    }
}

impl<R: Read> ScatterReader<R> {
    /// Reads into all of `segments` in order until they are full, and returns their bytes.
    ///
    /// Empty segments are skipped; a list without bytes makes no call. The array of slices is
    /// neither reordered nor shortened. A call of the inner reader is given at most
    /// [`iov_max`](crate::iov_max) buffers and [`MAX_CALL_BYTES`](crate::MAX_CALL_BYTES).
    ///
    /// # Errors
    ///
    /// The first error other than `Interrupted`, with the bytes of the list that were filled before
    /// it, from the buffer or the inner reader:
    ///
    /// - [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the stream ends before the list is full;
    ///   with no byte transferred, it ended between two lists;
    /// - [`WouldBlock`](io::ErrorKind::WouldBlock) from a non-blocking reader:
    ///   [`read_into`](ScatterReader::read_into) goes on from there;
    /// - [`InvalidData`](io::ErrorKind::InvalidData) if the inner reader claims to have read more
    ///   than it was asked for;
    /// - whatever the inner reader answers.
    ///
    /// What was read ahead stays, so the reader can be used after an error.
    pub fn read_exact_vectored(
        &mut self,
        segments: &mut [IoSliceMut<'_>],
    ) -> Result<u64, TransferError> {
        self.read_into(segments, &mut SegmentCursor::new())
    }

    /// Reads into `segments` from `cursor` on until they are full; the cursor moves along.
    ///
    /// As the function [`read_into`](crate::read_into): after
    /// [`WouldBlock`](io::ErrorKind::WouldBlock), call it again with the same list and cursor.
    ///
    /// # Errors
    ///
    /// As [`read_exact_vectored`](ScatterReader::read_exact_vectored), with the bytes of this call.
    ///
    /// # Panics
    ///
    /// If the cursor lies outside of the list.
    pub fn read_into(
        &mut self,
        segments: &mut [IoSliceMut<'_>],
        cursor: &mut SegmentCursor,
    ) -> Result<u64, TransferError> {
        self.receive_all(segments, cursor, Limits::default(), AtEof::Fail)
    }

    /// Reads into `segments` in order until they are full or the stream ends; returns the bytes read.
    ///
    /// # Errors
    ///
    /// As [`read_exact_vectored`](ScatterReader::read_exact_vectored), without `UnexpectedEof`.
    pub fn read_up_to_eof_vectored(
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
        let mut transferred = self.take_buffered(segments, cursor) as u64;
        // The buffer is empty from here on: what a call reads ahead comes behind the list's end.
        while !cursor.is_at_end(segments) {
            let read = if cursor.remaining_bytes(segments) < self.buffer.len() as u64 {
                self.refill().map(|_| self.take_buffered(segments, cursor))
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

    /// One call for the rest of the list and, behind it, the empty buffer. Returns the bytes that
    /// are the list's.
    fn read_directly(
        &mut self,
        segments: &mut [IoSliceMut<'_>],
        cursor: &mut SegmentCursor,
        limits: Limits,
    ) -> io::Result<usize> {
        let rules = Rules {
            copy_below_bytes: 0,
            limits,
            fill_bytes: 0,
        };
        let Some(plan) = plan_read(segments, *cursor, rules, 0, &mut Vec::new()) else {
            return Ok(0);
        };
        // Only behind the last byte of the list is there anything to read ahead.
        let ahead = match plan.end.is_at_end(segments) && plan.entries < limits.segments {
            true => self.buffer.len().min(limits.bytes - plan.bytes),
            false => 0,
        };
        let mut iovecs = recycle(std::mem::take(&mut self.iovecs));
        plan.build(segments, &[], &mut [], &mut iovecs);
        if ahead > 0 {
            iovecs.push(IoSliceMut::new(&mut self.buffer[..ahead]));
        }
        let result = retry_interrupted(|| self.inner.read_vectored(&mut iovecs));
        self.iovecs = recycle(iovecs);
        let read = believe(result?, plan.bytes + ahead)?;
        let of_list = read.min(plan.bytes);
        cursor.advance(segments, of_list);
        (self.start, self.end) = (0, read - of_list);
        Ok(of_list)
    }

    /// One call for the empty buffer alone.
    fn refill(&mut self) -> io::Result<usize> {
        (self.start, self.end) = (0, 0);
        let result = retry_interrupted(|| self.inner.read(&mut self.buffer));
        self.end = believe(result?, self.buffer.len())?;
        Ok(self.end)
    }
}

/// A reader may be any code: a count that cannot be is an error, before it is used.
fn believe(read: usize, asked: usize) -> io::Result<usize> {
    if read > asked {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("the inner reader reported {read} bytes of {asked}"),
        ));
    }
    Ok(read)
}

impl<R: Read> Read for ScatterReader<R> {
    /// From the buffer if there is anything in it; otherwise one call, past the buffer if `buf` is at
    /// least as large.
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
            return believe(self.inner.read_vectored(bufs)?, asked);
        }
        self.fill_buf()?;
        Ok(self.take_buffered(bufs, &mut SegmentCursor::new()))
    }
}

/// With a capacity of 0, [`fill_buf`](BufRead::fill_buf) could not tell an end of file from a buffer
/// without room: it panics then.
impl<R: Read> BufRead for ScatterReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.end {
            assert!(
                !self.buffer.is_empty(),
                "a reader without a buffer cannot fill it"
            );
            (self.start, self.end) = (0, 0);
            // Interruptions are the caller's, as with `BufReader`.
            self.end = believe(self.inner.read(&mut self.buffer)?, self.buffer.len())?;
        }
        Ok(self.buffer())
    }

    fn consume(&mut self, amount: usize) {
        self.start = self.start.saturating_add(amount).min(self.end);
    }
}

impl<R: fmt::Debug> fmt::Debug for ScatterReader<R> {
    /// How much is buffered, and not what.
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
