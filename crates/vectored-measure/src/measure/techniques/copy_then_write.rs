//! Copies all segments into one buffer, then writes it with one call.

use std::io;

use vectored_machine::platform::fd::BorrowedFd;

use crate::measure::sampler::staging::prepare_staging;
use crate::measure::techniques::Technique;
use crate::measure::techniques::write_each::write_all;
use crate::measure::techniques::write_mover::Mover;

pub const COPY_THEN_WRITE: Technique = Technique {
    about: "copy into one buffer, then one call",
    usual: true,
    cost_ns: |costs| costs.copied_ns,
    write: Some(|_| Box::new(CopyThenWrite::default())),
    ..Technique::named("copy-then-write")
};

#[derive(Default)]
struct CopyThenWrite {
    staging: Vec<u8>,
    start_bytes: usize,
}

impl Mover for CopyThenWrite {
    fn prepare(&mut self, segments: &[&[u8]], start_bytes: usize) {
        let total_bytes: usize = segments.iter().map(|segment| segment.len()).sum();
        self.start_bytes = prepare_staging(&mut self.staging, start_bytes, total_bytes);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let staging = &mut self.staging[self.start_bytes..];
        let mut free = &mut *staging;
        for segment in segments {
            let (place, rest) = free.split_at_mut(segment.len());
            place.copy_from_slice(segment);
            free = rest;
        }
        write_all(fd, staging)
    }
}
