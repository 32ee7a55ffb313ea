//! Which descriptors and streams really gather.

use std::fs::File;
use std::io::{IoSlice, PipeWriter};
use std::net::TcpStream;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ChildStdin;

use crate::cursor::SegmentCursor;
use crate::error::TransferError;
use crate::gather::Gather;

/// A destination that really gathers: several segments go to it in one call, unbuffered.
///
/// [`Write::write_vectored`](std::io::Write::write_vectored) does not say that much. Its default
/// writes the first segment only, `is_write_vectored` is unstable, and a
/// writer that buffers takes the bytes without a call. A type with this trait promises it.
///
/// It is there for the descriptors of the standard library that are streams of bytes, owned or by
/// reference. [`Stdout`](std::io::Stdout) is left out, since it buffers by itself: what went past its
/// buffer would overtake what is in it. (A `BorrowedFd` of it is taken; flush it first.)
///
/// # Implementer notes
///
/// Implement it for a wrapper by passing the call on, and for a stream of your own only if one of
/// its calls takes many segments at the cost of one. A TLS stream that makes a record of every
/// segment, or a writer that copies into a buffer, should not have it: there copying first is
/// better. What an implementation must keep:
///
/// - the bytes go in the order of the list from `cursor` on, each once, and when the method returns
///   none is held back in memory of the process;
/// - `Ok` means that the list is at its end, and holds the bytes of this call;
/// - on success and on error `cursor` has moved by exactly the bytes that went, and the error's
///   [`transferred`](TransferError::transferred) is their number;
/// - `EINTR` is retried; `EAGAIN` is the error [`WouldBlock`](std::io::ErrorKind::WouldBlock); a
///   call that takes nothing without an error is [`WriteZero`](std::io::ErrorKind::WriteZero).
///
/// `gather` is the caller's working memory; whoever has no use for it leaves it alone.
///
/// # Examples
///
/// ```
/// use std::io::{IoSlice, Read};
/// use vectored::{Gather, Gathers, SegmentCursor, TransferError};
///
/// /// Counts what goes through it.
/// struct Counted<W> {
///     inner: W,
///     bytes: u64,
/// }
///
/// impl<W: Gathers> Gathers for Counted<W> {
///     fn gather_from(
///         &mut self,
///         gather: &mut Gather,
///         segments: &[IoSlice<'_>],
///         cursor: &mut SegmentCursor,
///     ) -> Result<u64, TransferError> {
///         let result = self.inner.gather_from(gather, segments, cursor);
///         self.bytes += match &result {
///             Ok(bytes) => *bytes,
///             Err(error) => error.transferred(),
///         };
///         result
///     }
/// }
///
/// # fn main() -> std::io::Result<()> {
/// let (mut reader, writer) = std::io::pipe()?;
/// let mut counted = Counted { inner: writer, bytes: 0 };
/// let words = [IoSlice::new(b"to "), IoSlice::new(b"be")];
/// counted.gather_from(&mut Gather::default(), &words, &mut SegmentCursor::new())?;
/// assert_eq!(counted.bytes, 5);
/// # drop(counted);
/// # let mut text = String::new();
/// # reader.read_to_string(&mut text)?;
/// # assert_eq!(text, "to be");
/// # Ok(())
/// # }
/// ```
pub trait Gathers {
    /// Writes `segments` from `cursor` to the end of the list, as
    /// [`Gather::write_from`] does.
    ///
    /// # Errors
    ///
    /// As [`Gather::write_from`]: the first error, with the bytes that this call wrote before it.
    fn gather_from(
        &mut self,
        gather: &mut Gather,
        segments: &[IoSlice<'_>],
        cursor: &mut SegmentCursor,
    ) -> Result<u64, TransferError>;
}

macro_rules! descriptors_gather {
    ($($descriptor:ty),* $(,)?) => {$(
        impl Gathers for $descriptor {
            fn gather_from(
                &mut self,
                gather: &mut Gather,
                segments: &[IoSlice<'_>],
                cursor: &mut SegmentCursor,
            ) -> Result<u64, TransferError> {
                gather.write_from(&*self, segments, cursor)
            }
        }
    )*};
}

descriptors_gather!(
    File,
    &File,
    PipeWriter,
    &PipeWriter,
    ChildStdin,
    &ChildStdin,
    TcpStream,
    &TcpStream,
    UnixStream,
    &UnixStream,
    OwnedFd,
    &OwnedFd,
    BorrowedFd<'_>,
);

impl<T: Gathers + ?Sized> Gathers for &mut T {
    fn gather_from(
        &mut self,
        gather: &mut Gather,
        segments: &[IoSlice<'_>],
        cursor: &mut SegmentCursor,
    ) -> Result<u64, TransferError> {
        (**self).gather_from(gather, segments, cursor)
    }
}

impl<T: Gathers + ?Sized> Gathers for Box<T> {
    fn gather_from(
        &mut self,
        gather: &mut Gather,
        segments: &[IoSlice<'_>],
        cursor: &mut SegmentCursor,
    ) -> Result<u64, TransferError> {
        (**self).gather_from(gather, segments, cursor)
    }
}
