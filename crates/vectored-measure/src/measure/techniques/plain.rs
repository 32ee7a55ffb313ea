//! The calls that techniques share.

use std::io;

use vectored_machine::platform::fd::BorrowedFd;
use vectored_machine::platform::plain_calls::{read, retry_on_intr, write};
use vectored_results::model::Conditions;

/// One `write`; after a short write, further calls for the rest.
///
/// This function, and all others that make a call for a technique, are never inlined. A return after a system call can cost
/// 60 ns if the kernel's mitigations make returns expensive. A program that calls its C library pays for such a return in
/// every technique; techniques whose call is inlined would seem faster.
#[inline(never)]
pub fn write_all(fd: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
    loop {
        match write(fd, bytes) {
            Ok(written) if written == bytes.len() => return Ok(()),
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// One `read`; after a short read, further calls for the rest.
#[inline(never)]
pub fn read_exact(fd: BorrowedFd<'_>, mut bytes: &mut [u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match read(fd, &mut *bytes) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => bytes = &mut bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[inline(never)]
pub fn read_some(from: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(retry_on_intr(|| read(from, &mut *buffer))?)
}

/// Moves all bytes by calls of `some`. `some` gets the number of bytes that are left, and returns the number of moved
/// bytes.
pub fn move_all(bytes: usize, mut some: impl FnMut(usize) -> io::Result<usize>) -> io::Result<()> {
    let mut left = bytes;
    while left > 0 {
        match some(left)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            moved => left -= moved,
        }
    }
    Ok(())
}

/// The refusal of `writev` and `readv`: on Windows, WriteFile and ReadFile take one buffer.
pub fn takes_lists(conditions: &Conditions) -> Option<&'static str> {
    let takes_lists = !cfg!(windows) || conditions.target.is_socket();
    (!takes_lists).then_some("is for sockets only")
}
