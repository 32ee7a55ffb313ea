//! The plain calls under the names of rustix. The standard library makes them, on handles and on sockets.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, Write};
use std::net::TcpStream;
use std::ops::BitOr;
use std::os::windows::fs::FileExt as WindowsFileExt;

pub use std::io::SeekFrom;

use super::fd::{AsFd, BorrowedFd};
use crate::sys::windows::{
    pipe_unread_bytes, socket_unread_bytes, with_file as of_handle, with_socket as of_socket,
};

pub const NULL_DEVICE: &str = "NUL";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(i32);

impl Errno {
    /// `WSAEWOULDBLOCK`.
    pub const AGAIN: Errno = Errno(10_035);
    /// `WSAEINTR`.
    pub const INTR: Errno = Errno(10_004);
    /// `ERROR_NOT_SUPPORTED`.
    pub const OPNOTSUPP: Errno = Errno(50);
    /// `ERROR_SEEK_ON_DEVICE`.
    pub const SPIPE: Errno = Errno(132);
    /// `ERROR_GEN_FAILURE`: stands for an error without a number.
    const FAILURE: Errno = Errno(31);

    pub fn raw_os_error(self) -> i32 {
        self.0
    }

    /// `None` if the error has no number.
    pub fn from_io_error(error: &io::Error) -> Option<Errno> {
        error.raw_os_error().map(Errno)
    }

    fn of(error: io::Error) -> Errno {
        Errno::from_io_error(&error).unwrap_or(Errno::FAILURE)
    }
}

impl From<Errno> for io::Error {
    fn from(error: Errno) -> io::Error {
        io::Error::from_raw_os_error(error.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OFlags(u32);

impl OFlags {
    /// No effect: a handle that appends cannot be read back, and the position is at the end.
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

/// Reads and writes at an offset. On Windows they also move the position of the file.
pub trait FileExt {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    fn read_exact_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.read_at(buffer, offset)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => {
                    buffer = &mut buffer[read..];
                    offset += read as u64;
                }
            }
        }
        Ok(())
    }
}

impl FileExt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        keeping_position(self, |file| file.seek_read(buffer, offset))
    }

    fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        keeping_position(self, |file| {
            while !bytes.is_empty() {
                match file.seek_write(bytes, offset)? {
                    0 => return Err(io::ErrorKind::WriteZero.into()),
                    written => {
                        bytes = &bytes[written..];
                        offset += written as u64;
                    }
                }
            }
            Ok(())
        })
    }
}

/// Restores the position after a call that moves it.
fn keeping_position<T>(
    mut file: &File,
    call: impl FnOnce(&File) -> io::Result<T>,
) -> io::Result<T> {
    let position = file.stream_position()?;
    let outcome = call(file);
    file.seek(SeekFrom::Start(position))?;
    outcome
}

fn on<T>(
    fd: BorrowedFd<'_>,
    handle: impl FnOnce(&File) -> io::Result<T>,
    socket: impl FnOnce(&TcpStream) -> io::Result<T>,
) -> Result<T, Errno> {
    match fd {
        BorrowedFd::Handle(this) => of_handle(this, handle),
        BorrowedFd::Socket(this) => of_socket(this, socket),
    }
    .map_err(Errno::of)
}

fn on_file<T>(fd: impl AsFd, call: impl FnOnce(&File) -> io::Result<T>) -> Result<T, Errno> {
    match fd.as_fd() {
        BorrowedFd::Handle(this) => of_handle(this, call).map_err(Errno::of),
        BorrowedFd::Socket(_) => Err(Errno::OPNOTSUPP),
    }
}

pub fn read(fd: impl AsFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    match fd.as_fd() {
        BorrowedFd::Handle(this) => of_handle(this, |mut file| file.read(buffer)),
        BorrowedFd::Socket(this) => of_socket(this, |mut socket| socket.read(buffer)),
    }
    .map_err(Errno::of)
}

pub fn write(fd: impl AsFd, bytes: &[u8]) -> Result<usize, Errno> {
    on(
        fd.as_fd(),
        |mut file| file.write(bytes),
        |mut socket| socket.write(bytes),
    )
}

/// `WSASend` of a list. A handle takes one buffer a call: the first that is not empty.
pub fn writev(fd: impl AsFd, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
    on(
        fd.as_fd(),
        |mut file| file.write_vectored(slices),
        |mut socket| socket.write_vectored(slices),
    )
}

/// `WSARecv` of a list. A handle takes one buffer a call.
pub fn readv(fd: impl AsFd, slices: &mut [IoSliceMut<'_>]) -> Result<usize, Errno> {
    match fd.as_fd() {
        BorrowedFd::Handle(this) => of_handle(this, |mut file| file.read_vectored(slices)),
        BorrowedFd::Socket(this) => of_socket(this, |mut socket| socket.read_vectored(slices)),
    }
    .map_err(Errno::of)
}

pub fn seek(fd: impl AsFd, to: SeekFrom) -> Result<u64, Errno> {
    on_file(fd, |mut file| file.seek(to))
}

pub fn fsync(fd: impl AsFd) -> Result<(), Errno> {
    on_file(fd, File::sync_all)
}

pub fn ftruncate(fd: impl AsFd, bytes: u64) -> Result<(), Errno> {
    on_file(fd, |file| file.set_len(bytes))
}

pub fn ioctl_fionread(fd: impl AsFd) -> Result<u64, Errno> {
    match fd.as_fd() {
        BorrowedFd::Handle(this) => pipe_unread_bytes(this),
        BorrowedFd::Socket(this) => socket_unread_bytes(this),
    }
    .map_err(Errno::of)
}

pub fn retry_on_intr<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            outcome => return outcome,
        }
    }
}
