//! The plain calls under the names of rustix. The standard library makes these calls, on handles and on sockets.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, Write};
use std::ops::BitOr;
use std::os::windows::fs::FileExt as WindowsFileExt;

pub use std::io::SeekFrom;

use super::fd::{AsFd, BorrowedFd};
use crate::sys::windows::{
    pipe_unread_bytes, socket_unread_bytes, with_file as of_handle, with_socket as of_socket,
};

pub const NULL_DEVICE: &str = "NUL";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OFlags(u32);

impl OFlags {
    /// 0: a handle that appends cannot be read back. Writes append all the same, since the position is at the end.
    pub const APPEND: OFlags = OFlags(0);
    /// `FILE_FLAG_WRITE_THROUGH`.
    pub const DSYNC: OFlags = OFlags(0x8000_0000);
    /// `FILE_FLAG_WRITE_THROUGH`, as [`DSYNC`](OFlags::DSYNC).
    pub const SYNC: OFlags = OFlags::DSYNC;

    pub fn empty() -> OFlags {
        OFlags(0)
    }

    /// The flags of `CreateFileW`.
    pub(super) fn bits(self) -> u32 {
        self.0
    }
}

impl BitOr for OFlags {
    type Output = OFlags;

    fn bitor(self, other: OFlags) -> OFlags {
        OFlags(self.0 | other.0)
    }
}

/// Calls that read and write at an offset. They also move the position of the file.
pub trait FileExt {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
}

impl FileExt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.seek_read(buffer, offset)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let mut file = self;
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(buffer)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut file = self;
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(bytes)
    }
}

/// A call that only files have.
fn on_file<T>(fd: impl AsFd, call: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
    match fd.as_fd() {
        BorrowedFd::Handle(this) => of_handle(this, call),
        BorrowedFd::Socket(_) => Err(io::ErrorKind::Unsupported.into()),
    }
}

pub fn read(fd: impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    match fd.as_fd() {
        BorrowedFd::Handle(this) => of_handle(this, |mut file| file.read(buffer)),
        BorrowedFd::Socket(this) => of_socket(this, |mut socket| socket.read(buffer)),
    }
}

pub fn write(fd: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    match fd.as_fd() {
        BorrowedFd::Handle(this) => of_handle(this, |mut file| file.write(bytes)),
        BorrowedFd::Socket(this) => of_socket(this, |mut socket| socket.write(bytes)),
    }
}

/// Sends a list to a socket by `WSASend`. A handle takes one buffer a call: the first buffer that is not empty.
pub fn writev(fd: impl AsFd, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    match fd.as_fd() {
        BorrowedFd::Handle(this) => of_handle(this, |mut file| file.write_vectored(slices)),
        BorrowedFd::Socket(this) => of_socket(this, |mut socket| socket.write_vectored(slices)),
    }
}

/// Receives a list from a socket by `WSARecv`. A handle takes one buffer a call.
pub fn readv(fd: impl AsFd, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
    match fd.as_fd() {
        BorrowedFd::Handle(this) => of_handle(this, |mut file| file.read_vectored(slices)),
        BorrowedFd::Socket(this) => of_socket(this, |mut socket| socket.read_vectored(slices)),
    }
}

pub fn seek(fd: impl AsFd, to: SeekFrom) -> io::Result<u64> {
    on_file(fd, |mut file| file.seek(to))
}

pub fn fsync(fd: impl AsFd) -> io::Result<()> {
    on_file(fd, File::sync_all)
}

pub fn ftruncate(fd: impl AsFd, bytes: u64) -> io::Result<()> {
    on_file(fd, |file| file.set_len(bytes))
}

pub fn ioctl_fionread(fd: impl AsFd) -> io::Result<u64> {
    match fd.as_fd() {
        BorrowedFd::Handle(this) => pipe_unread_bytes(this),
        BorrowedFd::Socket(this) => socket_unread_bytes(this),
    }
}

pub fn retry_on_intr<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}
