//! One call per segment.

use std::io;

use vectored_machine::platform::fd::BorrowedFd;
use vectored_machine::platform::plain_calls::{Errno, write};

use crate::measure::techniques::Technique;
use crate::measure::techniques::write_mover::Mover;

pub const WRITE_EACH: Technique = Technique {
    about: "one call for each segment",
    usual: true,
    cost_ns: |costs| costs.each_ns,
    write: Some(|_| Box::new(WriteEach)),
    ..Technique::named("write-each")
};

pub struct WriteEach;

impl Mover for WriteEach {
    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        for segment in segments {
            write_all(fd, segment)?;
        }
        Ok(())
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
