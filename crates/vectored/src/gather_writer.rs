//! A buffered writer that sends what it holds and a large slice in one call.

use std::fmt;
use std::io::{self, ErrorKind, IoSlice, Seek, SeekFrom, Write};
use std::mem;

use crate::cost::CostModel;
use crate::cursor::SegmentCursor;
use crate::error::TransferError;
use crate::gather::{Gather, recycle};
use crate::gathers::Gathers;
use crate::into_inner_error::{IntoInnerError, WriterPanicked};
use crate::sys::staged::Staged;

/// The capacity of [`GatherWriter::new`] and [`GatherWriter::gathering`], in bytes: 8 KiB, as
/// [`BufWriter`](io::BufWriter) has.
///
/// To copy so much takes about as long as a system call, so that a slice which does not fit is about
/// as long as one for which a call of its own begins to pay.
const CAPACITY_BYTES: usize = 8 * 1024;

/// A writer with a buffer, as [`BufWriter`](io::BufWriter), that gathers where the inner one does.
///
/// Short slices are copied behind one another (*staged*) and written together. A slice that does not
/// fit makes the difference: `BufWriter` writes what it holds and then the slice, in two calls. So a
/// header of 16 bytes and a body of 64 KiB are two packets, or two records of a log between which
/// another writer may come.
///
/// - [`gathering`](GatherWriter::gathering), for what [`Gathers`] (files, pipes, streams): the staged
///   bytes and the slice go in one call, and the slice is not copied.
/// - [`new`](GatherWriter::new), for any [`Write`]: it cannot be asked whether it gathers, so every
///   byte reaches it by [`write`](Write::write). The slice fills the staging first, so that no short
///   call precedes it.
///
/// # What it promises
///
/// The bytes arrive in the order in which they were written, each once.
///
/// When it is dropped, what is staged is written, and errors are ignored: call
/// [`flush`](Write::flush) or [`into_inner`](GatherWriter::into_inner) first. It is not written if the
/// inner writer had panicked, since it might be written twice.
///
/// An error loses nothing: what had been staged and was not written stays, and the next call begins
/// with it. `write` fails only where no byte of its slice was taken, as the trait demands. Where a
/// part was, it returns the length of that, and the error is that of the next call that would write
/// ([`WouldBlock`](ErrorKind::WouldBlock) is forgotten instead: a new attempt tells). So after
/// `WouldBlock` write the rest again. [`write_all`](Write::write_all) does not say how much of its
/// slice it took, as ever; what it did not is not staged.
///
/// # Buffers behind buffers
///
/// [`Stdout`](io::Stdout) has a buffer of its own, in which `new` writes like anybody else. It does
/// not gather:
///
/// ```compile_fail
/// let writer = vectored::GatherWriter::gathering(std::io::stdout());
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
/// let mut writer = GatherWriter::gathering(pipe);
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
    staged: Staged,
    borders: Borders,
    gather: Gather,
    /// Always empty between calls: kept for its memory.
    iovecs: Vec<IoSlice<'static>>,
    /// Ended a call of which a part was accepted.
    deferred: Option<io::Error>,
    /// The inner writer was called and did not return.
    panicked: bool,
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
struct Borders {
    /// What does not fit and has at most so many bytes is split: an entry of a list costs more.
    small_bytes: usize,
    /// From so many bytes on it is sent, even if it would fit: to copy it would cost more than a call.
    large_bytes: usize,
}

impl Borders {
    /// For a writer that does not gather: whatever fits is staged, and what does not is split.
    const COPY: Borders = Borders {
        small_bytes: usize::MAX,
        large_bytes: usize::MAX,
    };

    fn of(model: &CostModel) -> Borders {
        let small_bytes = model.copy_below_bytes(2);
        let own_call_ns = model.call_ns + model.gather_call_ns + 2.0 * model.large_segment_ns;
        // `as` rounds down, and turns what is negative or not a number into 0.
        let large_bytes = (own_call_ns / model.copy_byte_ns) as usize;
        Borders {
            small_bytes,
            large_bytes: large_bytes.max(small_bytes.saturating_add(1)),
        }
    }
}

impl<W: Write> GatherWriter<W> {
    /// A writer of 8 KiB before any `inner`, which gets every byte by [`write`](Write::write).
    pub fn new(inner: W) -> GatherWriter<W> {
        GatherWriter::with_capacity(CAPACITY_BYTES, inner)
    }

