//! A call a segment.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::io::{Errno, write};
use rustix::net::{SendFlags, send};

use crate::measure::write::mover::Mover;

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

/// `MSG_MORE` says that more is to come: TCP waits for it (tcp(7)). Unix
/// sockets take the flag and do nothing about it.
pub struct SendMore;

impl Mover for SendMore {
    fn prepare(&mut self, _segments: &[&[u8]], _start_bytes: usize) {}

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let Some((last, before)) = segments.split_last() else {
            return Ok(());
        };
        for segment in before {
            send_all(fd, segment, SendFlags::MORE)?;
        }
        send_all(fd, last, SendFlags::empty())
    }
}

/// One `write`; the rest of a short one in further calls.
///
/// Never inlined, nor are its like: a return after a system call can cost
/// 60 ns where the kernel's mitigations make returns dear. A program that calls
/// its C library pays that for every technique; if only some techniques had
/// their call inlined, they would seem faster for it.
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

/// One `send`; the rest of a short one in further calls.
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
