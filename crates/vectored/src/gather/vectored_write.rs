//! The trait of destinations that take several segments in one call.

use std::fs::File;
use std::io::{self, IoSlice};
use std::net::TcpStream;
#[cfg(unix)]
use std::os::fd::{BorrowedFd, OwnedFd};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
#[cfg(windows)]
use std::os::windows::io::{BorrowedHandle, BorrowedSocket, OwnedHandle, OwnedSocket};
use std::process::ChildStdin;
use std::rc::Rc;
use std::sync::Arc;

use crate::cursor::SegmentCursor;
use crate::descriptor::{AsDescriptor, BorrowedDescriptor};
use crate::error::TransferError;
use crate::gather::Gather;
use crate::sys;
use crate::transfer::message_sockets::refuse_messages;
use crate::transfer::write_loop::{Sink, whole};

/// A destination that takes several segments in one call, unbuffered.
///
/// [`Write::write_vectored`](std::io::Write::write_vectored) does not guarantee one call. Its default writes only
/// the first segment, and a buffered writer takes the bytes without a call.
///
/// The standard library's descriptors that are streams of bytes implement the trait: owned, by reference, in an
/// [`Arc`] or [`Rc`]. [`Stdout`](std::io::Stdout) does not implement the trait, because a direct call would
/// overtake the bytes in the buffer of `Stdout`. [`Stderr`](std::io::Stderr) does not implement the trait,
/// because each of its writes takes a lock. Use a `BorrowedFd` of `Stdout` or `Stderr`.
///
/// # `SIGPIPE`
///
/// [`TcpStream`] and `UnixStream` write without the signal (`MSG_NOSIGNAL`). The standard library also writes to
/// these types without the signal. After the peer has closed, the error is
/// [`BrokenPipe`](std::io::ErrorKind::BrokenPipe). `OwnedFd`, `BorrowedFd` and pipes write with the signal, like
/// write(2). The signal ends the process if the process does not ignore, block or handle the signal.
///
/// # Implementer notes
///
/// A wrapper passes the call to its inner writer. For another destination, implement the trait only if one call
/// takes many segments at the cost of one segment. Do not implement the trait for a TLS stream that makes one
/// record of each segment, or for a writer that copies into a buffer. For these writers, use
/// [`GatherWriter::copying`](crate::GatherWriter::copying).
///
/// The contract of an implementation:
///
/// - The method writes the bytes of the list from `cursor` on, in order, and writes each byte once. When the
///   method returns, none of these bytes is still in a buffer of the process.
/// - `Ok` means that `cursor` is at the end of the list. The value of `Ok` is the number of bytes that the method
///   wrote.
/// - On success and on error, the method has moved `cursor` by exactly the bytes that were written. The error has
///   this number in [`TransferError::transferred`]. Move the cursor after each call, so that the cursor is also
///   correct if the method panics.
/// - `EINTR` is retried. `EAGAIN` is the error [`WouldBlock`](std::io::ErrorKind::WouldBlock). A call that takes
///   no byte and returns no error is the error [`WriteZero`](std::io::ErrorKind::WriteZero).
/// - If one call can take the list, the method makes one call. If the method needs several calls, each call ends
///   at the end of a segment. A segment that exceeds the limits of a call is split. If an implementation passes
///   the list to `gather`, the [`chunk_policy`](crate::CostModel::chunk_policy) of the model decides where the
///   calls end.
///
/// `gather` is the caller's working memory. An implementation may ignore `gather`.
///
/// # Examples
///
/// A wrapper that passes the call to its inner writer. [`SegmentCursor`] has an example of a destination that
/// makes the calls itself.
///
/// ```
/// use std::io::{IoSlice, Write};
/// use vectored::buffered::VectoredWrite;
/// use vectored::{Gather, GatherWriter, SegmentCursor, TransferError};
///
/// struct Counted<W> {
///     inner: W,
///     bytes: u64,
/// }
///
/// impl<W: VectoredWrite> VectoredWrite for Counted<W> {
///     fn resume_write(
///         &mut self,
///         gather: &mut Gather,
///         segments: &[IoSlice<'_>],
///         cursor: &mut SegmentCursor,
///     ) -> Result<u64, TransferError> {
///         let result = self.inner.resume_write(gather, segments, cursor);
///         self.bytes += result.as_ref().map_or_else(TransferError::transferred, |bytes| *bytes);
///         result
///     }
/// }
///
/// # fn main() -> std::io::Result<()> {
/// # let inner = std::fs::File::options().write(true).open(if cfg!(windows) { "NUL" } else { "/dev/null" })?;
/// let mut writer = GatherWriter::new(Counted { inner, bytes: 0 });
/// writer.write_all(b"header")?;
/// writer.write_all(&[b'.'; 10_000])?;
/// assert_eq!(writer.into_inner()?.bytes, 10_006);
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not implement `VectoredWrite`: it is not known to take several segments in one call",
    label = "does not implement `VectoredWrite`",
    note = "`GatherWriter::copying` takes any `Write`, such as a `Vec` in a test or a type parameter",
    note = "a `BufWriter`: pass its inner writer, since a `GatherWriter` has a buffer of its own",
    note = "`VectoredWrite` can be implemented for a stream of your own: its documentation has an example"
)]
pub trait VectoredWrite {
    /// Writes `segments` from `cursor` to the end of the list, like [`Gather::resume_write`].
    ///
    /// # Errors
    ///
    /// The errors of [`Gather::resume_write`]: the first error, with the number of bytes that the method wrote
    /// before the error.
    fn resume_write(
        &mut self,
        gather: &mut Gather,
        segments: &[IoSlice<'_>],
        cursor: &mut SegmentCursor,
    ) -> Result<u64, TransferError>;
}

macro_rules! descriptors_gather {
    ($($descriptor:ty),* $(,)?) => {$(
        impl VectoredWrite for $descriptor {
            fn resume_write(
                &mut self,
                gather: &mut Gather,
                segments: &[IoSlice<'_>],
                cursor: &mut SegmentCursor,
            ) -> Result<u64, TransferError> {
                gather.resume_write(&*self, segments, cursor)
            }
        }
    )*};
}

descriptors_gather!(File, &File, ChildStdin, &ChildStdin,);
#[cfg(std_has_pipes)]
#[expect(clippy::incompatible_msrv, reason = "compiled since Rust 1.87 only")]
mod pipes {
    use std::io::PipeWriter;

    use super::*;

    descriptors_gather!(PipeWriter, &PipeWriter);
}
#[cfg(unix)]
descriptors_gather!(OwnedFd, &OwnedFd, BorrowedFd<'_>);
#[cfg(windows)]
descriptors_gather!(
    OwnedHandle,
    &OwnedHandle,
    BorrowedHandle<'_>,
    BorrowedDescriptor<'_>,
);

/// The [`Sink`] of a socket, whose calls do not raise `SIGPIPE`. The sink has no fallback for refused lists,
/// because all sockets accept lists.
struct Socket<'fd>(BorrowedDescriptor<'fd>);

impl Sink for Socket<'_> {
    #[inline(always)]
    fn take_all(
        &mut self,
        slices: &[IoSlice<'_>],
        bytes: usize,
        may_adjoin: bool,
    ) -> Result<(), io::Result<usize>> {
        whole(
            sys::syscalls::send_slices(self.0, slices, may_adjoin),
            bytes,
        )
    }

    #[cfg(unix)]
    #[inline(always)]
    fn take_bytes(&mut self, bytes: &[u8]) -> Result<(), io::Result<usize>> {
        whole(sys::syscalls::send_bytes(self.0, bytes), bytes.len())
    }

    #[inline]
    fn call(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        sys::syscalls::send_slices(self.0, slices, false)
    }
}

/// Not generic, so that the compiler makes one copy for all types of sockets.
fn gather_into_socket(
    socket: BorrowedDescriptor<'_>,
    gather: &mut Gather,
    segments: &[IoSlice<'_>],
    cursor: &mut SegmentCursor,
) -> Result<u64, TransferError> {
    let may_split = || refuse_messages(socket);
    gather.send_from(segments, cursor, may_split, Socket(socket))
}

macro_rules! sockets_gather {
    ($($socket:ty),* $(,)?) => {$(
        impl VectoredWrite for $socket {
            fn resume_write(
                &mut self,
                gather: &mut Gather,
                segments: &[IoSlice<'_>],
                cursor: &mut SegmentCursor,
            ) -> Result<u64, TransferError> {
                gather_into_socket(self.as_descriptor(), gather, segments, cursor)
            }
        }
    )*};
}

sockets_gather!(TcpStream, &TcpStream);
#[cfg(unix)]
sockets_gather!(UnixStream, &UnixStream);
#[cfg(windows)]
sockets_gather!(OwnedSocket, &OwnedSocket, BorrowedSocket<'_>);

macro_rules! shared_gather {
    ($($pointer:ident),* $(,)?) => {$(
        /// For each type whose references implement `VectoredWrite`.
        impl<T: ?Sized> VectoredWrite for $pointer<T>
        where
            for<'t> &'t T: VectoredWrite,
        {
            fn resume_write(
                &mut self,
                gather: &mut Gather,
                segments: &[IoSlice<'_>],
                cursor: &mut SegmentCursor,
            ) -> Result<u64, TransferError> {
                let mut shared: &T = self;
                shared.resume_write(gather, segments, cursor)
            }
        }
    )*};
}

shared_gather!(Arc, Rc);

impl<T: VectoredWrite + ?Sized> VectoredWrite for &mut T {
    fn resume_write(
        &mut self,
        gather: &mut Gather,
        segments: &[IoSlice<'_>],
        cursor: &mut SegmentCursor,
    ) -> Result<u64, TransferError> {
        (**self).resume_write(gather, segments, cursor)
    }
}

impl<T: VectoredWrite + ?Sized> VectoredWrite for Box<T> {
    fn resume_write(
        &mut self,
        gather: &mut Gather,
        segments: &[IoSlice<'_>],
        cursor: &mut SegmentCursor,
    ) -> Result<u64, TransferError> {
        (**self).resume_write(gather, segments, cursor)
    }
}
