//! Writing from a `bytes::Buf`.

use std::fmt;
use std::io::{self, IoSlice};

use bytes::Buf;

use crate::cost::CostModel;
use crate::cursor::SegmentCursor;
use crate::descriptor::AsDescriptor;
use crate::error::TransferError;
use crate::sys::limits::Limits;
use crate::sys::staging::STAGING_ALIGNMENT;
use crate::transfer::aligned_buffer::AlignedBuffer;
use crate::transfer::direct_retry::resend_uncopied;
use crate::transfer::message_sockets::refuse_messages;
use crate::transfer::unvectored::into_stream;
use crate::transfer::write_loop::SplitGuard;
use crate::write::all::send_all_referenced;

/// A sender of any `bytes::Buf`, which also holds the bytes taken from the buffer and not yet sent.
///
/// With feature `bytes`.
///
/// It takes any [`Buf`], including one that cannot be cloned, such as a [`Chain`] or a `Box<dyn Buf>`. It calls only
/// [`Buf::chunk`] and [`Buf::advance`], which cannot skip data as [`Buf::chunks_vectored`] can
/// ([bytes#701](https://github.com/tokio-rs/bytes/issues/701)). To reach the next chunk, a `Buf` must be advanced
/// past the current one, whose bytes must then be kept elsewhere. So small chunks are copied into a staging buffer,
/// and the chunk after them is referenced in the same call: a small header and a large body in a chain are one
/// `writev(2)`, without copying the body. Each of many large chunks is a call of its own; a
/// [`SegmentQueue`](crate::SegmentQueue) sends many in one call, if they are [`Bytes`].
///
/// A chunk that is not the last is copied if, by the [`CostModel`], a call of its own would take longer than copying
/// it: by default up to 3725 bytes. A longer chunk is the last one of its call. The last chunk is always referenced,
/// so a buffer of one chunk needs no memory. The staging buffer grows up to
/// [`staging_bytes`](CostModel::staging_bytes), and is freed with the `BufSender`. It is not aligned: if a file that
/// is open with `O_DIRECT` answers `EINVAL`, the call is repeated with the staged bytes at the start of a page.
///
/// # Examples
///
/// Sending a chain to a non-blocking descriptor:
///
/// ```
/// use std::io::{ErrorKind, Read};
/// use std::os::unix::net::UnixStream;
/// use bytes::{Buf, Bytes};
/// use vectored::buffered::BufSender;
///
/// # fn main() -> std::io::Result<()> {
/// let (writer, mut reader) = UnixStream::pair()?;
/// writer.set_nonblocking(true)?;
/// let header = Bytes::from_static(b"Content-Length: 10000000\r\n\r\n");
/// let body = Bytes::from(vec![b'x'; 10_000_000]);
///
/// let mut sender = BufSender::new(header.chain(body));
/// let mut received = 0;
/// while let Err(error) = sender.write_to(&writer) {
///     if error.kind() != ErrorKind::WouldBlock {
///         return Err(error.into());
///     }
///     // A real program waits with poll(2) here, until the reader has made room.
///     received += reader.read(&mut [0; 65_536])?;
/// }
/// assert_eq!(sender.remaining_bytes(), 0);
/// # assert!(received > 0);
/// # Ok(())
/// # }
/// ```
///
/// [`Buf`]: https://docs.rs/bytes/1/bytes/trait.Buf.html
/// [`Bytes`]: https://docs.rs/bytes/1/bytes/struct.Bytes.html
/// [`Buf::advance`]: https://docs.rs/bytes/1/bytes/trait.Buf.html#tymethod.advance
/// [`Buf::chunk`]: https://docs.rs/bytes/1/bytes/trait.Buf.html#tymethod.chunk
/// [`Buf::chunks_vectored`]: https://docs.rs/bytes/1/bytes/trait.Buf.html#method.chunks_vectored
/// [`Chain`]: https://docs.rs/bytes/1/bytes/buf/struct.Chain.html
pub struct BufSender<B> {
    buf: B,
    /// Bytes copied from `buf`, which has been advanced past them. The first `sent_staged_bytes` were sent.
    staged: Vec<u8>,
    sent_staged_bytes: usize,
    staging_bytes: usize,
    copy_below_bytes: usize,
    has_sent_bytes: bool,
}

