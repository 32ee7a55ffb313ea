//! New pairs of descriptors: what is written to the one is read from the other.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::pipe::PipeFlags;

/// Makes the writing and the reading end of a stream.
pub type MakePair = fn() -> io::Result<(OwnedFd, OwnedFd)>;

/// A new pipe of the default capacity: its writing and its reading end.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    Ok((writer, reader))
}

/// A new pair of connected Unix stream sockets.
pub fn unix_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?)
}

/// Both ends of a new stream, neither of which waits.
pub(in crate::measure) fn non_blocking(make_pair: MakePair) -> io::Result<(OwnedFd, OwnedFd)> {
    let (writer, reader) = make_pair()?;
    for end in [&writer, &reader] {
        rustix::io::ioctl_fionbio(end, true)?;
    }
    Ok((writer, reader))
}
