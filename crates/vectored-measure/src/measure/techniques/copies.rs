//! Techniques that copy from one descriptor to another.

use std::io;

use vectored::copy::Options;
use vectored_machine::platform::fd::BorrowedFd;
use vectored_machine::platform::plain_calls::{read, retry_on_intr};
use vectored_results::model::Conditions;

use crate::measure::sampler::Staging;
use crate::measure::techniques::writes::write_all;
use crate::measure::techniques::{CopyMover, Technique};

pub const READ_WRITE: Technique = Technique {
    about: "read and write, with one buffer; between any two descriptors",
    usual: true,
    cost_ns: |costs| costs.copied_ns + costs.call_ns,
    copy: Some(|conditions| {
        let bytes = conditions.buffer_bytes;
        Box::new(ReadWrite {
            buffer_bytes: bytes.unwrap_or(Conditions::COPY_BUFFER_BYTES) as usize,
            staging: Staging::default(),
        })
    }),
    ..Technique::named("read-write")
};

/// A copy as a program makes it: each copy asks for the kinds of the two descriptors.
pub fn copy_adaptively(from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
    let bytes = bytes as u64;
    match Options::new().limit(bytes).copy(from, to) {
        Ok(copied) if copied.bytes == bytes => Ok(()),
        Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(error) => Err(error.into_io_error()),
    }
}

/// Moves all bytes by calls of `some`, which gets the number that is left and returns how many it has moved.
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

struct ReadWrite {
    buffer_bytes: usize,
    staging: Staging,
}

impl CopyMover for ReadWrite {
    fn prepare(&mut self, start_bytes: usize) -> io::Result<()> {
        self.staging.prepare(start_bytes, self.buffer_bytes);
        Ok(())
    }

    fn call(&mut self, from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
        let buffer = self.staging.buffer();
        move_all(bytes, |left| {
            let wanted = left.min(buffer.len());
            let count = read_some(from, &mut buffer[..wanted])?;
            if count > 0 {
                write_all(to, &buffer[..count])?;
            }
            Ok(count)
        })
    }
}

/// Never inlined: see [`write_all`].
#[inline(never)]
fn read_some(from: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(retry_on_intr(|| read(from, &mut *buffer))?)
}
