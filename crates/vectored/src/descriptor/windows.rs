//! Implements the trait for the handles and sockets of the standard library.
//!
//! The types are listed, because a blanket implementation for `AsHandle` and a blanket implementation for
//! `AsSocket` would overlap.

use std::fs::File;
use std::io::{Stderr, StderrLock, Stdin, StdinLock, Stdout, StdoutLock};
use std::net::{TcpStream, UdpSocket};
use std::os::windows::io::{
    AsHandle, AsSocket, BorrowedHandle, BorrowedSocket, OwnedHandle, OwnedSocket,
};
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::rc::Rc;
use std::sync::Arc;

use super::as_descriptor::AsDescriptor;
use super::as_descriptor::sealed::Sealed;
use super::borrowed::BorrowedDescriptor;

impl Sealed for BorrowedDescriptor<'_> {}

impl AsDescriptor for BorrowedDescriptor<'_> {
    fn as_descriptor(&self) -> BorrowedDescriptor<'_> {
        *self
    }
}

macro_rules! handles {
    ($($handle:ty),* $(,)?) => {$(
        impl Sealed for $handle {}

        impl AsDescriptor for $handle {
            fn as_descriptor(&self) -> BorrowedDescriptor<'_> {
                BorrowedDescriptor::Handle(self.as_handle())
            }
        }
    )*};
}

handles!(
    File,
    Stdin,
    StdinLock<'_>,
    Stdout,
    StdoutLock<'_>,
    Stderr,
    StderrLock<'_>,
    ChildStdin,
    ChildStdout,
    ChildStderr,
    OwnedHandle,
    BorrowedHandle<'_>,
);
#[cfg(std_has_pipes)]
#[expect(clippy::incompatible_msrv, reason = "compiled since Rust 1.87 only")]
mod pipes {
    use std::io::{PipeReader, PipeWriter};

    use super::*;

    handles!(PipeReader, PipeWriter);
}

macro_rules! sockets {
    ($($socket:ty),* $(,)?) => {$(
        impl Sealed for $socket {}

        impl AsDescriptor for $socket {
            fn as_descriptor(&self) -> BorrowedDescriptor<'_> {
                BorrowedDescriptor::Socket(self.as_socket())
            }
        }
    )*};
}

sockets!(TcpStream, UdpSocket, OwnedSocket, BorrowedSocket<'_>);

macro_rules! pointers {
    ($($pointer:ty),* $(,)?) => {$(
        impl<T: AsDescriptor + ?Sized> Sealed for $pointer {}

        impl<T: AsDescriptor + ?Sized> AsDescriptor for $pointer {
            fn as_descriptor(&self) -> BorrowedDescriptor<'_> {
                (**self).as_descriptor()
            }
        }
    )*};
}

pointers!(&T, &mut T, Box<T>, Arc<T>, Rc<T>);
