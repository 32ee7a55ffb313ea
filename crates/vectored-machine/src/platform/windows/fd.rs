//! Handles and sockets under the names of descriptors.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::net::TcpStream;
use std::os::windows::io::{AsHandle, AsSocket, OwnedHandle};

pub use vectored::bindings::BorrowedDescriptor as BorrowedFd;

pub trait AsFd {
    fn as_fd(&self) -> BorrowedFd<'_>;
}

impl<T: AsFd + ?Sized> AsFd for &T {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (**self).as_fd()
    }
}

impl AsFd for BorrowedFd<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        *self
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        BorrowedFd::Handle(self.as_handle())
    }
}

impl AsFd for TcpStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        BorrowedFd::Socket(self.as_socket())
    }
}

#[derive(Debug)]
pub enum OwnedFd {
    File(File),
    Socket(TcpStream),
}

pub type ByteStream = OwnedFd;

pub(crate) type FileDescriptor = File;

pub(crate) fn socket_of(fd: &OwnedFd) -> Option<socket2::SockRef<'_>> {
    match fd {
        OwnedFd::Socket(socket) => Some(socket.into()),
        OwnedFd::File(_) => None,
    }
}

impl OwnedFd {
    pub fn try_clone(&self) -> io::Result<OwnedFd> {
        Ok(match self {
            OwnedFd::File(file) => OwnedFd::File(file.try_clone()?),
            OwnedFd::Socket(socket) => OwnedFd::Socket(socket.try_clone()?),
        })
    }
}

impl AsFd for OwnedFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            OwnedFd::File(file) => file.as_fd(),
            OwnedFd::Socket(socket) => socket.as_fd(),
        }
    }
}

impl Read for &OwnedFd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            OwnedFd::File(file) => (&mut &*file).read(buffer),
            OwnedFd::Socket(socket) => (&mut &*socket).read(buffer),
        }
    }
}

impl From<PipeReader> for OwnedFd {
    fn from(pipe: PipeReader) -> OwnedFd {
        OwnedFd::File(OwnedHandle::from(pipe).into())
    }
}

impl From<PipeWriter> for OwnedFd {
    fn from(pipe: PipeWriter) -> OwnedFd {
        OwnedFd::File(OwnedHandle::from(pipe).into())
    }
}

impl From<TcpStream> for OwnedFd {
    fn from(socket: TcpStream) -> OwnedFd {
        OwnedFd::Socket(socket)
    }
}
