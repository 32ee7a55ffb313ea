//! Descriptors. On Windows, types of the same names stand for handles of files and for sockets.

pub use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

pub type ByteStream = std::fs::File;

pub(crate) type FileDescriptor = OwnedFd;

pub(crate) fn socket_of(fd: &OwnedFd) -> Option<socket2::SockRef<'_>> {
    Some(fd.into())
}
