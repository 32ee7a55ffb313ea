//! A copy by `read` and `write`: the loop of every book.

use std::io;

use vectored_machine::platform::fd::BorrowedFd;
use vectored_machine::platform::plain_calls::{read, retry_on_intr};
use vectored_results::model::Conditions;

use crate::measure::sampler::staging::prepare_staging;
use crate::measure::techniques::Technique;
use crate::measure::techniques::copy_mover::{CopyMover, move_all};
use crate::measure::techniques::write_each::write_all;

pub const READ_WRITE: Technique = Technique {
    about: "read and write, with one buffer; between any two descriptors",
    usual: true,
    cost_ns: |costs| costs.copied_ns + costs.call_ns,
    copy: Some(|conditions| Box::new(ReadWrite::with_buffer_of(conditions))),
    ..Technique::named("read-write")
};

/// Reads up to a buffer, and writes what it has read.
struct ReadWrite {
    buffer_bytes: usize,
    /// The buffer ends with it.
    memory: Vec<u8>,
    begin: usize,
}

impl ReadWrite {
    fn with_buffer_of(conditions: &Conditions) -> Self {
        let bytes = conditions.buffer_bytes;
        ReadWrite {
            buffer_bytes: bytes.unwrap_or(Conditions::COPY_BUFFER_BYTES) as usize,
            memory: Vec::new(),
            begin: 0,
        }
    }
}

impl CopyMover for ReadWrite {
    fn prepare(&mut self, start_bytes: usize) -> io::Result<()> {
        self.begin = prepare_staging(&mut self.memory, start_bytes, self.buffer_bytes);
        Ok(())
    }

    fn call(&mut self, from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
        let buffer = &mut self.memory[self.begin..];
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
