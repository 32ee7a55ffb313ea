//! Copies all segments into one buffer, then writes it with one call.

use std::io;

use crate::measure::sampling::staging::prepare_staging;
use crate::measure::write::mover::Mover;
use crate::measure::write::movers::each::write_all;
use crate::platform::fd::BorrowedFd;

#[derive(Default)]
pub struct CopyThenWrite {
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
