//! A buffered writer that sends its staged bytes and a large slice in one call.

mod send_guard;

use std::fmt;
use std::io::{self, ErrorKind, IoSlice, Seek, SeekFrom, Write};
use std::mem;
use std::panic::AssertUnwindSafe;

use crate::buffered::into_inner_error::IntoInnerError;
use crate::cost::CostModel;
use crate::cursor::SegmentCursor;
use crate::error::TransferError;
use crate::gather::vectored_write::VectoredWrite;
use crate::gather::{Gather, recycle};
use crate::sys::limits::{Limits, iov_max};
use crate::sys::staging::StagingBuffer;
use crate::write::all::send_all_referenced;
use send_guard::{SendGuard, consistent_progress, write_zero, wrong_count};

/// [`BufWriter`](io::BufWriter) has the same capacity. Copying 8 KiB takes about as long as a system call. So
/// for a slice that does not fit, a separate call pays, or nearly pays.
const CAPACITY_BYTES: usize = 8 * 1024;

/// A slice of up to this length is staged, even if the staged bytes must be written first to free the buffer.
/// Referencing the slice in a list would cost more than copying the slice.
///
/// The length is `copy_below_bytes(2)` of the default model; a test checks that. A constant saves time in a
/// program that makes a writer for a single line.
const SMALL_BYTES: usize = 2700;

/// A buffered writer like [`BufWriter`](io::BufWriter) that sends the buffer and a large slice in one call.
///
/// A slice that fits the free part of the buffer is copied there (*staged*), and staged slices are written
/// together. For a slice that does not fit, `BufWriter` makes a separate call, so a header and a body become
/// two packets.
///
/// - [`new`](GatherWriter::new) takes an inner writer that implements [`VectoredWrite`] (a file, a pipe, a
///   stream socket). One call sends the staged bytes and the slice, and the slice is not copied. If a slice
///   of up to 2700 bytes does not fit, the staged bytes are written first, and then the slice is staged. A
///   `BufWriter` does the same with every slice that is shorter than its buffer. So no sequence of `write`s
///   takes more calls than with a `BufWriter` of the same capacity.
/// - [`copying`](GatherWriter::copying) takes any [`Write`]: a `Stdout` (which has another buffer), a `Box<dyn
///   Write>`, a TLS stream. Every byte is passed to [`write`](Write::write), and the calls are the calls of a
///   `BufWriter`.
///
/// # Guarantees
///
/// The bytes arrive in the order in which they were written, and each byte arrives only once.
///
/// The bytes of one `write`, or of one list of [`write_vectored`](Write::write_vectored), are sent in one call if
/// they fit the buffer. The kernel may end any call early: on a full disk, and on a non-blocking descriptor that
/// is full. Each piece of a [`write!`] is a separate `write`. A `BufWriter` has the same rule. If a line must
/// stay whole, format the line into a `String` first.
///
/// An error loses no byte: staged bytes that were not written stay staged, and the next call begins with them.
/// `write` fails only if it accepted no byte. If `write` accepted a part of its slice, `write` returns the length
/// of the part, and the next call that would write returns the error. [`WouldBlock`](ErrorKind::WouldBlock) is
/// not kept for the next call: write the rest of the slice again. [`write_all`](Write::write_all) does not report
/// how much of the slice was accepted.
///
/// If the inner writer panics, no byte of the slice is staged, but a part of the slice may already be
/// written.
///
/// # Dropping a writer
///
/// Dropping the writer writes the staged bytes and ignores errors. To see the errors, call
/// [`flush`](Write::flush) or [`into_inner`](GatherWriter::into_inner) before the drop. A full non-blocking
/// descriptor does not take all bytes: repeat `flush` until `flush` succeeds, because the drop loses the
/// remaining bytes. If the last call of the inner writer panicked, the drop writes nothing, because some bytes
/// might be written twice.
///
/// After a fork(2), both processes hold the staged bytes, and both write them. Flush before the fork, or end
/// the child by `_exit(2)`.
///
/// Neither a write nor the drop wipes the buffer: write no secret through the writer.
///
/// # Examples
///
/// ```
/// use std::io::{Read, Write};
/// use vectored::GatherWriter;
///
/// # fn main() -> std::io::Result<()> {
/// let (mut reader, pipe) = std::io::pipe()?;
/// let mut writer = GatherWriter::new(pipe);
/// let body = vec![b'x'; 20_000];
/// write!(writer, "Content-Length: {}\r\n\r\n", body.len())?; // staged
/// writer.write_all(&body)?; // one writev(2) of both
/// assert!(writer.buffer().is_empty());
/// drop(writer.into_inner()?);
///
/// let mut response = String::new();
/// reader.read_to_string(&mut response)?;
/// assert_eq!(response.len(), 25 + 20_000);
/// # Ok(())
/// # }
/// ```
pub struct GatherWriter<W> {
    /// `None` only between `into_parts` and the drop.
    inner: Option<W>,
    route: Route<W>,
    staged: StagingBuffer,
    gather: Gather,
    /// Always empty between calls. The field keeps the allocation.
    iovecs: Vec<IoSlice<'static>>,
    /// The error of a call that accepted a part of its slice. The next call returns the error. `AssertUnwindSafe`
    /// is sound, because the error is only moved: a panic cannot modify a part of the error.
    deferred: Option<AssertUnwindSafe<io::Error>>,
    /// True from the call of the inner writer until its return. After a panic, the flag stays true.
    panicked: bool,
}

