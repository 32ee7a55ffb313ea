//! Reads into one buffer, then copies it to all segments.

use std::io;

use vectored_machine::platform::fd::BorrowedFd;

use crate::measure::sampler::staging::prepare_staging;
use crate::measure::techniques::Technique;
use crate::measure::techniques::read_each::read_exact;
use crate::measure::techniques::read_mover::ReadMover;

pub const READ_THEN_SPLIT: Technique = Technique {
    about: "one call into one buffer, then copies",
    usual: true,
    cost_ns: |costs| costs.copied_ns,
    read: Some(|_| Box::new(ReadThenSplit::default())),
    ..Technique::named("read-then-split")
};

/// One `read` into a staging buffer, then a copy to every segment.
#[derive(Default)]
struct ReadThenSplit {
    staging: Vec<u8>,
    start_bytes: usize,
}

impl ReadMover for ReadThenSplit {
    fn prepare(&mut self, segments: &[&mut [u8]], start_bytes: usize) {
        let total_bytes: usize = segments.iter().map(|segment| segment.len()).sum();
        self.start_bytes = prepare_staging(&mut self.staging, start_bytes, total_bytes);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()> {
        let staging = &mut self.staging[self.start_bytes..];
        read_exact(fd, staging)?;
        let mut rest = &*staging;
        for segment in segments {
            let (bytes, behind) = rest.split_at(segment.len());
            segment.copy_from_slice(bytes);
            rest = behind;
        }
        Ok(())
    }
}
