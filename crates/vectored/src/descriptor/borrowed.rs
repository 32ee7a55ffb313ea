//! The type of a borrowed descriptor.

/// A borrowed descriptor of the operating system.
///
/// On Unix, the type is the standard library's
/// [`BorrowedFd`](https://doc.rust-lang.org/std/os/fd/struct.BorrowedFd.html). On Windows, the type is an `enum`
/// of a `BorrowedHandle` and a `BorrowedSocket`.
#[cfg(unix)]
pub type BorrowedDescriptor<'fd> = std::os::fd::BorrowedFd<'fd>;

/// A borrowed descriptor of the operating system: a handle or a socket.
///
/// On Unix, the type is the standard library's `BorrowedFd`.
#[cfg(windows)]
#[derive(Clone, Copy, Debug)]
pub enum BorrowedDescriptor<'d> {
    /// A file, a pipe or a console. A call takes one buffer.
    Handle(std::os::windows::io::BorrowedHandle<'d>),
    /// A socket. A call takes several buffers.
    Socket(std::os::windows::io::BorrowedSocket<'d>),
}