/// How bytes reach the inner writer. Function pointers make `GatherWriter<W>` one type for both routes.
enum Route<W> {
    Copies {
        write: fn(&mut W, &[u8]) -> io::Result<usize>,
        flush: fn(&mut W) -> io::Result<()>,
    },
    VectoredWrite(SendList<W>),
}

type SendList<W> =
    fn(&mut W, &mut Gather, &[IoSlice<'_>], &mut SegmentCursor) -> Result<u64, TransferError>;

impl<W: VectoredWrite> GatherWriter<W> {
    /// A writer with a buffer of 8 KiB. Staged bytes and a large slice are sent in one call.
    ///
    /// For an `inner` that does not implement [`VectoredWrite`], use [`copying`](GatherWriter::copying).
    pub fn new(inner: W) -> GatherWriter<W> {
        GatherWriter::with_capacity(CAPACITY_BYTES, inner)
    }

    /// A writer like [`new`](GatherWriter::new), with a buffer of `capacity` bytes. A buffer of 0 bytes
    /// stages nothing.
    ///
    /// Every slice that fits the free part of the buffer is staged, even a long slice. A large capacity pays
    /// if a call is expensive, for example on a file that is open with `O_DSYNC`.
    pub fn with_capacity(capacity: usize, inner: W) -> GatherWriter<W> {
        GatherWriter::build(inner, Route::VectoredWrite(W::resume_write), capacity)
    }
}

impl<W: Write> GatherWriter<W> {
    /// A writer with a buffer of 8 KiB and any `inner`. The calls of [`inner.write`](Write::write) are the
    /// calls that a [`BufWriter`](io::BufWriter) makes.
    ///
    /// Use `copying` instead of a `BufWriter` in a program that also makes gathering writers, so that both
    /// writers have one type. A list ([`write_vectored`](Write::write_vectored)) that fits is staged whole.
    pub fn copying(inner: W) -> GatherWriter<W> {
        GatherWriter::copying_with_capacity(CAPACITY_BYTES, inner)
    }

    /// A writer like [`copying`](GatherWriter::copying), with a buffer of `capacity` bytes. A buffer of 0
    /// bytes stages nothing.
    pub fn copying_with_capacity(capacity: usize, inner: W) -> GatherWriter<W> {
        let route = Route::Copies {
            write: W::write,
            flush: W::flush,
        };
        GatherWriter::build(inner, route, capacity)
    }
}

impl<W> GatherWriter<W> {
    fn build(inner: W, route: Route<W>, capacity: usize) -> GatherWriter<W> {
        // With this limit, the `Gather` splits neither the staged bytes nor a list that fits the buffer.
        let enlarge = |costs: &mut CostModel| {
            costs.staging_bytes = costs.staging_bytes.max(capacity.saturating_mul(2));
        };
        GatherWriter {
            inner: Some(inner),
            route,
            staged: StagingBuffer::with_capacity(capacity),
            gather: Gather::with_model(CostModel::default().with(enlarge)),
            iovecs: Vec::new(),
            deferred: None,
            panicked: false,
        }
    }

    /// The inner writer.
    #[must_use]
    pub fn get_ref(&self) -> &W {
        self.inner.as_ref().expect(INNER_IS_PRESENT)
    }

    /// The inner writer, mutably. Flush before a direct write to the inner writer, because staged bytes would
    /// arrive after the direct write.
    #[must_use]
    pub fn get_mut(&mut self) -> &mut W {
        self.inner.as_mut().expect(INNER_IS_PRESENT)
    }

    /// The staged bytes, which are accepted and not yet written.
    #[must_use]
    pub fn buffer(&self) -> &[u8] {
        &self.staged
    }

    /// The size of the buffer, in bytes.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.staged.capacity()
    }

    /// Accepts all of `segments` in order, and returns the number of bytes. A list that fits the buffer is
    /// staged whole.
    ///
    /// The method repeats [`write_vectored`](Write::write_vectored) until the list is accepted.
    pub fn write_all_vectored(&mut self, segments: &[IoSlice<'_>]) -> Result<u64, TransferError> {
        let (cursor, limits) = (&mut SegmentCursor::new(), UNLIMITED);
        send_all_referenced(
            segments,
            cursor,
            limits,
            || Ok(()),
            |slices| self.write_vectored(slices),
        )
    }

    /// Writes the staged bytes and returns the inner writer. Does not flush the inner writer.
    ///
    /// # Errors
    ///
    /// The error of the write, or an unreported error of an earlier call. The returned error contains this
    /// writer and the staged bytes that were not written.
    pub fn into_inner(mut self) -> Result<W, IntoInnerError<GatherWriter<W>>> {
        match self.write_staged() {
            Ok(()) => Ok(self.into_parts().0),
            Err(error) => Err(IntoInnerError::new(self, error)),
        }
    }

    /// Returns the inner writer and the staged bytes, without writing the staged bytes.
    ///
    /// An unreported error of an earlier call is dropped. If the last call of the inner writer panicked, some of the
    /// staged bytes may have been written.
    pub fn into_parts(mut self) -> (W, Vec<u8>) {
        let staged = self.staged.to_vec();
        (self.inner.take().expect(INNER_IS_PRESENT), staged)
    }

    /// A slice that would fill the whole empty buffer is not staged, because copying it would save no call.
    fn should_stage(&self, bytes: usize) -> bool {
        bytes <= self.staged.free_bytes() && bytes < self.capacity()
    }

    fn should_stage_after_send(&self, bytes: usize) -> bool {
        let is_small = bytes <= SMALL_BYTES || matches!(self.route, Route::Copies { .. });
        is_small && bytes < self.capacity()
    }

    fn should_stage_list_after_send(&self, segments: &[IoSlice<'_>], bytes: usize) -> bool {
        let goes_in_one_call = match self.route {
            Route::Copies { .. } => false,
            Route::VectoredWrite(_) => {
                let filled = segments.iter().filter(|segment| !segment.is_empty());
                segments.len() < iov_max() || filled.count() < iov_max()
            }
        };
        self.should_stage_after_send(bytes) || (bytes <= self.capacity() && !goes_in_one_call)
    }

    /// Not inlined, so that the compiler can inline the fast path, which stages a slice that fits.
    #[cold]
    #[inline(never)]
    fn write_cold(&mut self, slice: &[u8]) -> io::Result<usize> {
        if slice.is_empty() {
            return Ok(0);
        }
        self.return_deferred()?;
        if !self.should_stage(slice.len()) {
            if !self.should_stage_after_send(slice.len()) {
                return self.write_unstaged(slice);
            }
            // If `push` filled the free part first, a slice, for example a record of a log, would be split.
            self.send_staged()?;
        }
        self.staged.push(slice);
        Ok(slice.len())
    }

    fn write_unstaged(&mut self, slice: &[u8]) -> io::Result<usize> {
        let Route::Copies { write, .. } = self.route else {
            let (accepted, error) = self.send(&[IoSlice::new(slice)]);
            return self.accepted_or_error(accepted, error);
        };
        self.send_staged()?;
        let inner = self.inner.as_mut().expect(INNER_IS_PRESENT);
        self.panicked = true;
        let result = write(inner, slice);
        self.panicked = false;
        match result {
            Ok(bytes) if bytes > slice.len() => Err(wrong_count()),
            result => result,
        }
    }

    fn write_list_unstaged(&mut self, segments: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.route {
            Route::Copies { .. } => self.write_first_and_stage(segments),
            Route::VectoredWrite(_) => {
                let (accepted, error) = self.send(segments);
                self.accepted_or_error(accepted, error)
            }
        }
    }

    /// After a segment is accepted, no call follows: that call might fail or panic.
    fn write_first_and_stage(&mut self, segments: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut segments = segments.iter().filter(|segment| !segment.is_empty());
        let Some(first) = segments.next() else {
            return Ok(0);
        };
        let mut accepted = self.write(first)?;
        if accepted == first.len() {
            for segment in segments {
                if !self.should_stage(segment.len()) {
                    break;
                }
                self.staged.push(segment);
                accepted += segment.len();
            }
        }
        Ok(accepted)
    }

    /// Returns the deferred error if there is one. If not, writes the staged bytes.
    fn write_staged(&mut self) -> io::Result<()> {
        self.return_deferred()?;
        self.send_staged()
    }

    /// Also writes if an error is deferred.
    fn send_staged(&mut self) -> io::Result<()> {
        match self.send(&[]) {
            (_, None) => Ok(()),
            (_, Some(error)) => Err(error),
        }
    }

    /// Returns how many bytes of `segments` were written, and the error that stopped the write.
    fn send(&mut self, segments: &[IoSlice<'_>]) -> (u64, Option<io::Error>) {
        // A cursor after an empty segment would mean that bytes of the list were sent.
        let empty = segments.iter().take_while(|segment| segment.is_empty());
        let segments = &segments[empty.count()..];
        if self.staged.is_empty() && segments.is_empty() {
            return (0, None);
        }
        let inner = self.inner.as_mut().expect(INNER_IS_PRESENT);
        let staged_bytes = self.staged.len() as u64;
        let mut sending = SendGuard {
            cursor: SegmentCursor::new(),
            staged: &mut self.staged,
        };
        self.panicked = true;
        let (accepted, error) = match self.route {
            Route::Copies { write, .. } => {
                debug_assert!(
                    segments.is_empty(),
                    "a route that copies sends staged bytes only"
                );
                (0, sending.write_staged(|bytes| write(inner, bytes)))
            }
            Route::VectoredWrite(send) => {
                let gather = &mut self.gather;
                let mut iovecs = recycle(mem::take(&mut self.iovecs));
                iovecs.push(IoSlice::new(sending.staged));
                iovecs.extend_from_slice(segments);
                let result = send(inner, gather, &iovecs, &mut sending.cursor);
                let sent = consistent_progress(&iovecs, sending.cursor, result);
                self.iovecs = recycle(iovecs);
                match sent {
                    Some((bytes, error)) => (bytes.saturating_sub(staged_bytes), error),
                    None => {
                        // The number of written bytes is unknown, so the staged bytes are dropped: no byte must be
                        // written twice.
                        sending.cursor = SegmentCursor::at(1, 0);
                        (0, Some(wrong_count()))
                    }
                }
            }
        };
        drop(sending);
        self.panicked = false;
        (accepted, error)
    }

    /// If some bytes were accepted, the error is deferred to the next call.
    fn accepted_or_error(&mut self, accepted: u64, error: Option<io::Error>) -> io::Result<usize> {
        match error {
            Some(error) if accepted == 0 => return Err(error),
            Some(error) if !is_transient(&error) => self.deferred = Some(AssertUnwindSafe(error)),
            _ => {}
        }
        // A list that contains a slice many times can have more than `usize::MAX` bytes.
        Ok(usize::try_from(accepted).unwrap_or(usize::MAX))
    }

    fn return_deferred(&mut self) -> io::Result<()> {
        self.deferred
            .take()
            .map_or(Ok(()), |AssertUnwindSafe(error)| Err(error))
    }
}

/// A transient error need not be deferred: the next attempt meets the error again if the cause persists.
fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// [`Write::write_vectored`] splits a long list, so `write_all_vectored` needs no limits.
const UNLIMITED: Limits = Limits {
    segments: usize::MAX,
    bytes: usize::MAX,
};

const INNER_IS_PRESENT: &str =
    "only into_parts, which consumes the GatherWriter, takes the inner writer";

impl<W> Write for GatherWriter<W> {
    #[inline]
    fn write(&mut self, slice: &[u8]) -> io::Result<usize> {
        if slice.len() < self.staged.free_bytes() {
            self.staged.push(slice);
            return Ok(slice.len());
        }
        self.write_cold(slice)
    }

    #[inline]
    fn write_all(&mut self, slice: &[u8]) -> io::Result<()> {
        if slice.len() < self.staged.free_bytes() {
            self.staged.push(slice);
            return Ok(());
        }
        write_all_cold(self, slice)
    }

    fn write_vectored(&mut self, segments: &[IoSlice<'_>]) -> io::Result<usize> {
        let sizes = segments.iter().map(|segment| segment.len());
        let bytes = sizes.fold(0, usize::saturating_add);
        if bytes == 0 {
            return Ok(0);
        }
        self.return_deferred()?;
        if !self.should_stage(bytes) {
            if !self.should_stage_list_after_send(segments, bytes) {
                return self.write_list_unstaged(segments);
            }
            if bytes > self.staged.free_bytes() {
                self.send_staged()?;
            }
        }
        self.staged.push_run(segments);
        Ok(bytes)
    }

    /// Writes the staged bytes, and flushes an inner writer of [`copying`](GatherWriter::copying). A
    /// [`VectoredWrite`] has no buffer to flush.
    fn flush(&mut self) -> io::Result<()> {
        self.write_staged()?;
        match self.route {
            Route::Copies { flush, .. } => flush(self.get_mut()),
            Route::VectoredWrite(_) => Ok(()),
        }
    }
}

/// With [`Route::Copies`], the rest of a long slice is not staged after a short call. A `BufWriter` has the same
/// rule.
#[cold]
#[inline(never)]
fn write_all_cold<W>(writer: &mut GatherWriter<W>, mut slice: &[u8]) -> io::Result<()> {
    let is_unstaged = match writer.route {
        Route::Copies { .. } => slice.len() >= writer.capacity(),
        Route::VectoredWrite(_) => false,
    };
    while !slice.is_empty() {
        let written = if is_unstaged { writer.write_unstaged(slice) } else { writer.write(slice) };
        match written {
            Ok(0) => return Err(write_zero()),
            Ok(bytes) => slice = &slice[bytes..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl<W: Seek> Seek for GatherWriter<W> {
    /// Writes the staged bytes at the old position, and then changes the position.
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.write_staged()?;
        self.get_mut().seek(position)
    }
}

impl<W> Drop for GatherWriter<W> {
    fn drop(&mut self) {
        if self.inner.is_some() && !self.panicked {
            // A destructor cannot report an error, and must not panic.
            let _ = self.send_staged();
        }
    }
}

impl<W: fmt::Debug> fmt::Debug for GatherWriter<W> {
    /// Shows the number of staged bytes. Does not show the bytes, because they may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatherWriter")
            .field("inner", self.get_ref())
            .field("staged_bytes", &self.staged.len())
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
