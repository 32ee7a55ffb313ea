//! Writing from a `bytes::Buf` that can be cloned, with a check of the slices that it gives.

use std::io::{self, IoSlice};
use std::mem;

use bytes::Buf;

use crate::cursor::SegmentCursor;
use crate::descriptor::AsDescriptor;
use crate::error::TransferError;
use crate::gather::{Gather, recycle};
use crate::transfer::direct_retry::resend_uncopied;
use crate::transfer::message_sockets::refuse_messages;
use crate::transfer::unvectored::into_stream;
use crate::transfer::write_loop::SplitGuard;
use crate::write::all::send_all_referenced;

/// Slices that a `Buf` is asked for at first. Most have fewer.
///
/// The array must be initialized for each call: 64 entries take about as long as the kernel takes for one segment,
/// and `iov_max()` entries about as long as a short system call.
const FIRST_SLICES: usize = 64;

impl Gather {
    /// Writes all of `buf` and returns its bytes. Copies small chunks together, references large ones, and sends many
    /// in one call.
    ///
    /// With feature `bytes`.
    ///
    /// It takes up to [`iov_max`](crate::iov_max) chunks at once and writes them as
    /// [`write_all`](Gather::write_all) writes a list. Whether it succeeds or fails, `buf` has been
    /// advanced by exactly the bytes that were written. After [`WouldBlock`](io::ErrorKind::WouldBlock), or
    /// another error whose cause can be removed, call it again with the same `buf`. If a file that is open with
    /// `O_DIRECT` answers `EINVAL`, the rest is tried once more without copying.
    ///
    /// # How slices are checked
    ///
    /// [`Buf::chunks_vectored`] may skip data: if the first half of a [`Chain`] gives only the first of its chunks,
    /// the second half follows directly after it
    /// ([bytes#701](https://github.com/tokio-rs/bytes/issues/701)). So its slices are only a hint
    /// here. This method walks a clone of `buf`, chunk by chunk, and uses a slice only if it is the next chunk of the
    /// clone.
    ///
    /// The check compares addresses, so it needs a type whose clone refers to the same memory, such as
    /// a rope of [`Bytes`] or `&[u8]`. If a clone copies the bytes, as that of
    /// `VecDeque<u8>` does, chunks are written one at a time, and each call of this method may copy the whole rest. A
    /// buffer of one chunk is never cloned. For a `Buf` that is expensive to clone or cannot be cloned, as
    /// `Chain` and [`Take`] cannot, use [`BufSender`](crate::BufSender).
    ///
    /// # Errors
    ///
    /// As [`write_all_vectored`](crate::write_all_vectored), with the bytes of this call. A socket
    /// that keeps messages apart is refused unless the rest of `buf` is exactly one message
    /// ([details](crate#messages)). Whether earlier calls sent a part of that message cannot be checked.
    ///
    /// # Panics
    ///
    /// If `buf` has bytes remaining but an empty chunk, which breaks the contract of
    /// [`Buf::chunk`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::ErrorKind;
    /// use std::os::unix::net::UnixStream;
    /// use bytes::{Buf, Bytes};
    /// use vectored::Gather;
    ///
    /// # fn main() -> std::io::Result<()> {
    /// let (writer, reader) = UnixStream::pair()?;
    /// writer.set_nonblocking(true)?;
    /// let mut body = Bytes::from(vec![b'x'; 10_000_000]);
    ///
    /// let full = Gather::default().write_buf(&writer, &mut body).unwrap_err();
    /// assert_eq!(full.kind(), ErrorKind::WouldBlock);
    /// assert_eq!(full.transferred() + body.remaining() as u64, 10_000_000);
    /// # drop(reader);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [`Buf::chunk`]: https://docs.rs/bytes/1/bytes/trait.Buf.html#tymethod.chunk
    /// [`Buf::chunks_vectored`]: https://docs.rs/bytes/1/bytes/trait.Buf.html#method.chunks_vectored
    /// [`Bytes`]: https://docs.rs/bytes/1/bytes/struct.Bytes.html
    /// [`Chain`]: https://docs.rs/bytes/1/bytes/buf/struct.Chain.html
    /// [`Take`]: https://docs.rs/bytes/1/bytes/buf/struct.Take.html
    pub fn write_buf<B: Buf + Clone>(
        &mut self,
        fd: impl AsDescriptor,
        buf: &mut B,
    ) -> Result<u64, TransferError> {
        let fd = fd.as_descriptor();
        let sent = self.send_buf(buf, || refuse_messages(fd), into_stream(fd));
        sent.or_else(|error| {
            resend_uncopied(fd, error, |_| {
                self.send_chunks(buf, false, || refuse_messages(fd), into_stream(fd))
            })
        })
    }

