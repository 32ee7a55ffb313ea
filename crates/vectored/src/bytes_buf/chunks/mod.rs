//! Writing from a `bytes::Buf`: what can be believed of the slices that it gives.

use std::io::{self, IoSlice};
use std::mem;
use std::os::fd::AsFd;

use bytes::Buf;

use crate::cursor::SegmentCursor;
use crate::error::TransferError;
use crate::gather::{Gather, recycle};
use crate::transfer::direct_retry::resend_uncopied;
use crate::transfer::message_sockets::refuse_messages;
use crate::transfer::unvectored::into_stream;
use crate::transfer::write_loop::AskOnce;
use crate::write::all::send_all_referenced;

/// StagingTail for so many slices is offered to a `Buf` first: to clear it costs about as much as a slice
/// costs in the kernel, and to clear room for `iov_max()` as much as a short system call.
const FEW_SLICES: usize = 64;

impl Gather {
    /// Writes all of `buf` and returns its bytes: small chunks copied together, large ones
    /// referenced, many in one call.
    ///
    /// With feature `bytes`.
    ///
    /// It takes up to [`iov_max`](crate::iov_max) chunks at once and writes them as
    /// [`write_all`](Gather::write_all) writes a list. Whether it succeeds or fails, `buf` has been
    /// advanced by exactly the bytes that went. After [`WouldBlock`](io::ErrorKind::WouldBlock), or
    /// another error that can be mended, call it again with the same `buf`. If a file that is open with
    /// `O_DIRECT` answers `EINVAL`, what is left is tried once more uncopied.
    ///
    /// # Which slices are believed
    ///
    /// [`Buf::chunks_vectored`] may skip data: of a [`Chain`] whose first half
    /// gives only the first of its chunks, the second half follows at once
    /// ([bytes#701](https://github.com/tokio-rs/bytes/issues/701)). So its slices are only a hint
    /// here. Each is proved by walking a clone of `buf`, chunk by chunk, and what is not proved is not
    /// written from there.
    ///
    /// The proof is by address, so it needs a type whose clone refers to the same memory, such as
    /// a rope of [`Bytes`] or `&[u8]`. Of a type whose clone copies the bytes, such as
    /// `VecDeque<u8>`, one chunk goes at a time, and each call may cost a copy of all that is left. A
    /// buffer of one chunk is never cloned. For a `Buf` that is dear to clone or cannot be cloned, as
    /// `Chain` and [`Take`] cannot, there is [`BufSender`](crate::BufSender).
    ///
    /// # Errors
    ///
    /// As [`write_all_vectored`](crate::write_all_vectored), with the bytes of this call. A socket
    /// that keeps messages apart is refused unless what `buf` holds is exactly one message
    /// ([details](crate#messages)); what was taken from `buf` by earlier calls cannot be known.
    ///
    /// # Panics
    ///
    /// If `buf` has bytes remaining and yet an empty chunk, which breaks the contract of
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
        fd: impl AsFd,
        buf: &mut B,
    ) -> Result<u64, TransferError> {
        let fd = fd.as_fd();
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

    /// The same; if not `may_copy`, each chunk goes from where it lies.
    fn send_chunks<B: Buf + Clone>(
        &mut self,
        buf: &mut B,
        may_copy: bool,
        may_split: impl FnOnce() -> io::Result<()>,
        mut sink: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> Result<u64, TransferError> {
        let limits = self.limits();
        let mut may_split = AskOnce::new(may_split);
        let mut clones_share = true;
        let mut transferred = 0;
        loop {
            let mut slices = recycle(mem::take(&mut self.slices));
            let bytes = proven(buf, limits.segments, &mut clones_share, &mut slices);
            // Of several parts the first is not the whole, so it is asked before any byte.
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
            let went = match &result {
                Ok(went) => *went,
                Err(error) => error.transferred(),
            };
            // It fits: these are bytes of `proven`.
            buf.advance(went as usize);
            transferred += went;
            if let Err(error) = result {
                return Err(TransferError::new(transferred, error.into_io_error()));
            }
            if !buf.has_remaining() {
                return Ok(transferred);
            }
        }
    }
}

/// The next chunk of `buf`, which is empty only at its end.
///
/// # Panics
///
/// If it is empty before: that breaks the contract of `Buf::chunk`, and a loop would never end.
pub(crate) fn next_chunk(buf: &impl Buf) -> &[u8] {
    let chunk = buf.chunk();
    assert!(
        !chunk.is_empty() || !buf.has_remaining(),
        "the Buf has {} bytes remaining, but its chunk() is empty",
        buf.remaining()
    );
    chunk
}

/// Leaves in `slices` the next chunks of `buf`, at most `most`, and returns their bytes.
///
/// `clones_share` is set to false when a clone turns out to lie elsewhere: then no more are made.
fn proven<'a, B: Buf + Clone>(
    buf: &'a B,
    most: usize,
    clones_share: &mut bool,
    slices: &mut Vec<IoSlice<'a>>,
) -> usize {
    slices.clear();
    let chunk = next_chunk(buf);
    if chunk.is_empty() {
        return 0;
    }
    let mut bytes = 0;
    if chunk.len() < buf.remaining() && most > 1 && *clones_share {
        ask_for_slices(buf, most, slices);
        if slices.len() > 1 {
            let mut clone = buf.clone();
            *clones_share = clone.chunk().as_ptr() == chunk.as_ptr();
            bytes = keep_proven(&mut clone, slices);
        }
    }
    if bytes < chunk.len() {
        slices.clear();
        slices.push(IoSlice::new(chunk));
        bytes = chunk.len();
    }
    bytes
}

/// Keeps those `slices` that are the next chunks of `clone`, from the first on; returns their bytes.
///
/// A slice is proved if it begins where the clone's next chunk does and is not longer. They are the
/// same memory then, and both borrow it at this moment, so they are the same bytes.
fn keep_proven(clone: &mut impl Buf, slices: &mut Vec<IoSlice<'_>>) -> usize {
    let mut bytes: usize = 0;
    let mut is_proved = true;
    slices.retain(|slice| {
        // Empty ones need no proof and no place.
        if !is_proved || slice.is_empty() {
            return false;
        }
        let next = clone.chunk();
        let sum = bytes.checked_add(slice.len());
        is_proved = slice.as_ptr() == next.as_ptr() && slice.len() <= next.len() && sum.is_some();
        if is_proved {
            clone.advance(slice.len());
            bytes += slice.len();
        }
        is_proved
    });
    bytes
}

/// Asks `buf` for up to `most` slices; for few at first, since most buffers have few.
fn ask_for_slices<'a>(buf: &'a impl Buf, most: usize, slices: &mut Vec<IoSlice<'a>>) {
    for room in [most.min(FEW_SLICES), most] {
        slices.clear();
        slices.resize(room, IoSlice::new(&[]));
        let count = buf.chunks_vectored(slices);
        slices.truncate(count);
        if count < room || room == most {
            break;
        }
    }
}

#[cfg(test)]
mod tests;
