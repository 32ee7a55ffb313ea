//! The trait of types with a descriptor.

use super::borrowed::BorrowedDescriptor;

/// A type that has a descriptor of the operating system: what the functions of this crate write to and read from.
///
/// - On Unix it is every type with [`AsFd`](https://doc.rust-lang.org/std/os/fd/trait.AsFd.html), and no other: `File`,
///   `PipeWriter`, `TcpStream`, `UnixStream`, `Stdout`, `OwnedFd`, `BorrowedFd`, references to such types, `Box`, `Arc`
///   and `Rc` of such types, and the types of other crates.
/// - On Windows it is the types of the standard library that have a handle (files) or a socket, references to such types,
///   and `Box`, `Arc` and `Rc` of such types. For a type of another crate, pass its `BorrowedHandle` or `BorrowedSocket`.
///
/// A number becomes a descriptor by `BorrowedFd::borrow_raw`. A `Box<dyn Write>`, a `Vec` and a TLS stream have no
/// descriptor: use [`GatherWriter::copying`](crate::GatherWriter::copying), and [`ScatterReader`](crate::ScatterReader)
/// for any `Read`. A socket of tokio has a descriptor, but no function here waits until it is ready: use
/// [`SegmentQueue::drain_to`](crate::SegmentQueue).
///
/// The functions bypass the buffer of [`Stdin`](std::io::Stdin), which may have read ahead, and the buffer of
/// [`Stdout`](std::io::Stdout): flush `Stdout` first. The functions do not take the lock of
/// [`Stderr`](std::io::Stderr).
///
/// The trait is sealed: other crates cannot implement it. On Unix, implement `AsFd` for your type.
///
/// # Windows
///
/// The functions and their guarantees are the same. The calls differ:
///
/// - **Sockets** take lists, by `WSASend` and `WSARecv` of at most [`iov_max`](crate::limits::iov_max) buffers (1024:
///   Windows documents no limit). A full or empty non-blocking socket is
///   [`WouldBlock`](std::io::ErrorKind::WouldBlock). A timeout of a socket is
///   [`TimedOut`](std::io::ErrorKind::TimedOut).
/// - **Handles** (files, pipes, consoles, pipes of child processes) take one buffer a call. If the list, or at least 64
///   KiB at its start, is one piece of memory, a call gets that piece. Otherwise a call gets up to 64 KiB of whole
///   segments, copied into memory that is allocated for the call. [`write_once`](crate::write_once) copies all of a
///   record, and has no limit for pipes.
/// - **At an offset** the position of a handle moves to the end of the call. Offsets have 64 bits. A file that is open for
///   appending is appended to, whatever the offset is.
/// - **Files opened with `FILE_FLAG_NO_BUFFERING`** take aligned lists:
///   [`DirectAlignment::of`](crate::files::DirectAlignment::of) has the sector of the volume. Handles that are open for
///   overlapped calls also work: an event of each thread tells the end of a call. The module `windows` has
///   `WriteFileGather` and `ReadFileScatter`.
/// - **Not there**: the flags of `pwritev2(2)` (`WriteFlags`, `OnRefusal`, `write_all_with`), the module `uring`, `SIGPIPE`
///   and `EINTR`, Unix sockets. [`CostModel::calibrate`](crate::CostModel::calibrate) measures files, TCP and `NUL`. Pipes
///   that are non-blocking (`PIPE_NOWAIT`) are not supported: a full pipe is [`WriteZero`](std::io::ErrorKind::WriteZero).
/// - The copy loops in assembly are for Unix. The default cost models were measured on Linux.
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
    /// Keeps other crates from implementing [`AsDescriptor`](super::AsDescriptor).
    #[cfg(unix)]
    pub trait Sealed: std::os::fd::AsFd {}

    /// Keeps other crates from implementing [`AsDescriptor`](super::AsDescriptor).
    #[cfg(windows)]
    pub trait Sealed {}
}