    /// `write_buf` into any sink.
    fn send_buf<B: Buf + Clone>(
        &mut self,
        buf: &mut B,
        may_split: impl FnOnce() -> io::Result<()>,
        sink: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> Result<u64, TransferError> {
        self.send_chunks(buf, true, may_split, sink)
    }

    /// As `send_buf`; without `may_copy`, every chunk is referenced.
    fn send_chunks<B: Buf + Clone>(
        &mut self,
        buf: &mut B,
        may_copy: bool,
        may_split: impl FnOnce() -> io::Result<()>,
        mut sink: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> Result<u64, TransferError> {
        let limits = self.limits();
        let mut may_split = SplitGuard::unasked(SegmentCursor::new(), may_split);
        let mut clones_share = true;
        let mut transferred = 0;
        loop {
            let mut slices = recycle(mem::take(&mut self.slices));
            let bytes = next_slices(buf, limits.segments, &mut clones_share, &mut slices);
            // A message socket must refuse a `buf` that takes several batches, before any byte.
            let is_whole = bytes == buf.remaining();
            let may_go = if is_whole { Ok(()) } else { may_split.ask() };
            let result = match may_go {
                Err(error) => Err(TransferError::new(0, error)),
                Ok(()) => {
                    let (cursor, ask) = (&mut SegmentCursor::new(), || may_split.ask());
                    match may_copy {
                        true => self.send_all(&slices, cursor, ask, &mut sink),
                        false => send_all_referenced(&slices, cursor, limits, ask, &mut sink),
                    }
                }
            };
            self.slices = recycle(slices);
            let sent = match &result {
                Ok(sent) => *sent,
                Err(error) => error.transferred(),
            };
            // The cast is exact: `next_slices` returned at least as many bytes, as a `usize`.
            buf.advance(sent as usize);
            transferred += sent;
            if let Err(error) = result {
                return Err(TransferError::new(transferred, error.into_io_error()));
            }
            if !buf.has_remaining() {
                return Ok(transferred);
            }
        }
    }
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

/// Puts the next chunks of `buf`, at most `max_slices`, into `slices`, and returns their bytes.
///
/// Sets `clones_share` to false if a clone turns out to lie in other memory; no further clone is made then.
fn next_slices<'a, B: Buf + Clone>(
    buf: &'a B,
    max_slices: usize,
    clones_share: &mut bool,
    slices: &mut Vec<IoSlice<'a>>,
) -> usize {
    slices.clear();
    let chunk = next_chunk(buf);
    if chunk.is_empty() {
        return 0;
    }
    let mut bytes = 0;
    if chunk.len() < buf.remaining() && max_slices > 1 && *clones_share {
        ask_for_slices(buf, max_slices, slices);
        if slices.len() > 1 {
            let mut clone = buf.clone();
            *clones_share = clone.chunk().as_ptr() == chunk.as_ptr();
            bytes = keep_next_chunks(&mut clone, slices);
        }
    }
    if bytes < chunk.len() {
        slices.clear();
        slices.push(IoSlice::new(chunk));
        bytes = chunk.len();
    }
    bytes
}

/// Keeps the leading `slices` that are the next chunks of `clone`, and returns their bytes.
///
/// A slice is kept if it begins at the address of the clone's next chunk and is not longer. The two are then the
/// same memory, and both borrow it, so they are the same bytes.
fn keep_next_chunks(clone: &mut impl Buf, slices: &mut Vec<IoSlice<'_>>) -> usize {
    let mut bytes: usize = 0;
    let mut is_next = true;
    slices.retain(|slice| {
        // Empty slices are dropped.
        if !is_next || slice.is_empty() {
            return false;
        }
        let next = clone.chunk();
        let sum = bytes.checked_add(slice.len());
        is_next = slice.as_ptr() == next.as_ptr() && slice.len() <= next.len() && sum.is_some();
        if is_next {
            clone.advance(slice.len());
            bytes += slice.len();
        }
        is_next
    });
    bytes
}

/// Asks `buf` for up to `max_slices` slices, and for [`FIRST_SLICES`] at first.
fn ask_for_slices<'a>(buf: &'a impl Buf, max_slices: usize, slices: &mut Vec<IoSlice<'a>>) {
    for count_limit in [max_slices.min(FIRST_SLICES), max_slices] {
        slices.clear();
        slices.resize(count_limit, IoSlice::new(&[]));
        let count = buf.chunks_vectored(slices);
        slices.truncate(count);
        if count < count_limit || count_limit == max_slices {
            break;
        }
    }
}

#[cfg(test)]
mod tests;
