//! Descriptors. On Windows files have handles and sockets do not: types of the same names stand for both there.

pub use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

pub type ByteStream = std::fs::File;

pub(crate) type FileDescriptor = OwnedFd;
