//! Both ends of pipes and sockets.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
#[cfg(unix)]
use std::os::unix::net::UnixStream;

use vectored::AsDescriptor;

#[cfg(unix)]
use crate::host::{set_nonblocking, shrink_pipe};

pub(crate) trait Reader: Read + AsDescriptor + Send {}
impl<T: Read + AsDescriptor + Send> Reader for T {}

pub(crate) trait Writer: Write + AsDescriptor + Send {}
impl<T: Write + AsDescriptor + Send> Writer for T {}

pub(crate) type Ends = (Box<dyn Reader>, Box<dyn Writer>);

pub(crate) fn pipe() -> io::Result<Ends> {
    let (reader, writer) = io::pipe()?;
    Ok((Box::new(reader), Box::new(writer)))
}

/// A pipe of one page.
#[cfg(unix)]
pub(crate) fn small_pipe() -> io::Result<Ends> {
    let (reader, writer) = pipe()?;
    shrink_pipe(writer.as_descriptor())?;
    Ok((reader, writer))
}

#[cfg(unix)]
pub(crate) fn unix_stream() -> io::Result<Ends> {
    let (reader, writer) = UnixStream::pair()?;
    Ok((Box::new(reader), Box::new(writer)))
}

pub(crate) fn tcp_stream() -> io::Result<Ends> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let writer = TcpStream::connect(listener.local_addr()?)?;
    let (reader, _) = listener.accept()?;
    // Without this, a small piece waits until the last piece is acknowledged (Nagle's algorithm).
    writer.set_nodelay(true)?;
    Ok((Box::new(reader), Box::new(writer)))
}

#[cfg(unix)]
pub(crate) fn non_blocking((reader, writer): Ends) -> io::Result<Ends> {
    set_nonblocking(reader.as_descriptor())?;
    set_nonblocking(writer.as_descriptor())?;
    Ok((reader, writer))
}
