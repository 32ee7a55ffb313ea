//! Writing from a `bytes::Buf` that cannot be cloned.

use std::fmt;
use std::io::{self, IoSlice};
use std::os::fd::AsFd;

use bytes::Buf;

use crate::Limits;
use crate::bytes_buf::chunks::next_chunk;
use crate::cost::CostModel;
use crate::cursor::SegmentCursor;
use crate::error::TransferError;
use crate::sys::staging::STAGING_ALIGNMENT;
use crate::transfer::aligned_buffer::AlignedBuffer;
use crate::transfer::direct_retry::resend_uncopied;
use crate::transfer::message_sockets::refuse_messages;
use crate::transfer::unvectored::into_stream;
use crate::transfer::write_loop::AskOnce;
use crate::write::all::send_all_referenced;

/// A `bytes::Buf` on its way out, together with what was taken from it and has not gone yet.
///
/// With feature `bytes`.
///
/// It takes any [`Buf`], also one that cannot be cloned, such as a [`Chain`] or a
/// `Box<dyn Buf>`. (For those that can, [`Gather::write_buf`](crate::Gather::write_buf) references
/// many chunks in one call.) It goes by [`Buf::chunk`] and [`Buf::advance`] alone, which cannot skip
/// data as [`Buf::chunks_vectored`] can
/// ([bytes#701](https://github.com/tokio-rs/bytes/issues/701)). To see the next chunk a `Buf` must
/// be advanced past the one before, which must then be kept: small chunks are copied into a staging
/// buffer, and the chunk after them is referenced in the same call. So a small header and a large
/// body in a chain are one `writev(2)`, and of the body nothing is copied.
///
/// A chunk that others follow is copied if a call of its own would take longer, by the [`CostModel`]:
/// by default up to 3725 bytes. A longer one ends its call. The last chunk is always referenced, so
/// a buffer of one chunk costs no memory. The staging buffer grows up to
/// [`staging_bytes`](CostModel::staging_bytes), and is freed with the `BufSender`. It is not aligned: if a file
/// that is open with `O_DIRECT` answers `EINVAL`, the call is made once more with the staged bytes at the start
/// of a page.
///
/// # Examples
///
/// A chain into a descriptor that is not always ready:
///
/// ```
/// use std::io::{ErrorKind, Read};
/// use std::os::unix::net::UnixStream;
/// use bytes::{Buf, Bytes};
/// use vectored::BufSender;
///
/// # fn main() -> std::io::Result<()> {
/// let (writer, mut reader) = UnixStream::pair()?;
/// writer.set_nonblocking(true)?;
/// let header = Bytes::from_static(b"Content-Length: 10000000\r\n\r\n");
/// let body = Bytes::from(vec![b'x'; 10_000_000]);
///
/// let mut sender = BufSender::new(header.chain(body));
/// let mut received = 0;
/// while let Err(error) = sender.send(&writer) {
///     if error.kind() != ErrorKind::WouldBlock {
///         return Err(error.into());
///     }
///     // Where a program would wait with poll(2): the reader makes room.
///     received += reader.read(&mut [0; 65_536])?;
/// }
/// assert_eq!(sender.remaining(), 0);
/// # assert!(received > 0);
/// # Ok(())
/// # }
/// ```
///
/// [`Buf`]: https://docs.rs/bytes/1/bytes/trait.Buf.html
/// [`Buf::advance`]: https://docs.rs/bytes/1/bytes/trait.Buf.html#tymethod.advance
/// [`Buf::chunk`]: https://docs.rs/bytes/1/bytes/trait.Buf.html#tymethod.chunk
/// [`Buf::chunks_vectored`]: https://docs.rs/bytes/1/bytes/trait.Buf.html#method.chunks_vectored
/// [`Chain`]: https://docs.rs/bytes/1/bytes/buf/struct.Chain.html
pub struct BufSender<B> {
    buf: B,
    /// What was copied from `buf`, which has been advanced past it; the first `gone` bytes of it
    /// have been sent.
    staged: Vec<u8>,
    gone: usize,
    staging_bytes: usize,
    copy_below_bytes: usize,
    /// Whether a byte has been sent.
    has_begun: bool,
}

