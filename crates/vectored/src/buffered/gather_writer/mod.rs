//! A buffered writer that sends what it holds and a large slice in one call.

use std::fmt;
use std::io::{self, ErrorKind, IoSlice, Seek, SeekFrom, Write};
use std::mem;
use std::panic::AssertUnwindSafe;

use crate::buffered::into_inner_error::{IntoInnerError, WriterPanicked};
use crate::cost::CostModel;
use crate::cursor::SegmentCursor;
use crate::error::TransferError;
use crate::gather::gathers::Gathers;
use crate::gather::{Gather, recycle};
use crate::sys::limits::iov_max;
use crate::sys::staging::StagingBuffer;

/// The capacity of [`GatherWriter::new`] and [`GatherWriter::copying`], in bytes: 8 KiB, as
/// [`BufWriter`](io::BufWriter) has.
///
/// To copy so much takes about as long as a system call, so a slice that does not fit is about as long as
/// one for which a call of its own begins to pay.
const CAPACITY_BYTES: usize = 8 * 1024;

/// A writer with a buffer, as [`BufWriter`](io::BufWriter), that gathers if the inner writer does.
///
/// A slice that fits the free part of the buffer is copied behind the others (*staged*), and staged slices are
/// written together. The two differ when a slice does not fit: `BufWriter` writes the staged bytes in one call and
/// the slice in a later one. So a header of 16 bytes and a body of 64 KiB are two packets, or two records of a log
/// between which another writer may come.
///
/// - [`new`](GatherWriter::new) takes what [`Gathers`] (files, pipes, stream sockets): the staged bytes and
///   the slice go in one call, and the slice is not copied. (A slice of up to 1600 bytes is staged once the
///   staged bytes are written, as `BufWriter` does. So no sequence of `write`s takes more calls than with a
///   `BufWriter` of the same capacity.)
/// - [`copying`](GatherWriter::copying) takes any [`Write`]: `Stdout` and its lock, a `Box<dyn Write>`, a
///   TLS stream. It cannot find out whether that gathers, so every byte goes through
///   [`write`](Write::write), in the same calls as with `BufWriter`.
///
/// # Guarantees
///
/// The bytes arrive in the order in which they were written, each once.
///
/// The bytes of one `write` go in one call if they fit the buffer: they are staged whole, or sent whole
/// with the staged bytes. The same holds for the whole list of one
/// [`write_vectored`](Write::write_vectored). A longer slice or list may take several calls, and the kernel
/// may end any call early: on a full disk, on a non-blocking descriptor, on a pipe or socket that is full.
/// So lines that are written to a file with `O_APPEND` are not mixed with those of another writer. As with
/// `BufWriter`, each piece of a [`write!`] is a `write` of its own: format a line that must not be cut into
/// a `String` first.
///
/// An error loses nothing: staged bytes that were not written stay staged, and the next call begins with
/// them. `write` fails only if no byte of its slice was accepted, as the trait demands. If a part was, it
/// returns the length of that part, and the next call that would write returns the error
/// ([`WouldBlock`](ErrorKind::WouldBlock) is forgotten instead: a new attempt finds out). So after
/// `WouldBlock` write the rest again. [`write_all`](Write::write_all) does not say how much of its slice was
/// accepted; the rest of it is not staged.
///
/// If the inner writer panics, the slice of that `write` was not accepted, and no byte of it is staged.
/// Staged bytes of which the inner writer had not reported that they went stay staged, as with `BufWriter`.
/// If a part of the slice had gone, to write it again would write that part twice: every later call that
/// could write then fails, and [`into_parts`](GatherWriter::into_parts) returns the inner writer.
///
/// # Dropping it
///
/// The staged bytes are written, and errors are ignored: call [`flush`](Write::flush) or
/// [`into_inner`](GatherWriter::into_inner) first. On a non-blocking descriptor that is full the bytes that
/// it does not take at once are lost, since nothing waits for it: repeat `flush` until it succeeds. Nothing
/// is written if the last call of the inner writer panicked, since it might be written twice.
///
/// # After fork(2)
///
/// Both processes hold the staged bytes, and each writes them: they arrive twice. Flush before the fork, or
/// leave the child by `_exit(2)` or execve(2), which drop nothing.
///
/// # Secrets
///
/// The buffer is not wiped, neither after its bytes are written nor when it is freed, and the same is true
/// of the working memory for lists. Do not write secrets through it that must not stay in memory.
///
/// # Buffers behind buffers
///
/// [`Stdout`](io::Stdout) has a buffer of its own, and does not gather. `copying` takes it:
///
/// ```compile_fail,E0277
/// let writer = vectored::GatherWriter::new(std::io::stdout().lock());
/// ```
///
/// ```
/// let writer = vectored::GatherWriter::copying(std::io::stdout().lock());
/// ```
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
    /// `None` only in the moment between being taken out and being dropped.
    inner: Option<W>,
    route: Route<W>,
    /// Never grows beyond the capacity it was made with.
    staged: StagingBuffer,
    borders: SliceThresholds,
    gather: Gather,
    /// Always empty between calls: kept for its memory.
    iovecs: Vec<IoSlice<'static>>,
    /// Ended a call of which a part was accepted. It is only returned, and nothing of it is used before:
    /// a panic cannot leave it half changed.
    deferred: Option<AssertUnwindSafe<io::Error>>,
    /// The inner writer was called and did not return.
    panicked: bool,
    /// It panicked after bytes of a slice had gone which the caller believes to be not accepted. Then the
    /// thresholds are 0, so that each call comes to where this is looked at.
    is_poisoned: bool,
}