    /// The same, with room for `capacity` bytes. 0 is allowed, and stages nothing.
    pub fn with_capacity(capacity: usize, inner: W) -> GatherWriter<W> {
        let route = Route::Copies {
            write: W::write,
            flush: W::flush,
        };
        GatherWriter::over(inner, route, capacity, Borders::COPY, CostModel::default())
    }
}

impl<W: Gathers> GatherWriter<W> {
    /// A writer of 8 KiB before an `inner` that gathers: staged bytes and a large slice go in one
    /// call.
    pub fn gathering(inner: W) -> GatherWriter<W> {
        GatherWriter::gathering_with_capacity(CAPACITY_BYTES, inner)
    }

    /// The same, with room for `capacity` bytes. 0 is allowed, and stages nothing.
    pub fn gathering_with_capacity(capacity: usize, inner: W) -> GatherWriter<W> {
        GatherWriter::gathering_with_model(capacity, CostModel::default(), inner)
    }

    /// The same, by a model of what calls, segments and bytes cost on this kind of target.
    ///
    /// It decides about slices on the border. A slice that does not fit and is no longer than
    /// [`copy_below_bytes(2)`](CostModel::copy_below_bytes) is split: it fills the staging, and its
    /// rest begins the next. A slice that would take longer to copy than a call of its own is sent at
    /// once with what is staged, even if it would fit: by the default model from 13 KB on, so never
    /// with a capacity of 8 KiB. Lists ([`write_vectored`](Write::write_vectored)) that do not fit are
    /// written as by [`Gather`], which allocates working memory of its own when it first needs it.
    pub fn gathering_with_model(capacity: usize, model: CostModel, inner: W) -> GatherWriter<W> {
        let route = Route::Gathers(W::gather_from);
        GatherWriter::over(inner, route, capacity, Borders::of(&model), model)
    }
}

