//! One call per segment.

use std::io;

#[cfg(unix)]
use rustix::net::{SendFlags, send};

use crate::measure::write::mover::Mover;
#[cfg(unix)]
use crate::platform::calls::send_more;
use crate::platform::fd::BorrowedFd;
use crate::platform::plain_calls::{Errno, write};

pub struct WriteEach;

impl Mover for WriteEach {
    fn prepare(&mut self, _segments: &[&[u8]], _start_bytes: usize) {}

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        for segment in segments {
            write_all(fd, segment)?;
        }
        Ok(())
    }
}

/// One `send` per segment, with `MSG_MORE` on all but the last: TCP then waits
/// for more bytes before it sends a packet (`tcp(7)`). Unix sockets accept the
/// flag and ignore it.
#[cfg(unix)]
pub struct SendMore;

#[cfg(unix)]
impl Mover for SendMore {
    fn prepare(&mut self, _segments: &[&[u8]], _start_bytes: usize) {}

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let Some((last, before)) = segments.split_last() else {
            return Ok(());
        };
        let more = send_more()?;
        for segment in before {
            send_all(fd, segment, more)?;
        }
        send_all(fd, last, SendFlags::empty())
    }
}

/// One `write`; after a short write, further calls for the rest.
///
/// Never inlined, nor are the corresponding functions of other techniques. A
/// return after a system call can cost 60 ns if the kernel's mitigations make
/// returns expensive. A program that calls its C library pays that in every
/// technique; techniques whose call is inlined would seem faster.
#[inline(never)]
pub fn write_all(fd: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
    loop {
        match write(fd, bytes) {
            Ok(written) if written == bytes.len() => return Ok(()),
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// One `send`; after a short one, further calls for the rest.
#[cfg(unix)]
#[inline(never)]
fn send_all(fd: BorrowedFd<'_>, mut bytes: &[u8], flags: SendFlags) -> io::Result<()> {
    loop {
        match send(fd, bytes, flags) {
            Ok(sent) if sent == bytes.len() => return Ok(()),
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(sent) => bytes = &bytes[sent..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
