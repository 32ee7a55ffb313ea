//! Techniques that copy from one descriptor to another.

use std::io;

use vectored_machine::platform::fd::BorrowedFd;
use vectored_results::model::Conditions;

use crate::measure::sampler::Staging;
use crate::measure::techniques::plain::{move_all, read_some, write_all};
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
