//! One call per segment.

use std::io;

use vectored_machine::platform::fd::BorrowedFd;
use vectored_machine::platform::plain_calls::{Errno, read};

use crate::measure::techniques::Technique;
use crate::measure::techniques::read_mover::ReadMover;

pub const READ_EACH: Technique = Technique {
    about: "one call for each segment",
    usual: true,
    cost_ns: |costs| costs.each_ns,
    read: Some(|_| Box::new(ReadEach)),
    ..Technique::named("read-each")
};

/// One `read` a segment.
pub struct ReadEach;

impl ReadMover for ReadEach {
    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()> {
        for segment in segments {
            read_exact(fd, segment)?;
        }
        Ok(())
    }
}

/// One `read`; after a short read, further calls for the rest.
///
/// Never inlined, nor is `readv_exact`: see `write_all`.
#[inline(never)]
pub(crate) fn read_exact(fd: BorrowedFd<'_>, mut bytes: &mut [u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match read(fd, &mut *bytes) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => bytes = &mut bytes[count..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