impl<B: Buf> BufSender<B> {
    /// A sender of all that `buf` holds, which decides by the default model. Allocates nothing yet.
    #[must_use]
    pub fn new(buf: B) -> BufSender<B> {
        BufSender::with_model(buf, &CostModel::default())
    }

    /// A sender of all that `buf` holds, which decides by `model`. Allocates nothing yet.
    #[must_use]
    pub fn with_model(buf: B, model: &CostModel) -> BufSender<B> {
        BufSender {
            buf,
            staged: Vec::new(),
            gone: 0,
            staging_bytes: model.staging_bytes,
            copy_below_bytes: as_long_as_a_call(model),
            has_begun: false,
        }
    }

    /// Sends everything that is left, and returns the bytes of this call.
    ///
    /// Whether it succeeds or fails, [`remaining`](BufSender::remaining) has gone down by exactly the
    /// bytes that went. After [`WouldBlock`](io::ErrorKind::WouldBlock), wait until the descriptor is
    /// ready and call it again; the same holds after any other error that can be mended.
    ///
    /// # `SIGPIPE`
    ///
    /// If the reader of a pipe or socket is gone, the call raises `SIGPIPE`, which ends the process unless the signal is
    /// ignored, blocked or handled; then the error is [`BrokenPipe`](io::ErrorKind::BrokenPipe). A Rust program ignores it
    /// from its start. ([Which functions raise none](crate#signals-timeouts-and-full-descriptors).)
    ///
    /// # Errors
    ///
    /// As [`write_all_vectored`](crate::write_all_vectored), with the bytes of this call. A socket
    /// that keeps messages apart is refused unless all of the buffer is exactly one message
    /// ([details](crate#messages)), in one call: small chunks, and one more.
    ///
    /// # Panics
    ///
    /// If the buffer has bytes remaining and yet an empty chunk, which breaks the contract of
    /// [`Buf::chunk`](https://docs.rs/bytes/1/bytes/trait.Buf.html#tymethod.chunk).
    pub fn send(&mut self, fd: impl AsFd) -> Result<u64, TransferError> {
        let fd = fd.as_fd();
        let limits = Limits::default();
        let sent = self.send_all(limits, || refuse_messages(fd), into_stream(fd));
        sent.or_else(|error| {
            resend_uncopied(fd, error, |_| {
                self.send_parts(limits, true, || refuse_messages(fd), into_stream(fd))
            })
        })
    }