impl<B: Buf> BufSender<B> {
    /// A sender of all bytes of `buf`, which decides by the default model. Allocates nothing yet.
    #[must_use]
    pub fn new(buf: B) -> BufSender<B> {
        BufSender::with_model(buf, &CostModel::default())
    }

    /// A sender of all bytes of `buf`, which decides by `model`. Allocates nothing yet.
    #[must_use]
    pub fn with_model(buf: B, model: &CostModel) -> BufSender<B> {
        BufSender {
            buf,
            staged: Vec::new(),
            sent_staged_bytes: 0,
            staging_bytes: model.staging_bytes,
            copy_below_bytes: break_even_bytes(model),
            has_sent_bytes: false,
        }
    }

    /// Writes all remaining bytes, and returns how many this call wrote.
    ///
    /// Whether it succeeds or fails, [`remaining_bytes`](BufSender::remaining_bytes) has decreased by exactly the
    /// bytes that were sent. After [`WouldBlock`](io::ErrorKind::WouldBlock), wait until the descriptor is
    /// ready and call it again; after any other error, remove its cause and call it again.
    ///
    /// # `SIGPIPE`
    ///
    /// If the reader of a pipe or socket is gone, the call raises `SIGPIPE`, which ends the process unless the signal
    /// is ignored, blocked or handled. If it is, the error is [`BrokenPipe`](io::ErrorKind::BrokenPipe). A Rust program
    /// ignores the signal from its start. ([Which functions raise
    /// none](crate::TransferError#signals-timeouts-and-full-descriptors).)
    ///
    /// # Errors
    ///
    /// The errors of the function [`write_all`](crate::write_all), with the bytes of this call. A socket
    /// that keeps messages apart is refused unless the whole buffer is exactly one message
    /// ([details](crate::write_once#messages)) in one call: chunks that are copied, and one more.
    ///
    /// # Panics
    ///
    /// If the buffer has bytes remaining but an empty chunk, which breaks the contract of
    /// [`Buf::chunk`](https://docs.rs/bytes/1/bytes/trait.Buf.html#tymethod.chunk).
    pub fn write_to(&mut self, fd: impl AsDescriptor) -> Result<u64, TransferError> {
        let fd = fd.as_descriptor();
        let limits = Limits::default();
        let sent = self.send_all(limits, || refuse_messages(fd), into_stream(fd));
        sent.or_else(|error| {
            resend_uncopied(fd, error, |_| {
                self.send_parts(limits, true, || refuse_messages(fd), into_stream(fd))
            })
        })
    }

    /// The number of bytes not yet sent: those that are staged and those still in the buffer.
    #[must_use]
    pub fn remaining_bytes(&self) -> u64 {
        (self.staged().len() as u64).saturating_add(self.buf.remaining() as u64)
    }

    /// The bytes taken from the buffer and not yet sent. They come before the bytes still in the buffer.
    #[must_use]
    pub fn staged(&self) -> &[u8] {
        &self.staged[self.sent_staged_bytes..]
    }

    /// The buffer, which has been advanced past the [`staged`](BufSender::staged) bytes.
    #[must_use]
    pub fn get_ref(&self) -> &B {
        &self.buf
    }

    /// Returns the bytes not yet sent, in order: the [`staged`](BufSender::staged) bytes, then the buffer.
    ///
    /// # Examples
    ///
    /// ```
    /// use bytes::Buf;
    /// use vectored::buffered::BufSender;
    ///
    /// # fn main() -> std::io::Result<()> {
    /// // A descriptor that is open for reading refuses writes.
    /// let closed = std::fs::File::open("/dev/null")?;
    /// let mut sender = BufSender::new((&b"head"[..]).chain(&b"body"[..]));
    /// assert!(sender.write_to(&closed).is_err());
    ///
    /// // No byte is lost: all can be sent elsewhere.
    /// let (staged, buf) = sender.into_parts();
    /// let mut rest = (&staged[..]).chain(buf);
    /// assert_eq!(rest.copy_to_bytes(8), "headbody");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "the bytes that are staged are no longer in the buffer"]
    pub fn into_parts(mut self) -> (Vec<u8>, B) {
        self.staged.drain(..self.sent_staged_bytes);
        (self.staged, self.buf)
    }

