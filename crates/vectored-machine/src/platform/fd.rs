//! Descriptors. Windows has handles for files and another type for sockets: there, types of the same names stand for both.

pub use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

pub type ByteStream = std::fs::File;

pub(crate) type FileDescriptor = OwnedFd;

pub(crate) fn socket_of(fd: &OwnedFd) -> Option<socket2::SockRef<'_>> {
    Some(fd.into())
}
