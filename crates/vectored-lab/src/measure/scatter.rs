//! **A stand-in**, with the interface that the library's `Scatter` shall have,
//! until it is there: it decides for a list as a whole, not segment by segment.

use std::io::{self, IoSliceMut};
use std::os::fd::BorrowedFd;

use vectored::{CostModel, iov_max};

use super::read_mover::{read_exact, readv_exact};

/// Reads a list of small segments into staging and splits it; others it reads
/// with `readv`.
#[derive(Debug)]
pub(super) struct Scatter {
    model: CostModel,
    staging: Vec<u8>,
}

impl Scatter {
    pub fn new(model: CostModel) -> Self {
        Scatter {
            model,
            staging: Vec::new(),
        }
    }

    pub fn read_exact(
        &mut self,
        fd: BorrowedFd<'_>,
        segments: &mut [IoSliceMut<'_>],
    ) -> io::Result<()> {
        let below = self.model.copy_below_bytes(segments.len());
        let total_bytes: usize = segments.iter().map(|segment| segment.len()).sum();
        let is_small = segments.iter().all(|segment| segment.len() <= below);
        if !is_small || total_bytes > self.model.staging_bytes {
            return segments
                .chunks_mut(iov_max())
                .try_for_each(|chunk| readv_exact(fd, chunk));
        }
        if self.staging.len() < total_bytes {
            self.staging.resize(total_bytes, 0);
        }
        read_exact(fd, &mut self.staging[..total_bytes])?;
        let mut rest = &self.staging[..total_bytes];
        for segment in segments {
            let (bytes, behind) = rest.split_at(segment.len());
            segment.copy_from_slice(bytes);
            rest = behind;
        }
        Ok(())
    }
}