    /// `write_to` within any limits, into any sink.
    fn send_all(
        &mut self,
        limits: Limits,
        may_split: impl FnOnce() -> io::Result<()>,
        sink: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> Result<u64, TransferError> {
        self.send_parts(limits, false, may_split, sink)
    }

    /// `send_all`; if `is_aligned`, staged bytes are copied once more, into page-aligned memory, which a file that is
    /// open with `O_DIRECT` requires.
    fn send_parts(
        &mut self,
        limits: Limits,
        is_aligned: bool,
        may_split: impl FnOnce() -> io::Result<()>,
        mut sink: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> Result<u64, TransferError> {
        let mut may_split = SplitGuard::unasked(SegmentCursor::new(), may_split);
        let mut transferred = 0;
        loop {
            self.stage();
            let chunk = next_chunk(&self.buf);
            let aligned = is_aligned.then(|| aligned_copy(self.staged()));
            let staged = aligned.as_deref().unwrap_or(self.staged());
            let segments = [IoSlice::new(staged), IoSlice::new(chunk)];
            let is_whole = !self.has_sent_bytes && chunk.len() == self.buf.remaining();
            if !is_whole {
                may_split
                    .ask()
                    .map_err(|error| TransferError::new(transferred, error))?;
            }
            let mut cursor = SegmentCursor::new();
            let ask = || may_split.ask();
            let result = send_all_referenced(&segments, &mut cursor, limits, ask, &mut sink);
            let sent = match &result {
                Ok(sent) => *sent,
                Err(error) => error.transferred(),
            };
            self.advance(sent);
            transferred += sent;
            if let Err(error) = result {
                return Err(TransferError::new(transferred, error.into_io_error()));
            }
            if !self.buf.has_remaining() {
                return Ok(transferred);
            }
        }
    }

    /// Copies the next small chunks into the staging buffer, except the last chunk, as far as they fit.
    fn stage(&mut self) {
        if self.sent_staged_bytes == self.staged.len() {
            self.staged.clear();
            self.sent_staged_bytes = 0;
        }
        loop {
            let chunk = next_chunk(&self.buf);
            let len = chunk.len();
            let free = self.staging_bytes.saturating_sub(self.staged.len());
            let is_last = len >= self.buf.remaining();
            if is_last || len > free.min(self.copy_below_bytes) {
                return;
            }
            self.staged.extend_from_slice(chunk);
            self.buf.advance(len);
        }
    }

    /// Advances by the `sent` bytes: first through the staged bytes, then through the buffer.
    fn advance(&mut self, sent: u64) {
        // The casts are exact: the staging buffer and one chunk were in memory.
        let staged = (self.staged().len() as u64).min(sent);
        self.sent_staged_bytes += staged as usize;
        self.buf.advance((sent - staged) as usize);
        self.has_sent_bytes |= sent > 0;
    }
}

impl<B> fmt::Debug for BufSender<B> {
    /// Shows the number of staged bytes and not the bytes, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufSender")
            .field(
                "staged_bytes",
                &(self.staged.len() - self.sent_staged_bytes),
            )
            .finish_non_exhaustive()
    }
}

/// A page-aligned copy of `bytes`.
///
/// Staged bytes are not always aligned, because allocating whole pages for each sender takes longer than copying
/// the few bytes that most senders stage.
#[cold]
fn aligned_copy(bytes: &[u8]) -> AlignedBuffer {
    let mut aligned = AlignedBuffer::zeroed(bytes.len(), STAGING_ALIGNMENT);
    aligned.copy_from_slice(bytes);
    aligned
}

/// The next chunk of `buf`, which is empty only at the end of `buf`.
///
/// # Panics
///
/// If it is empty earlier, which breaks the contract of `Buf::chunk` and would make the caller loop forever.
pub(crate) fn next_chunk(buf: &impl Buf) -> &[u8] {
    let chunk = buf.chunk();
    assert!(
        !chunk.is_empty() || !buf.has_remaining(),
        "the Buf has {} bytes remaining, but its chunk() is empty",
        buf.remaining()
    );
    chunk
}

/// The number of bytes that take as long to copy as one more system call takes.
///
/// The uncached copying cost is taken, since the memory of the staging buffer is usually new.
fn break_even_bytes(model: &CostModel) -> usize {
    // `as` rounds down, and turns a negative number or NaN into 0.
    ((model.call_ns - model.copy_segment_ns) / model.copy_byte_uncached_ns) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::codes;
    use crate::testing::bufs::{
        Hollow, Shows, Tree, all_bytes, any_tree, bytes_shown, check_sender,
    };
    use crate::testing::{Answer, ScriptedSink, any_limits, any_script, payload};
    use proptest::prelude::*;

    const LIMITS: Limits = Limits {
        segments: 1024,
        bytes: 1 << 20,
    };

    /// A model by which chunks of up to `copy_below_bytes` are copied.
    fn model(copy_below_bytes: usize, staging_bytes: usize) -> CostModel {
        let model = CostModel {
            call_ns: copy_below_bytes as f64 + 0.5,
            copy_segment_ns: 0.0,
            copy_byte_uncached_ns: 1.0,
            staging_bytes,
            ..CostModel::default()
        };
        assert_eq!(break_even_bytes(&model), copy_below_bytes);
        model
    }

    /// Takes the tree by value, since a clone need not have the same chunks.
    fn check(tree: Tree, model: &CostModel, script: &[Answer], limits: Limits) -> ScriptedSink {
        let bytes = all_bytes(&tree);
        let sender = BufSender::with_model(tree, model);
        let case = (script, limits);
        check_sender(
            &bytes,
            sender,
            case,
            BufSender::remaining_bytes,
            |sender, sink| {
                let result = sender.send_all(limits, || Ok(()), |slices| sink.call(slices));
                assert!(sender.staged.len() <= model.staging_bytes);
                result
            },
        )
    }

    proptest! {
        #[test]
        fn any_buf_arrives_whole_in_order_and_counted(
            tree in any_tree(),
            script in any_script(),
            copy_below_bytes in prop_oneof![Just(0), 1..70_usize, Just(1000)],
            staging_bytes in prop_oneof![Just(0), 1..300_usize],
            limits in any_limits(),
        ) {
            check(tree, &model(copy_below_bytes, staging_bytes), &script, limits);
        }

        #[test]
        fn the_parts_are_all_bytes_that_were_not_sent(
            tree in any_tree(),
            script in any_script(),
            copy_below_bytes in 0..70_usize,
            limits in any_limits(),
        ) {
            let mut sink = ScriptedSink::new(script, limits);
            let bytes = all_bytes(&tree);
            let mut sender = BufSender::with_model(tree, &model(copy_below_bytes, 200));
            let _ = sender.send_all(limits, || Ok(()), |slices| sink.call(slices));
            let remaining = sender.remaining_bytes();
            let (staged, buf) = sender.into_parts();
            prop_assert_eq!(remaining, (staged.len() + buf.remaining()) as u64);
            let all = [sink.taken, staged, all_bytes(&buf)].concat();
            prop_assert_eq!(all, bytes);
        }
    }

    /// <https://github.com/tokio-rs/bytes/issues/701>
    #[test]
    fn slices_that_skip_data_are_not_used() {
        let data = payload(&[5, 7, 9, 5, 7]);
        let skipping = |shows| Tree::rope(&data[..2], shows);
        let tail = || Tree::rope(&data[2..], Shows::All);
        let copying = model(10, 25);
        for shows in [Shows::First, Shows::AllButFirst, Shows::FirstAgain] {
            let chain = Tree::chain_of(skipping(shows), tail());
            assert!(!all_bytes(&chain).starts_with(&bytes_shown(&chain)));
            check(chain.clone(), &copying, &[], LIMITS);
            check(Tree::chain_of(chain, tail()), &copying, &[], LIMITS);
        }
        // Here the total and the first slice are right: 5 + 9 + 5 of 19 bytes.
        let chain = Tree::chain_of(skipping(Shows::First), tail());
        let take = Tree::take_of(chain, 19);
        let shown = bytes_shown(&take);
        assert_eq!(shown.len(), take.remaining());
        assert_eq!(shown[..5], data[0]);
        assert_ne!(shown, all_bytes(&take));
        check(take, &copying, &[], LIMITS);
    }

    #[test]
    fn an_error_at_any_point_of_a_buf_leaves_it_where_it_was() {
        let data = payload(&[2, 3, 8, 1, 3, 5]);
        for shows in [Shows::All, Shows::First] {
            let rope = Tree::rope(&data[..3], shows);
            let tree = Tree::chain_of(rope, Tree::rope(&data[3..], shows));
            for before in 0..22 {
                for code in [codes::EAGAIN, codes::EIO, codes::ENOSPC, codes::EPIPE] {
                    let mut script = vec![Answer::Take(1); before];
                    script.push(Answer::Fail(code));
                    check(tree.clone(), &model(3, 6), &script, LIMITS);
                }
            }
        }
    }

    #[test]
    fn whether_a_buf_may_be_split_is_asked_once() {
        let limits = Limits {
            segments: 2,
            bytes: 7,
        };
        let mut asked = 0;
        let ask = || {
            asked += 1;
            Ok(())
        };
        let rope = Tree::rope(&payload(&[3; 20]), Shows::All);
        let sink = |slices: &[IoSlice<'_>]| Ok(slices.iter().map(|slice| slice.len()).sum());
        let result = BufSender::with_model(rope, &model(0, 0)).send_all(limits, ask, sink);
        assert_eq!((result.unwrap(), asked), (60, 1));
    }

    #[test]
    fn short_writes_resume_at_every_cut_of_staged_and_referenced_bytes() {
        let tree = Tree::rope(&payload(&[2, 3, 9, 1, 2]), Shows::First);
        let model = model(3, 4);
        for first in 1..=17 {
            for second in 1..=17 {
                for code in [codes::EINTR, codes::EAGAIN] {
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

    /// The entries of every call, each `copied` or `referenced`, with their bytes.
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
                    let is_referenced = chunks.iter().any(|chunk| chunk.contains(&start));
                    format!(
                        "{} {}",
                        if is_referenced { "referenced" } else { "copied" },
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
        assert_eq!(
            calls(&rope(&[3, 4, 500]), &usual),
            ["copied 7 referenced 500"]
        );
        let twice = ["copied 3 referenced 500", "copied 4 referenced 400"];
        assert_eq!(calls(&rope(&[3, 500, 4, 400]), &usual), twice);
        // The last chunk is referenced, however small; a chunk as long as the threshold is copied.
        assert_eq!(
            calls(&rope(&[3, 10, 4]), &usual),
            ["copied 13 referenced 4"]
        );
        assert_eq!(
            calls(&rope(&[11, 4]), &usual),
            ["referenced 11", "referenced 4"]
        );
        // A chunk that does not fit the staging buffer ends the call.
        let full = ["copied 20 referenced 10", "copied 10 referenced 1"];
        assert_eq!(calls(&rope(&[10, 10, 10, 10, 1]), &usual), full);
        assert_eq!(
            calls(&rope(&[3, 4]), &model(10, 0)),
            ["referenced 3", "referenced 4"]
        );
    }

    #[test]
    fn by_default_a_header_and_a_body_are_one_call() {
        let tree = Tree::rope(&payload(&[100, 3725, 100_000]), Shows::First);
        let expected = ["copied 3825 referenced 100000"];
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
        // After the message was sent, nothing is left, and an empty message is refused.
        assert_eq!(check(&[3, 4, 500], &[], &[Ok(507), Err(0)]), 1);
        let later = [Answer::Fail(codes::EAGAIN)];
        assert_eq!(check(&[3, 4, 500], &later, &[Err(0), Ok(507)]), 2);
        assert_eq!(check(&[], &[], &[Err(0)]), 0);
        assert_eq!(check(&[3, 500, 1], &[], &[Err(0), Err(0)]), 0);
        // A part was sent, of the staged bytes or of the referenced ones.
        for part in [2, 7, 8] {
            let script = [Answer::Take(part)];
            let expected = [Err(part as u64), Err(0)];
            assert_eq!(check(&[3, 4, 500], &script, &expected), 1);
        }
    }

    #[test]
    #[should_panic(expected = "the Buf has 3 bytes remaining, but its chunk() is empty")]
    fn a_sender_of_a_buf_with_bytes_but_an_empty_chunk_panics() {
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
