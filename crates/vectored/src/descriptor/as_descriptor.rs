//! The trait of types with a descriptor.

use super::borrowed::BorrowedDescriptor;

/// A type that has a descriptor of the operating system: what the functions of this crate write to and read from.
///
/// - On Unix it is every type with [`AsFd`](https://doc.rust-lang.org/std/os/fd/trait.AsFd.html): `File`, `PipeWriter`,
///   `TcpStream`, `UnixStream`, `Stdout`, `OwnedFd`, `BorrowedFd`, references to such types, `Box`, `Arc` and `Rc` of
///   them, and the types of other crates.
/// - On Windows, where files have handles and sockets do not, it is the types of the standard library with one of both:
///   `File`, `PipeReader`, `PipeWriter`, `Stdin`, `Stdout` and `Stderr` with their locks, `ChildStdin`, `ChildStdout` and
///   `ChildStderr`, `OwnedHandle`, `BorrowedHandle`, `TcpStream`, `UdpSocket`, `OwnedSocket` and `BorrowedSocket`,
///   references to them, `Box`, `Arc` and `Rc` of them. For a type of another crate, pass its `BorrowedHandle` or
///   `BorrowedSocket`.
///
/// It is sealed: other crates cannot implement it. A type of your own implements `AsFd` on Unix.
///
/// # Examples
///
/// A function that writes to any descriptor:
///
/// ```
/// use std::io::{IoSlice, Read};
/// use vectored::{AsDescriptor, TransferError, write_all_vectored};
///
/// fn write_pair(to: impl AsDescriptor, key: &[u8], value: &[u8]) -> Result<u64, TransferError> {
///     write_all_vectored(to, &[key, b"=", value, b"\n"].map(IoSlice::new))
/// }
///
/// # fn main() -> std::io::Result<()> {
/// let (mut reader, writer) = std::io::pipe()?;
/// assert_eq!(write_pair(&writer, b"size", b"10")?, 8);
/// drop(writer);
/// let mut line = String::new();
/// reader.read_to_string(&mut line)?;
/// assert_eq!(line, "size=10\n");
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no descriptor that this crate knows",
    label = "does not implement `AsDescriptor`",
    note = "on Unix every type with `AsFd` implements `AsDescriptor`",
    note = "on Windows pass a `BorrowedHandle` or a `BorrowedSocket` of a type that is not of the standard library"
)]
pub trait AsDescriptor: sealed::Sealed {
    /// Borrows the descriptor.
    fn as_descriptor(&self) -> BorrowedDescriptor<'_>;
}

pub(super) mod sealed {
    /// Keeps other crates from implementing [`AsDescriptor`](super::AsDescriptor).
    pub trait Sealed {}
}
