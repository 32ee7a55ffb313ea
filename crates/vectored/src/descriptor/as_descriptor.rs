//! The trait of types that have a descriptor.

use super::borrowed::BorrowedDescriptor;

/// A type that has a descriptor of the operating system. The functions of this crate read from the descriptor or
/// write to it.
///
/// - On Unix, every type with [`AsFd`](https://doc.rust-lang.org/std/os/fd/trait.AsFd.html) has this trait:
///   `File`, `PipeWriter`, `TcpStream`, `UnixStream`, `Stdout`, `OwnedFd`, `BorrowedFd`, types of other crates,
///   and references, `Box`, `Arc` and `Rc` of these types.
/// - On Windows, the types of the standard library that have a handle (files) or a socket have this trait, and so
///   do references, `Box`, `Arc` and `Rc` of these types. For a type of another crate, pass its `BorrowedHandle`
///   or `BorrowedSocket`.
///
/// `BorrowedFd::borrow_raw` makes a descriptor from a number. A `Box<dyn Write>`, a `Vec` and a TLS stream have
/// no descriptor: use [`GatherWriter::copying`](crate::GatherWriter::copying) for any `Write`, and
/// [`ScatterReader`](crate::ScatterReader) for any `Read`. A socket of tokio has a descriptor, but no function of
/// this crate waits until the socket is ready: use [`SegmentQueue::drain_to`](crate::SegmentQueue).
///
/// The functions bypass the buffer of [`Stdin`](std::io::Stdin), which may have read ahead. The functions also
/// bypass the buffer of [`Stdout`](std::io::Stdout): flush `Stdout` first. The functions do not take the lock of
/// [`Stderr`](std::io::Stderr).
///
/// The trait is sealed: other crates cannot implement it. On Unix, implement `AsFd` for your type.
///
/// # Windows
///
/// The functions and their guarantees are the same as on Unix. The calls differ:
///
/// - **Sockets** take lists, by `WSASend` and `WSARecv` of at most [`iov_max`](crate::limits::iov_max) buffers
///   (1024, because Windows documents no limit). On a full or empty non-blocking socket, the error is
///   [`WouldBlock`](std::io::ErrorKind::WouldBlock). After a timeout of a socket, the error is
///   [`TimedOut`](std::io::ErrorKind::TimedOut).
/// - **Handles** (files, pipes, consoles, pipes of child processes) take one buffer a call. If the list or at
///   least its first 64 KiB are contiguous in memory, a call gets the contiguous part. If they are not, a call
///   gets up to 64 KiB of whole segments, copied into memory that is allocated for the call.
///   [`write_once`](crate::write_once) copies a whole record, and has no limit for pipes.
/// - **At an offset**, a call moves the position of a handle to the end of the call. Offsets have 64 bits. If a
///   file is open for appending, a write at any offset appends.
/// - **Files opened with `FILE_FLAG_NO_BUFFERING`** take aligned lists:
///   [`DirectAlignment::of`](crate::files::DirectAlignment::of) has the sector size of the volume. The module
///   `windows` has `WriteFileGather` and `ReadFileScatter`.
/// - **Handles that are open for overlapped calls** also work: each thread has an event that signals the end of a
///   call.
/// - **Not available**: the flags of `pwritev2(2)` (`WriteFlags`, `OnRefusal`, `write_all_with`), the module
///   `uring`, `SIGPIPE`, `EINTR`, Unix sockets, and non-blocking pipes (`PIPE_NOWAIT`). A write to a full
///   non-blocking pipe fails with [`WriteZero`](std::io::ErrorKind::WriteZero).
/// - [`CostModel::calibrate`](crate::CostModel::calibrate) measures files, TCP and `NUL`. The default cost models
///   were measured on Linux.
/// - The copy loops in assembly are for Unix only.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no descriptor that this crate knows",
    label = "does not implement `AsDescriptor`",
    note = "a `Vec`, a TLS stream or another `Write`: `GatherWriter::copying`; any `Read`: `ScatterReader`",
    note = "a `BufWriter` or a `GatherWriter`: flush it and pass `get_ref()`",
    note = "a stream of tokio: `SegmentQueue::drain_to` (feature `tokio`)",
    note = "a type parameter: bound it by `AsDescriptor`; a number: `BorrowedFd::borrow_raw`; on Unix every type with `AsFd` has a descriptor",
    note = "on Windows pass a `BorrowedHandle` or a `BorrowedSocket` of a type that is not of the standard library"
)]
pub trait AsDescriptor: sealed::Sealed {
    /// Borrows the descriptor.
    fn as_descriptor(&self) -> BorrowedDescriptor<'_>;
}

pub(super) mod sealed {
    /// No other crate can implement [`AsDescriptor`](super::AsDescriptor), because this trait is private.
    #[cfg(unix)]
    pub trait Sealed: std::os::fd::AsFd {}

    /// No other crate can implement [`AsDescriptor`](super::AsDescriptor), because this trait is private.
    #[cfg(windows)]
    pub trait Sealed {}
}
