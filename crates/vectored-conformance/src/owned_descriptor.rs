//! An owned descriptor of any kind.

#[cfg(unix)]
pub(crate) use std::os::fd::OwnedFd as OwnedDescriptor;
#[cfg(windows)]
pub(crate) use windows::OwnedDescriptor;

#[cfg(windows)]
mod windows {
    use std::fs::File;
    use std::io::PipeWriter;
    use std::net::TcpStream;
    use std::os::windows::io::{AsHandle, AsSocket, OwnedHandle, OwnedSocket};

    use vectored::bindings::BorrowedDescriptor;

    /// An owned handle or socket.
    #[derive(Debug)]
    pub(crate) enum OwnedDescriptor {
        Handle(OwnedHandle),
        Socket(OwnedSocket),
    }

    impl OwnedDescriptor {
        pub(crate) fn as_descriptor(&self) -> BorrowedDescriptor<'_> {
            match self {
                OwnedDescriptor::Handle(handle) => BorrowedDescriptor::Handle(handle.as_handle()),
                OwnedDescriptor::Socket(socket) => BorrowedDescriptor::Socket(socket.as_socket()),
            }
        }
    }

    impl From<File> for OwnedDescriptor {
        fn from(file: File) -> OwnedDescriptor {
            OwnedDescriptor::Handle(file.into())
        }
    }

    impl From<PipeWriter> for OwnedDescriptor {
        fn from(pipe: PipeWriter) -> OwnedDescriptor {
            OwnedDescriptor::Handle(pipe.into())
        }
    }

    impl From<TcpStream> for OwnedDescriptor {
        fn from(stream: TcpStream) -> OwnedDescriptor {
            OwnedDescriptor::Socket(stream.into())
        }
    }
}