    /// The bytes that have not been sent: those that are staged, and those still in the buffer.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        (self.staged().len() as u64).saturating_add(self.buf.remaining() as u64)
    }

    /// The bytes that were taken from the buffer and have not been sent: they come before what it
    /// still holds.
    #[must_use]
    pub fn staged(&self) -> &[u8] {
        &self.staged[self.gone..]
    }

    /// The buffer, which has been advanced past the bytes that are [`staged`](BufSender::staged).
    #[must_use]
    pub fn get_ref(&self) -> &B {
        &self.buf
    }

    /// What has not been sent, in order: the bytes that are [`staged`](BufSender::staged), then the
    /// buffer.
    ///
    /// # Examples
    ///
    /// ```
    /// use bytes::Buf;
    /// use vectored::BufSender;
    ///
    /// # fn main() -> std::io::Result<()> {
    /// // Nothing may be written through a descriptor that is open for reading.
    /// let closed = std::fs::File::open("/dev/null")?;
    /// let mut sender = BufSender::new((&b"head"[..]).chain(&b"body"[..]));
    /// assert!(sender.send(&closed).is_err());
    ///
    /// // Not a byte is lost: it can go elsewhere, from the start.
    /// let (staged, buf) = sender.into_parts();
    /// let mut rest = (&staged[..]).chain(buf);
    /// assert_eq!(rest.copy_to_bytes(8), "headbody");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "the bytes that are staged are no longer in the buffer"]
    pub fn into_parts(mut self) -> (Vec<u8>, B) {
        self.staged.drain(..self.gone);
        (self.staged, self.buf)
    }

    /// `send` within any limits, into any sink.
    fn send_all(
        &mut self,
        limits: Limits,
        may_split: impl FnOnce() -> io::Result<()>,
        sink: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> Result<u64, TransferError> {
        self.send_parts(limits, false, may_split, sink)
    }

    /// The same; if `is_aligned`, staged bytes are copied once more, to where a file that is open with
    /// `O_DIRECT` takes them from.
    fn send_parts(
        &mut self,
        limits: Limits,
        is_aligned: bool,
        may_split: impl FnOnce() -> io::Result<()>,
        mut sink: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> Result<u64, TransferError> {
        let mut may_split = AskOnce::new(may_split);
        let mut transferred = 0;
        loop {
            self.stage();
            let chunk = next_chunk(&self.buf);
            let aligned = is_aligned.then(|| aligned_copy(self.staged()));
            let staged = aligned.as_deref().unwrap_or(self.staged());
            let segments = [IoSlice::new(staged), IoSlice::new(chunk)];
            let is_whole = !self.has_begun && chunk.len() == self.buf.remaining();
            if !is_whole && let Err(error) = may_split.ask() {
                return Err(TransferError::new(transferred, error));
            }
            let mut cursor = SegmentCursor::new();
            let ask = || may_split.ask();
            let result = send_all_referenced(&segments, &mut cursor, limits, ask, &mut sink);
            let went = match &result {
                Ok(went) => *went,
                Err(error) => error.transferred(),
            };
            self.forget(went);
            transferred += went;
            if let Err(error) = result {
                return Err(TransferError::new(transferred, error.into_io_error()));
            }
            if !self.buf.has_remaining() {
                return Ok(transferred);
            }
        }
    }

    /// Copies the small chunks that come next, as long as more come after them and there is room.
    fn stage(&mut self) {
        if self.gone == self.staged.len() {
            self.staged.clear();
            self.gone = 0;
        }
        loop {
            let chunk = next_chunk(&self.buf);
            let len = chunk.len();
            let room = self.staging_bytes.saturating_sub(self.staged.len());
            let is_last = len >= self.buf.remaining();
            if is_last || len > room.min(self.copy_below_bytes) {
                return;
            }
            self.staged.extend_from_slice(chunk);
            self.buf.advance(len);
        }
    }

    /// Moves on by what went: first through what is staged, then through the buffer.
    fn forget(&mut self, went: u64) {
        // It fits: it is at most the bytes of the staging buffer and of one chunk.
        let staged = (self.staged().len() as u64).min(went);
        self.gone += staged as usize;
        self.buf.advance((went - staged) as usize);
        self.has_begun |= went > 0;
    }
}

impl<B> fmt::Debug for BufSender<B> {
    /// Without the bytes, which are a caller's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufSender")
            .field("staged_bytes", &(self.staged.len() - self.gone))
            .finish_non_exhaustive()
    }
}

/// Not how staged bytes always lie: memory of whole pages for each sender takes longer than the bytes of most.
#[cold]
fn aligned_copy(bytes: &[u8]) -> AlignedBuffer {
    let mut aligned = AlignedBuffer::zeroed(bytes.len(), STAGING_ALIGNMENT);
    aligned.copy_from_slice(bytes);
    aligned
}