/// How bytes reach the inner writer. Functions, so that the writer is one type for both.
enum Route<W> {
    Copies {
        write: fn(&mut W, &[u8]) -> io::Result<usize>,
        flush: fn(&mut W) -> io::Result<()>,
    },
    Gathers(SendList<W>),
}

type SendList<W> =
    fn(&mut W, &mut Gather, &[IoSlice<'_>], &mut SegmentCursor) -> Result<u64, TransferError>;

/// Which slices are staged and which are sent from where they lie.
#[derive(Clone, Copy, Debug)]
struct SliceThresholds {
    /// A slice of up to this length that does not fit what is free is staged after the staged bytes are
    /// written: an entry of a list costs more than the copy.
    small_bytes: usize,
    /// A slice of this length or more is sent even if it would fit: the copy costs more than a call.
    large_bytes: usize,
}

impl SliceThresholds {
    /// For a writer that does not gather: whatever fits the buffer is staged.
    const COPY: SliceThresholds = SliceThresholds {
        small_bytes: usize::MAX,
        large_bytes: usize::MAX,
    };

    /// For a writer that gathers and was given a capacity: whatever fits the buffer is staged, since the capacity
    /// is how much the caller wants in one call. A constant: a writer may be made for a single line.
    const BY_CAPACITY: SliceThresholds = SliceThresholds {
        // `copy_below_bytes(2)` of the default model.
        small_bytes: 1600,
        large_bytes: usize::MAX,
    };

    fn of(model: &CostModel) -> SliceThresholds {
        let small_bytes = model.copy_below_bytes(2);
        let own_call_ns = model.call_ns + model.gather_call_ns + 2.0 * model.large_segment_ns;
        // `as` rounds down, and turns what is negative or not a number into 0.
        let large_bytes = (own_call_ns / model.copy_byte_ns) as usize;
        SliceThresholds {
            small_bytes,
            large_bytes: large_bytes.max(small_bytes.saturating_add(1)),
        }
    }

    /// Stages nothing.
    const NOTHING: SliceThresholds = SliceThresholds {
        small_bytes: 0,
        large_bytes: 0,
    };
}

impl<W: Gathers> GatherWriter<W> {
    /// A writer with a buffer of 8 KiB before an `inner` that gathers: staged bytes and a large slice go in
    /// one call. For any other `inner` there is [`copying`](GatherWriter::copying).
    pub fn new(inner: W) -> GatherWriter<W> {
        GatherWriter::with_capacity(CAPACITY_BYTES, inner)
    }

    /// As [`new`](GatherWriter::new), with a buffer of `capacity` bytes. 0 is allowed, and stages nothing.
    ///
    /// Every slice that fits the free part of the buffer is staged, however long it is: 16 MiB in slices of
    /// 16 KiB are 16 calls with a capacity of 1 MiB. A large capacity pays where a call is dear, as on a file that
    /// is open with `O_DSYNC`; where it is not, [`with_model`](GatherWriter::with_model) spares copying slices
    /// that take longer to copy than to send.
    pub fn with_capacity(capacity: usize, inner: W) -> GatherWriter<W> {
        let model = uncut(CostModel::default(), capacity);
        GatherWriter::over(
            inner,
            Route::Gathers(W::gather_from),
            capacity,
            SliceThresholds::BY_CAPACITY,
            model,
        )
    }

    /// As [`with_capacity`](GatherWriter::with_capacity), with a model of what calls, segments and bytes
    /// cost on this kind of target.
    ///
    /// The model decides what is copied. A slice that does not fit what is free and is no longer than
    /// [`copy_below_bytes(2)`](CostModel::copy_below_bytes) is staged after the staged bytes are written; a
    /// longer one goes with them in one call. A slice that would take longer to copy than a call of its own
    /// is sent at once with the staged bytes, even if it would fit: by [`CostModel::default`] from 13 KB on. So
    /// with a capacity above that and slices of that length there are more calls than with
    /// [`with_capacity`](GatherWriter::with_capacity), and fewer bytes are copied. The numbers of a model are
    /// those of calls that do not wait for storage.
    ///
    /// Lists ([`write_vectored`](Write::write_vectored)) that do not fit are written as by [`Gather`], which
    /// allocates working memory of its own when it first needs it: of the model's
    /// [`staging_bytes`](CostModel::staging_bytes), or of twice the capacity if that is more. The model's
    /// [`pieces`](CostModel::chunk_policy) are not used: they would cut slices.
    pub fn with_model(capacity: usize, model: CostModel, inner: W) -> GatherWriter<W> {
        let route = Route::Gathers(W::gather_from);
        let borders = SliceThresholds::of(&model);
        GatherWriter::over(inner, route, capacity, borders, uncut(model, capacity))
    }
}

/// A model by which a `Gather` never cuts the staged bytes, nor a list behind them that fits the buffer.
fn uncut(model: CostModel, capacity: usize) -> CostModel {
    CostModel {
        chunk_policy: None,
        staging_bytes: match model.staging_bytes {
            0 => 0,
            bytes => bytes.max(capacity.saturating_mul(2)),
        },
        ..model
    }
}

impl<W: Write> GatherWriter<W> {
    /// A writer with a buffer of 8 KiB before any `inner`, in the same calls of its
    /// [`write`](Write::write) as [`BufWriter`](io::BufWriter) makes.
    ///
    /// For an `inner` that may gather or not, without a second type in the program; and for lists
    /// ([`write_vectored`](Write::write_vectored)), which are staged whole if they fit.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::{self, Write};
    /// use vectored::GatherWriter;
    ///
    /// fn open(is_shown: bool) -> Box<dyn Write> {
    ///     if is_shown { Box::new(io::stdout()) } else { Box::new(io::sink()) }
    /// }
    ///
    /// # fn main() -> io::Result<()> {
    /// let mut writer = GatherWriter::copying(open(false));
    /// writeln!(writer, "hidden")?;
    /// writer.flush()
    /// # }
    /// ```
    pub fn copying(inner: W) -> GatherWriter<W> {
        GatherWriter::copying_with_capacity(CAPACITY_BYTES, inner)
    }

    /// As [`copying`](GatherWriter::copying), with a buffer of `capacity` bytes. 0 is allowed, and stages
    /// nothing.
    pub fn copying_with_capacity(capacity: usize, inner: W) -> GatherWriter<W> {
        let route = Route::Copies {
            write: W::write,
            flush: W::flush,
        };
        GatherWriter::over(
            inner,
            route,
            capacity,
            SliceThresholds::COPY,
            CostModel::default(),
        )
    }
}

impl<W> GatherWriter<W> {
    fn over(
        inner: W,
        route: Route<W>,
        capacity: usize,
        borders: SliceThresholds,
        model: CostModel,
    ) -> GatherWriter<W> {
        GatherWriter {
            inner: Some(inner),
            route,
            staged: StagingBuffer::with_capacity(capacity),
            borders,
            gather: Gather::new(model),
            iovecs: Vec::new(),
            deferred: None,
            panicked: false,
            is_poisoned: false,
        }
    }

    /// The inner writer.
    #[must_use]
    pub fn get_ref(&self) -> &W {
        self.inner.as_ref().expect(HERE_UNTIL_THE_END)
    }

    /// The inner writer. What is written to it directly overtakes what is staged: flush first.
    #[must_use]
    pub fn get_mut(&mut self) -> &mut W {
        self.inner.as_mut().expect(HERE_UNTIL_THE_END)
    }

    /// What is staged: accepted, and not yet written.
    #[must_use]
    pub fn buffer(&self) -> &[u8] {
        &self.staged
    }

    /// How many bytes can be staged.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.staged.capacity()
    }

    /// Writes what is staged and returns the inner writer, which is not flushed itself.
    ///
    /// # Errors
    ///
    /// The error of writing, or one that was still to be reported, with this writer as it then is.
    pub fn into_inner(mut self) -> Result<W, IntoInnerError<GatherWriter<W>>> {
        match self.write_staged() {
            Ok(()) => Ok(self.into_parts().0),
            Err(error) => Err(IntoInnerError::new(self, error)),
        }
    }

    /// The inner writer and what was staged, which is not written.
    ///
    /// An error that was still to be reported is forgotten.
    ///
    /// # Errors
    ///
    /// [`WriterPanicked`], with the staged bytes, if the last call of the inner writer panicked: some
    /// of them may have been written.
    pub fn into_parts(mut self) -> (W, Result<Vec<u8>, WriterPanicked>) {
        let staged = self.staged.to_vec();
        let staged = match self.panicked {
            false => Ok(staged),
            true => Err(WriterPanicked::new(staged)),
        };
        (self.inner.take().expect(HERE_UNTIL_THE_END), staged)
    }

    /// Whether so many bytes are to be staged now. Not those that fill an empty buffer, which would
    /// be copied for nothing.
    fn is_staged(&self, bytes: usize) -> bool {
        let borders = self.borders;
        bytes <= self.staged.free_bytes() && bytes < self.capacity().min(borders.large_bytes)
    }

    /// Whether so many bytes, which do not fit what is free, are staged once the staged bytes are written.
    fn is_staged_next(&self, bytes: usize) -> bool {
        bytes <= self.borders.small_bytes && bytes < self.capacity()
    }

    /// The same for a list.
    fn is_list_staged_next(&self, segments: &[IoSlice<'_>], bytes: usize) -> bool {
        let goes_in_one_call = match self.route {
            Route::Copies { .. } => false,
            Route::Gathers(_) => {
                let filled = segments.iter().filter(|segment| !segment.is_empty());
                segments.len() < iov_max() || filled.count() < iov_max()
            }
        };
        self.is_staged_next(bytes) || (bytes <= self.capacity() && !goes_in_one_call)
    }

    // Not inlined, so that staging is.
    #[cold]
    #[inline(never)]
    fn write_cold(&mut self, slice: &[u8]) -> io::Result<usize> {
        if slice.is_empty() {
            return Ok(0);
        }
        self.report_deferred()?;
        if !self.is_staged(slice.len()) {
            if !self.is_staged_next(slice.len()) {
                return self.write_past(slice);
            }
            // Whole, and not cut to what is free: it may be a record of a log.
            self.send_staged()?;
        }
        self.staged.push(slice);
        Ok(slice.len())
    }

    /// Writes a slice from where it lies, behind the staged bytes.
    fn write_past(&mut self, slice: &[u8]) -> io::Result<usize> {
        let Route::Copies { write, .. } = self.route else {
            let (accepted, error) = self.send(&[IoSlice::new(slice)]);
            return self.conclude(accepted, error);
        };
        self.send_staged()?;
        let inner = self.inner.as_mut().expect(HERE_UNTIL_THE_END);
        self.panicked = true;
        let result = write(inner, slice);
        self.panicked = false;
        match result {
            Ok(bytes) if bytes > slice.len() => Err(too_much()),
            result => result,
        }
    }

    /// Writes a list that is not staged whole.
    fn write_list_past(&mut self, segments: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.route {
            Route::Copies { .. } => self.write_each(segments),
            Route::Gathers(_) => {
                let (accepted, error) = self.send(segments);
                self.conclude(accepted, error)
            }
        }
    }

    /// The first segment, and those after it that can be staged: a call that fails or panics is never
    /// made when some have been accepted.
    fn write_each(&mut self, segments: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut segments = segments.iter().filter(|segment| !segment.is_empty());
        let Some(first) = segments.next() else {
            return Ok(0);
        };
        let mut accepted = self.write(first)?;
        if accepted == first.len() {
            for segment in segments {
                if !self.is_staged(segment.len()) {
                    break;
                }
                self.staged.push(segment);
                accepted += segment.len();
            }
        }
        Ok(accepted)
    }

    /// Reports an error that is still to be reported, or writes what is staged.
    fn write_staged(&mut self) -> io::Result<()> {
        self.report_deferred()?;
        self.send_staged()
    }

    /// Writes what is staged, and nothing else.
    fn send_staged(&mut self) -> io::Result<()> {
        match self.send(&[]) {
            (_, None) => Ok(()),
            (_, Some(error)) => Err(error),
        }
    }

    /// Writes what is staged and `segments` behind it.
    ///
    /// Returns how many bytes of `segments` were written, and what ended it.
    fn send(&mut self, segments: &[IoSlice<'_>]) -> (u64, Option<io::Error>) {
        // A cursor behind these would look as if bytes of the list had gone.
        let empty = segments.iter().take_while(|segment| segment.is_empty());
        let segments = &segments[empty.count()..];
        if self.staged.is_empty() && segments.is_empty() {
            return (0, None);
        }
        let inner = self.inner.as_mut().expect(HERE_UNTIL_THE_END);
        let staged_bytes = self.staged.len() as u64;
        let mut sending = Sending {
            cursor: SegmentCursor::new(),
            staged: &mut self.staged,
            has_returned: false,
            is_poisoned: &mut self.is_poisoned,
            borders: &mut self.borders,
        };
        self.panicked = true;
        let (accepted, error) = match self.route {
            Route::Copies { write, .. } => {
                debug_assert!(segments.is_empty(), "only what is staged is copied");
                (0, sending.write_all(|bytes| write(inner, bytes)))
            }
            Route::Gathers(send) => {
                let gather = &mut self.gather;
                let mut iovecs = recycle(mem::take(&mut self.iovecs));
                iovecs.push(IoSlice::new(sending.staged));
                iovecs.extend_from_slice(segments);
                let result = send(inner, gather, &iovecs, &mut sending.cursor);
                let sent = sent_bytes(&iovecs, sending.cursor, result);
                self.iovecs = recycle(iovecs);
                match sent {
                    Some((bytes, error)) => (bytes.saturating_sub(staged_bytes), error),
                    None => {
                        // It is not known what went. What is sent again might arrive twice.
                        sending.cursor = SegmentCursor::at(1, 0);
                        (0, Some(too_much()))
                    }
                }
            }
        };
        sending.has_returned = true;
        drop(sending);
        self.panicked = false;
        (accepted, error)
    }

    /// What `write` answers: an error only if nothing was accepted.
    fn conclude(&mut self, accepted: u64, error: Option<io::Error>) -> io::Result<usize> {
        match error {
            Some(error) if accepted == 0 => return Err(error),
            Some(error) if !is_momentary(&error) => self.deferred = Some(AssertUnwindSafe(error)),
            _ => {}
        }
        // The same slice may be in a list many times. What is beyond any length is never asked for.
        Ok(usize::try_from(accepted).unwrap_or(usize::MAX))
    }

    fn report_deferred(&mut self) -> io::Result<()> {
        if self.is_poisoned {
            return Err(io::Error::other(
                "the inner writer panicked after it had taken bytes of a slice that was not accepted: to write \
                 it again would write them twice; take the inner writer out with into_parts",
            ));
        }
        self.deferred
            .take()
            .map_or(Ok(()), |AssertUnwindSafe(error)| Err(error))
    }
}

const HERE_UNTIL_THE_END: &str = "the inner writer is there until it is taken out";

/// An error that a new attempt meets again if it still holds.
fn is_momentary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn too_much() -> io::Error {
    io::Error::new(
        ErrorKind::InvalidData,
        "the inner writer reported other bytes than it was given: what it wrote is not known",
    )
}

/// The bytes of a list that were written, and what ended that; `None` if the answer contradicts itself.
fn sent_bytes(
    list: &[IoSlice<'_>],
    cursor: SegmentCursor,
    result: Result<u64, TransferError>,
) -> Option<(u64, Option<io::Error>)> {
    let all = SegmentCursor::new().remaining_bytes(list);
    let segment_bytes = list
        .get(cursor.segment())
        .map_or(0, |segment| segment.len());
    if cursor.segment() > list.len() || cursor.offset() > segment_bytes {
        return None;
    }
    let sent = all - cursor.remaining_bytes(list);
    let (reported, error) = match result {
        Ok(bytes) => (bytes, None),
        Err(error) => (error.transferred(), Some(error.into_io_error())),
    };
    (reported == sent && (error.is_some() || sent == all)).then_some((sent, error))
}

/// Takes what was written out of the staging, also if the inner writer panics.
struct Sending<'s> {
    staged: &'s mut StagingBuffer,
    /// How far the list has come of which the staged bytes are the first segment.
    cursor: SegmentCursor,
    /// The inner writer did not panic.
    has_returned: bool,
    is_poisoned: &'s mut bool,
    borders: &'s mut SliceThresholds,
}

impl Sending<'_> {
    fn sent(&self) -> usize {
        match self.cursor.segment() {
            0 => self.cursor.offset().min(self.staged.len()),
            _ => self.staged.len(),
        }
    }

    fn write_all(
        &mut self,
        mut write: impl FnMut(&[u8]) -> io::Result<usize>,
    ) -> Option<io::Error> {
        loop {
            let rest = &self.staged[self.sent()..];
            if rest.is_empty() {
                return None;
            }
            match write(rest) {
                Ok(0) => return Some(write_zero()),
                Ok(bytes) if bytes > rest.len() => {
                    self.cursor = SegmentCursor::at(1, 0);
                    return Some(too_much());
                }
                Ok(bytes) => self.cursor = SegmentCursor::at(0, self.sent() + bytes),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Some(error),
            }
        }
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        let is_behind_staged = match self.cursor.segment() {
            0 => false,
            1 => self.cursor.offset() > 0,
            _ => true,
        };
        if !self.has_returned && is_behind_staged {
            *self.is_poisoned = true;
            *self.borders = SliceThresholds::NOTHING;
        }
        self.staged.remove_first(self.sent());
    }
}

fn write_zero() -> io::Error {
    io::Error::new(
        ErrorKind::WriteZero,
        "the inner writer wrote none of the staged bytes",
    )
}

impl<W> Write for GatherWriter<W> {
    #[inline]
    fn write(&mut self, slice: &[u8]) -> io::Result<usize> {
        if slice.len() < self.staged.free_bytes().min(self.borders.large_bytes) {
            self.staged.push(slice);
            return Ok(slice.len());
        }
        self.write_cold(slice)
    }

    #[inline]
    fn write_all(&mut self, slice: &[u8]) -> io::Result<()> {
        if slice.len() < self.staged.free_bytes().min(self.borders.large_bytes) {
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
        self.report_deferred()?;
        if !self.is_staged(bytes) {
            if !self.is_list_staged_next(segments, bytes) {
                return self.write_list_past(segments);
            }
            if bytes > self.staged.free_bytes() {
                self.send_staged()?;
            }
        }
        self.staged.push_run(segments);
        Ok(bytes)
    }

    /// Writes what is staged, and flushes the inner writer if it has a buffer ([`Gathers`] has none).
    fn flush(&mut self) -> io::Result<()> {
        self.write_staged()?;
        match self.route {
            Route::Copies { flush, .. } => flush(self.get_mut()),
            Route::Gathers(_) => Ok(()),
        }
    }
}

/// `write` until there is nothing left, as the default of the trait. A slice that does not fit the buffer goes
/// past it to its end, as with `BufWriter`: the rest after a short call is not staged.
#[cold]
#[inline(never)]
fn write_all_cold<W>(writer: &mut GatherWriter<W>, mut slice: &[u8]) -> io::Result<()> {
    let goes_past = match writer.route {
        Route::Copies { .. } => slice.len() >= writer.capacity(),
        Route::Gathers(_) => false,
    };
    while !slice.is_empty() {
        let written = match goes_past {
            true => writer.write_past(slice),
            false => writer.write(slice),
        };
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
    /// Writes what is staged, where it belongs, before it moves.
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
    /// Without the staged bytes, which are a caller's.
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
