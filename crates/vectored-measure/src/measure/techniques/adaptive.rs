//! [`Gather`] and [`Scatter`]: the library chooses between copying and gathering.

use std::io::{self, IoSlice, IoSliceMut};

use vectored::{Gather, Scatter};
use vectored_machine::platform::fd::BorrowedFd;

use crate::measure::techniques::Technique;
use crate::measure::techniques::gathering::{self, Gathering};
use crate::measure::techniques::scattering::{self, Scattering};

pub const ADAPTIVE: Technique = Technique {
    about: "chosen for each list by a cost model",
    usual: true,
    cost_ns: |costs| costs.copied_ns.min(costs.referenced_ns),
    write: Some(|model| {
        Box::new(gathering::WithArray::new(Gathers(Gather::with_model(
            *model,
        ))))
    }),
    read: Some(|model| {
        Box::new(scattering::WithArray::new(Scatters(Scatter::with_model(
            *model,
        ))))
    }),
    ..Technique::named("adaptive")
};

struct Gathers(Gather);

impl Gathering for Gathers {
    fn prepare(&mut self, _segments: &[&[u8]]) {}

    fn send(&mut self, fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>]) -> io::Result<()> {
        self.0.write_all(fd, iovecs)?;
        Ok(())
    }
}

struct Scatters(Scatter);

impl Scattering for Scatters {
    fn receive(&mut self, fd: BorrowedFd<'_>, iovecs: &mut [IoSliceMut<'_>]) -> io::Result<()> {
        self.0.read_exact(fd, iovecs)?;
        Ok(())
    }
}
