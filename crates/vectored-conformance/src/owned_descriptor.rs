//! An owned descriptor of any kind.

#[cfg(unix)]
pub(crate) use std::os::fd::OwnedFd as OwnedDescriptor;
#[cfg(windows)]
pub(crate) use windows::OwnedDescriptor;

#[cfg(unix)]
pub(crate) fn into_reader(owned: OwnedDescriptor) -> std::fs::File {
    owned.into()
}

#[cfg(windows)]
pub(crate) use windows::into_reader;

#[cfg(windows)]
mod windows {
    use std::fs::File;
    use std::io::{PipeReader, PipeWriter, Read};
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

    pub(crate) fn into_reader(owned: OwnedDescriptor) -> Box<dyn Read> {
        match owned {
            OwnedDescriptor::Handle(handle) => Box::new(File::from(handle)),
            OwnedDescriptor::Socket(socket) => Box::new(TcpStream::from(socket)),
        }
    }

    macro_rules! owned {
        ($($type:ty => $kind:ident),*) => {$(
            impl From<$type> for OwnedDescriptor {
                fn from(owner: $type) -> OwnedDescriptor {
                    OwnedDescriptor::$kind(owner.into())
                }
            }
        )*};
    }

    owned!(File => Handle, PipeReader => Handle, PipeWriter => Handle, TcpStream => Socket);
}
