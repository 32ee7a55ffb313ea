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
mod tests {
    use super::*;
    use crate::testing::reads::ScriptedSource;
    use crate::testing::{
        Answer, any_limits, any_script, any_sizes, for_all_cuts_of_small_lists, payload,
    };
    use proptest::prelude::*;
    use std::io::ErrorKind;

    /// A scripted source as a reader, that scatters or has the trait's default.
    struct Inner {
        source: ScriptedSource,
        scatters: bool,
    }

    impl Read for Inner {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            self.source.call(&mut [IoSliceMut::new(buf)])
        }

        fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
            match self.scatters {
                true => self.source.call(bufs),
                false => self.read(bufs.iter_mut().find(|b| !b.is_empty()).unwrap()),
            }
        }
    }

    struct Case<'c> {
        lists: &'c [Vec<usize>],
        script: &'c [Answer],
        limits: Limits,
        capacity: usize,
        scatters: bool,
        at_eof: AtEof,
    }

    /// Reads several lists one after another, resuming after every error and end; then what is left
    /// in the buffer and the source must be what follows.
    fn check(case: &Case<'_>) {
        const BEYOND: usize = 300;
        let sizes = case.lists.concat();
        let total: usize = sizes.iter().sum();
        let data = payload(&[total + BEYOND]).concat();
        let limits = Limits {
            segments: case.limits.segments,
            // A refill asks for the capacity whatever the limits are, which it is far below.
            bytes: case.limits.bytes.max(case.capacity),
        };
        let inner = Inner {
            source: ScriptedSource::new(data.clone(), case.script, limits),
            scatters: case.scatters,
        };
        let mut reader = ScatterReader::with_capacity(case.capacity, inner);
        let mut taken = 0;
        let mut ends = 0;
        for sizes in case.lists {
            let mut buffers: Vec<Vec<u8>> = sizes.iter().map(|&size| vec![0xfe; size]).collect();
            let bytes: usize = sizes.iter().sum();
            let mut segments: Vec<_> = buffers.iter_mut().map(|b| IoSliceMut::new(b)).collect();
            let mut cursor = SegmentCursor::new();
            let mut done = 0;
            loop {
                let result =
                    reader.receive_all(&mut segments, &mut cursor, case.limits, case.at_eof);
                let transferred = match &result {
                    Ok(bytes) => *bytes,
                    Err(error) => error.transferred(),
                };
                done += transferred as usize;
                assert_eq!(cursor.remaining_bytes(&segments), (bytes - done) as u64);
                let source = &reader.get_ref().source;
                assert_eq!(source.given, taken + done + reader.buffer().len());
                if result.is_ok() && done == bytes {
                    break;
                }
                ends += 1;
                match (result, source.last) {
                    (Ok(_), last) => {
                        assert_eq!((last, case.at_eof), (Answer::Take(0), AtEof::Stop));
                    }
                    (Err(error), Answer::Take(most)) => {
                        assert_eq!((most, case.at_eof), (0, AtEof::Fail));
                        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
                    }
                    (Err(error), Answer::Fail(code)) => {
                        assert_eq!(error.io_error().raw_os_error(), Some(code));
                        assert_ne!(code, libc::EINTR);
                    }
                }
            }
            assert!(buffers.concat() == data[taken..taken + bytes]);
            taken += bytes;
        }
        assert_eq!(ends, reader.get_ref().source.refusals);
        let (inner, unread) = reader.into_parts();
        let unread = unread.into_inner();
        assert!(unread.len() <= case.capacity);
        assert_eq!(unread, data[taken..inner.source.given]);
    }

    proptest! {
        #[test]
        fn any_lists_of_any_reader_are_filled_and_nothing_read_ahead_is_lost(
            lists in prop::collection::vec(any_sizes(), 1..5),
            script in any_script(),
            limits in any_limits(),
            capacity in prop_oneof![Just(0), 1..20_usize, 20..400_usize],
            scatters: bool,
            fails_at_eof: bool,
        ) {
            let at_eof = if fails_at_eof { AtEof::Fail } else { AtEof::Stop };
            check(&Case { lists: &lists, script: &script, limits, capacity, scatters, at_eof });
        }
    }

    #[test]
    fn short_reads_resume_at_every_cut_of_small_lists_with_any_buffer() {
        for capacity in [0, 1, 2, 5, 100] {
            for_all_cuts_of_small_lists(|sizes, script| {
                check(&Case {
                    // Twice: the second list begins with what was read ahead.
                    lists: &[sizes.to_vec(), sizes.to_vec()],
                    script,
                    limits: Limits::default(),
                    capacity,
                    scatters: true,
                    at_eof: AtEof::Fail,
                });
            });
        }
    }

    fn reader_of(sizes: &[usize], capacity: usize) -> ScatterReader<Inner> {
        let source = ScriptedSource::new(payload(sizes).concat(), &[], Limits::default());
        let inner = Inner {
            source,
            scatters: true,
        };
        ScatterReader::with_capacity(capacity, inner)
    }

    fn read_list(reader: &mut ScatterReader<Inner>, sizes: &[usize]) -> Vec<u8> {
        let mut buffers: Vec<Vec<u8>> = sizes.iter().map(|&size| vec![0; size]).collect();
        let mut segments: Vec<_> = buffers.iter_mut().map(|b| IoSliceMut::new(b)).collect();
        reader.read_exact_vectored(&mut segments).unwrap();
        buffers.concat()
    }

    #[test]
    fn a_large_payload_and_the_header_after_it_are_one_call() {
        let mut reader = reader_of(&[16, 100_000, 16, 3000], 8192);
        read_list(&mut reader, &[16]);
        assert_eq!(reader.get_ref().source.calls, 1);
        let ahead = reader.buffer().len();
        assert_eq!(ahead, 8192 - 16);
        read_list(&mut reader, &[100_000]);
        assert_eq!(reader.get_ref().source.calls, 2);
        assert_eq!(reader.buffer().len(), 16 + 3000);
        read_list(&mut reader, &[16, 3000]);
        assert_eq!(reader.get_ref().source.calls, 2);
    }

    #[test]
    fn many_small_records_take_a_call_for_a_buffer_full() {
        let mut reader = reader_of(&[40; 1000], 8192);
        for _ in 0..1000 {
            read_list(&mut reader, &[8, 32]);
        }
        assert_eq!(reader.get_ref().source.calls, 5); // 40,000 / 8192
    }

    #[test]
    fn lists_around_iov_max_leave_room_for_the_buffer_or_go_without() {
        for count in [1023, 1024, 1025, 2048] {
            let sizes = vec![100; count];
            let mut reader = reader_of(&[100 * count, 50], 64);
            assert!(read_list(&mut reader, &sizes) == payload(&[100 * count]).concat());
            assert_eq!(read_list(&mut reader, &[50]).len(), 50);
        }
    }

    #[test]
    fn it_reads_as_any_buffered_reader_does() {
        let text = b"first line\nsecond line\nand the rest";
        for capacity in [1, 3, 11, 12, 8192] {
            let mut reader = ScatterReader::with_capacity(capacity, &text[..]);
            let mut word = [0; 5];
            let mut segments = [IoSliceMut::new(&mut word)];
            reader.read_exact_vectored(&mut segments).unwrap();
            assert_eq!(&word, b"first");
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            assert_eq!(line, " line\n");
            let (mut some, mut more) = ([0; 2], [0; 3]);
            let mut bufs = [IoSliceMut::new(&mut some), IoSliceMut::new(&mut more)];
            let bytes = reader.read_vectored(&mut bufs).unwrap();
            assert!(bytes > 0);
            let mut rest = [some.as_slice(), &more].concat()[..bytes].to_vec();
            reader.read_to_end(&mut rest).unwrap();
            assert_eq!(rest, b"second line\nand the rest");
        }
    }

    #[test]
    fn a_reader_without_a_buffer_reads_nothing_ahead() {
        let mut reader = reader_of(&[100], 0);
        assert_eq!(read_list(&mut reader, &[10, 20]).len(), 30);
        assert_eq!(reader.get_ref().source.given, 30);
        let mut buf = [0; 7];
        assert_eq!(reader.read(&mut buf).unwrap(), 7);
        assert_eq!(reader.get_ref().source.given, 37);
    }

    #[test]
    fn no_call_is_made_for_no_bytes() {
        for capacity in [0, 10] {
            let mut reader = reader_of(&[100], capacity);
            assert_eq!(read_list(&mut reader, &[0, 0]), b"");
            assert_eq!(reader.read(&mut []).unwrap(), 0);
            assert_eq!(reader.get_ref().source.calls, 0);
        }
    }

    #[test]
    fn a_reader_that_reports_too_much_is_an_error() {
        struct Liar;
        impl Read for Liar {
            fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                Ok(buf.len() + 1)
            }
            fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                Ok(bufs.iter().map(|b| b.len()).sum::<usize>() + 1)
            }
        }
        for capacity in [0, 8, 100] {
            let mut reader = ScatterReader::with_capacity(capacity, Liar);
            let mut bytes = [0; 20];
            let mut segments = [IoSliceMut::new(&mut bytes)];
            let error = reader.read_exact_vectored(&mut segments).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData);
            assert_eq!(reader.buffer(), b"");
            let error = reader.read(&mut bytes).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData);
        }
    }

    #[test]
    fn its_debug_form_shows_no_bytes() {
        let mut reader = ScatterReader::new(io::Cursor::new(vec![77; 5]));
        reader.fill_buf().unwrap();
        let (_, unread) = reader.into_parts();
        assert_eq!(unread.into_inner(), [77; 5]);
        let text = format!("{:?}", ScatterReader::with_capacity(4, ()));
        let expected = "ScatterReader { inner: (), buffered_bytes: 0, capacity: 4 }";
        assert_eq!(text, expected);
    }
}
