//! [`Gather`]: the library chooses between copying and gathering.

use std::io::{self, IoSlice};

use vectored::{CostModel, Gather};

use crate::measure::write::movers::array::Gathering;
use crate::platform::fd::BorrowedFd;

pub struct Adaptive {
    gather: Gather,
}

impl Adaptive {
    pub fn new(model: CostModel) -> Self {
        Adaptive {
            gather: Gather::new(model),
        }
    }
}

impl Gathering for Adaptive {
    fn prepare(&mut self, _segments: &[&[u8]]) {}

    fn send(&mut self, fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>]) -> io::Result<()> {
        self.gather.write_all(fd, iovecs)?;
        Ok(())
    }
}