/// How many bytes it takes as long to copy as to make a further call for them.
///
/// At the price of memory that is not in the cache, since the staging buffer is mostly fresh.
fn as_long_as_a_call(model: &CostModel) -> usize {
    // `as` rounds down, and turns what is negative or not a number into 0.
    ((model.call_ns - model.copy_segment_ns) / model.copy_byte_uncached_ns) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::bufs::{Hollow, Shows, Tree, all_bytes, any_tree, check_sender};
    use crate::testing::{Answer, ScriptedSink, any_limits, any_script, payload};
    use proptest::prelude::*;

    const LIMITS: Limits = Limits {
        segments: 1024,
        bytes: 1 << 20,
    };

    /// A model by which chunks up to `copy_below_bytes` are copied.
    fn model(copy_below_bytes: usize, staging_bytes: usize) -> CostModel {
        let model = CostModel {
            call_ns: copy_below_bytes as f64 + 0.5,
            copy_segment_ns: 0.0,
            copy_byte_uncached_ns: 1.0,
            staging_bytes,
            ..CostModel::default()
        };
        assert_eq!(as_long_as_a_call(&model), copy_below_bytes);
        model
    }

    /// Takes the tree as it is: a clone need not have the same chunks.
    fn check(tree: Tree, model: &CostModel, script: &[Answer], limits: Limits) -> ScriptedSink {
        let bytes = all_bytes(&tree);
        let sender = BufSender::with_model(tree, model);
        let case = (script, limits);
        check_sender(
            &bytes,
            sender,
            case,
            BufSender::remaining,
            |sender, sink| {
                let result = sender.send_all(limits, || Ok(()), |slices| sink.call(slices));
                assert!(sender.staged.len() <= model.staging_bytes);
                result
            },
        )
    }

    proptest! {
        #[test]
        fn any_buf_that_is_not_cloned_arrives_whole_in_order_and_counted(
            tree in any_tree(),
            script in any_script(),
            copy_below_bytes in prop_oneof![Just(0), 1..70_usize, Just(1000)],
            staging_bytes in prop_oneof![Just(0), 1..300_usize],
            limits in any_limits(),
        ) {
            check(tree, &model(copy_below_bytes, staging_bytes), &script, limits);
        }

        #[test]
        fn the_parts_are_all_that_has_not_gone(
            tree in any_tree(),
            script in any_script(),
            copy_below_bytes in 0..70_usize,
            limits in any_limits(),
        ) {
            let mut sink = ScriptedSink::new(script, limits);
            let bytes = all_bytes(&tree);
            let mut sender = BufSender::with_model(tree, &model(copy_below_bytes, 200));
            let _ = sender.send_all(limits, || Ok(()), |slices| sink.call(slices));
            let remaining = sender.remaining();
            let (staged, buf) = sender.into_parts();
            prop_assert_eq!(remaining, (staged.len() + buf.remaining()) as u64);
            let all = [sink.taken, staged, all_bytes(&buf)].concat();
            prop_assert_eq!(all, bytes);
        }
    }

    #[test]
    fn short_writes_resume_at_every_cut_of_staged_and_referenced_bytes() {
        let tree = Tree::rope(&payload(&[2, 3, 9, 1, 2]), Shows::First);
        let model = model(3, 4);
        for first in 1..=17 {
            for second in 1..=17 {
                for code in [libc::EINTR, libc::EAGAIN] {
                    let script = [
                        Answer::Take(first),
                        Answer::Fail(code),
                        Answer::Take(second),
                        Answer::Fail(code),
                    ];
                    check(tree.clone(), &model, &script, LIMITS);
                }
            }
        }
    }

    /// The entries of every call, `copied` or `lent`, with their bytes.
    fn calls(tree: &Tree, model: &CostModel) -> Vec<String> {
        let mut calls = Vec::new();
        let mut buf = tree.clone();
        let mut chunks = Vec::new();
        while buf.has_remaining() {
            let chunk = buf.chunk();
            chunks.push(chunk.as_ptr_range());
            let len = chunk.len();
            buf.advance(len);
        }
        let mut sender = BufSender::with_model(tree.clone(), model);
        let result = sender.send_all(
            LIMITS,
            || Ok(()),
            |slices| {
                let words = slices.iter().map(|slice| {
                    let start = slice.as_ptr();
                    let is_lent = chunks.iter().any(|chunk| chunk.contains(&start));
                    format!(
                        "{} {}",
                        if is_lent { "lent" } else { "copied" },
                        slice.len()
                    )
                });
                calls.push(words.collect::<Vec<_>>().join(" "));
                Ok(slices.iter().map(|slice| slice.len()).sum())
            },
        );
        result.unwrap();
        calls
    }

    #[test]
    fn small_chunks_and_the_large_one_after_them_are_one_call() {
        let rope = |sizes: &[usize]| Tree::rope(&payload(sizes), Shows::First);
        let usual = model(10, 25);
        assert_eq!(calls(&rope(&[3, 4, 500]), &usual), ["copied 7 lent 500"]);
        let twice = ["copied 3 lent 500", "copied 4 lent 400"];
        assert_eq!(calls(&rope(&[3, 500, 4, 400]), &usual), twice);
        // The last is referenced, however small; the border itself is copied.
        assert_eq!(calls(&rope(&[3, 10, 4]), &usual), ["copied 13 lent 4"]);
        assert_eq!(calls(&rope(&[11, 4]), &usual), ["lent 11", "lent 4"]);
        // What does not fit the staging buffer ends the call.
        let full = ["copied 20 lent 10", "copied 10 lent 1"];
        assert_eq!(calls(&rope(&[10, 10, 10, 10, 1]), &usual), full);
        assert_eq!(calls(&rope(&[3, 4]), &model(10, 0)), ["lent 3", "lent 4"]);
    }

    #[test]
    fn by_default_a_header_and_a_body_are_one_call() {
        let tree = Tree::rope(&payload(&[100, 3725, 100_000]), Shows::First);
        let expected = ["copied 3825 lent 100000"];
        assert_eq!(calls(&tree, &CostModel::default()), expected);
    }

    #[test]
    fn a_buffer_of_one_chunk_costs_no_memory() {
        let mut sender = BufSender::new(&b"abcdef"[..]);
        let sink = |slices: &[IoSlice<'_>]| Ok(slices[0].len().min(4));
        assert_eq!(sender.send_all(LIMITS, || Ok(()), sink).unwrap(), 6);
        assert_eq!(sender.staged.capacity(), 0);
    }

    #[test]
    fn only_what_is_one_whole_call_goes_to_a_descriptor_of_messages() {
        let refuse = || Err(io::ErrorKind::InvalidInput.into());
        let check = |sizes: &[usize], script: &[Answer], expected: &[Result<u64, u64>]| {
            let tree = Tree::rope(&payload(sizes), Shows::First);
            let mut sink = ScriptedSink::new(script.to_vec(), LIMITS);
            let mut sender = BufSender::with_model(tree.clone(), &model(10, 25));
            for expected in expected {
                let result = sender.send_all(LIMITS, refuse, |slices| sink.call(slices));
                let result = result.map_err(|error| error.transferred());
                assert_eq!(result, *expected, "{sizes:?}, {script:?}");
            }
            let (staged, buf) = sender.into_parts();
            let all = [sink.taken, staged, all_bytes(&buf)].concat();
            assert_eq!(all, all_bytes(&tree));
            sink.calls
        };
        // Once it is sent, there is nothing more to send but the empty message.
        assert_eq!(check(&[3, 4, 500], &[], &[Ok(507), Err(0)]), 1);
        let later = [Answer::Fail(libc::EAGAIN)];
        assert_eq!(check(&[3, 4, 500], &later, &[Err(0), Ok(507)]), 2);
        assert_eq!(check(&[], &[], &[Err(0)]), 0);
        assert_eq!(check(&[3, 500, 1], &[], &[Err(0), Err(0)]), 0);
        // A part has gone, of what is staged or of what is not.
        for part in [2, 7, 8] {
            let script = [Answer::Take(part)];
            let expected = [Err(part as u64), Err(0)];
            assert_eq!(check(&[3, 4, 500], &script, &expected), 1);
        }
    }

    #[test]
    #[should_panic(expected = "the Buf has 3 bytes remaining, but its chunk() is empty")]
    fn a_sender_of_a_buf_without_a_chunk_is_no_endless_loop() {
        let _ = BufSender::new(Hollow).send_all(LIMITS, || Ok(()), |_| Ok(0));
    }

    #[test]
    fn its_debug_form_shows_no_bytes_of_a_caller() {
        let mut sender = BufSender::new((&b"secret"[..]).chain(&b"word"[..]));
        let fail = |_: &[IoSlice<'_>]| Err(io::ErrorKind::WouldBlock.into());
        assert!(sender.send_all(LIMITS, || Ok(()), fail).is_err());
        assert_eq!(format!("{sender:?}"), "BufSender { staged_bytes: 6, .. }");
    }
}
