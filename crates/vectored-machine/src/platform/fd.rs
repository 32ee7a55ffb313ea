//! Descriptors. On Windows, where files have handles and sockets do not, types of the same names stand for both.

pub use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The reading end of a stream.
pub type ByteStream = std::fs::File;

/// A file that is open.
pub(crate) type FileDescriptor = OwnedFd;

/// A duplicate of a descriptor.
pub fn duplicate(fd: BorrowedFd<'_>) -> std::io::Result<OwnedFd> {
    fd.try_clone_to_owned()
}