impl<W> GatherWriter<W> {
    fn over(
        inner: W,
        route: Route<W>,
        capacity: usize,
        borders: Borders,
        model: CostModel,
    ) -> GatherWriter<W> {
        GatherWriter {
            inner: Some(inner),
            route,
            staged: Staged::with_capacity(capacity),
            borders,
            gather: Gather::new(model),
            iovecs: Vec::new(),
            deferred: None,
            panicked: false,
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
    pub fn into_inner(mut self) -> Result<W, IntoInnerError<W>> {
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

    /// Whether so many bytes, if they do not fit, are split rather than sent from where they lie.
    fn is_split(&self, bytes: usize) -> bool {
        match self.route {
            Route::Copies { .. } => true,
            Route::Gathers(_) => bytes <= self.borders.small_bytes && bytes < self.capacity(),
        }
    }

    // Not inlined, so that staging is.
    #[cold]
    #[inline(never)]
    fn write_cold(&mut self, slice: &[u8]) -> io::Result<usize> {
        if slice.is_empty() {
            return Ok(0);
        }
        self.report_deferred()?;
        if self.is_staged(slice.len()) {
            self.staged.push(slice);
            return Ok(slice.len());
        }
        if !self.is_split(slice.len()) {
            let (accepted, error) = self.send(&[IoSlice::new(slice)], self.staged.len());
            return self.conclude(accepted, error);
        }
        if self.staged.is_empty() {
            return self.write_past(slice);
        }
        let staged_before = self.staged.len();
        let (first, rest) = slice.split_at(self.staged.free_bytes().min(slice.len()));
        self.staged.push(first);
        if let (accepted, Some(error)) = self.send(&[], staged_before) {
            return self.conclude(accepted, Some(error));
        }
        if rest.len() < self.capacity() {
            self.staged.push(rest);
            return Ok(slice.len());
        }
        match first.len() {
            // It was full. To answer 0 would mean that no more can be written.
            0 => self.write_past(slice),
            accepted => Ok(accepted),
        }
    }

    /// One call for a slice, as long as the staging or longer, while nothing is staged.
    fn write_past(&mut self, slice: &[u8]) -> io::Result<usize> {
        let Route::Copies { write, .. } = self.route else {
            let (accepted, error) = self.send(&[IoSlice::new(slice)], 0);
            return self.conclude(accepted, error);
        };
        let inner = self.inner.as_mut().expect(HERE_UNTIL_THE_END);
        self.panicked = true;
        let result = write(inner, slice);
        self.panicked = false;
        match result {
            Ok(bytes) if bytes > slice.len() => Err(too_much()),
            result => result,
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

    /// Writes what is staged, and nothing else.
    fn write_staged(&mut self) -> io::Result<()> {
        self.report_deferred()?;
        match self.send(&[], self.staged.len()) {
            (_, None) => Ok(()),
            (_, Some(error)) => Err(error),
        }
    }

    /// Writes what is staged and `segments` behind it. Of what is staged only the first
    /// `staged_before` bytes are to stay there if they cannot be written.
    ///
    /// Returns how many bytes of the rest and of `segments` were written, and what ended it.
    fn send(&mut self, segments: &[IoSlice<'_>], staged_before: usize) -> (u64, Option<io::Error>) {
        if self.staged.is_empty() && segments.iter().all(|segment| segment.is_empty()) {
            return (0, None);
        }
        let inner = self.inner.as_mut().expect(HERE_UNTIL_THE_END);
        let mut sending = Sending {
            staged_before,
            cursor: SegmentCursor::new(),
            staged: &mut self.staged,
        };
        self.panicked = true;
        let (accepted, error) = match self.route {
            Route::Copies { write, .. } => {
                debug_assert!(segments.is_empty(), "only what is staged is copied");
                sending.write_all(|bytes| write(inner, bytes))
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
                    Some((bytes, error)) => (bytes.saturating_sub(staged_before as u64), error),
                    None => {
                        // Nobody knows what went. What is sent again might be there twice.
                        sending.cursor = SegmentCursor::at(1, 0);
                        (0, Some(too_much()))
                    }
                }
            }
        };
        self.panicked = false;
        (accepted, error)
    }

    /// What `write` answers: an error only if nothing was accepted.
    fn conclude(&mut self, accepted: u64, error: Option<io::Error>) -> io::Result<usize> {
        match error {
            Some(error) if accepted == 0 => return Err(error),
            Some(error) if !is_momentary(&error) => self.deferred = Some(error),
            _ => {}
        }
        // The same slice may be in a list many times. What is beyond any length is never asked for.
        Ok(usize::try_from(accepted).unwrap_or(usize::MAX))
    }

    fn report_deferred(&mut self) -> io::Result<()> {
        self.deferred.take().map_or(Ok(()), Err)
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
    staged: &'s mut Staged,
    /// The bytes behind these are of a slice of which nobody was told yet that it was accepted.
    staged_before: usize,
    /// How far the list has come of which the staged bytes are the first segment.
    cursor: SegmentCursor,
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
    ) -> (u64, Option<io::Error>) {
        let error = loop {
            let rest = &self.staged[self.sent()..];
            if rest.is_empty() {
                break None;
            }
            match write(rest) {
                Ok(0) => break Some(write_zero()),
                Ok(bytes) if bytes > rest.len() => {
                    self.cursor = SegmentCursor::at(1, 0);
                    break Some(too_much());
                }
                Ok(bytes) => self.cursor = SegmentCursor::at(0, self.sent() + bytes),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break Some(error),
            }
        };
        (self.sent().saturating_sub(self.staged_before) as u64, error)
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        let sent = self.sent();
        self.staged.truncate(self.staged_before.max(sent));
        self.staged.remove_first(sent);
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
        if self.is_staged(bytes) && self.deferred.is_none() {
            self.staged.push_run(segments);
            return Ok(bytes);
        }
        if bytes == 0 || self.is_split(bytes) {
            return self.write_each(segments);
        }
        self.report_deferred()?;
        let (accepted, error) = self.send(segments, self.staged.len());
        self.conclude(accepted, error)
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

/// As the default of the trait: `write` until there is nothing left.
#[cold]
#[inline(never)]
fn write_all_cold<W>(writer: &mut GatherWriter<W>, mut slice: &[u8]) -> io::Result<()> {
    while !slice.is_empty() {
        match writer.write(slice) {
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
            // A destructor cannot report, and must not panic: whoever wants to know flushes before.
            let _ = self.send(&[], self.staged.len());
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
