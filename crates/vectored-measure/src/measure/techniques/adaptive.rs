//! [`Gather`] and [`Scatter`]: the library chooses between copying and gathering. [`vectored::copy()`] chooses the calls that
//! copy from one descriptor to another.

use std::io::{self, IoSlice, IoSliceMut};

use vectored::copy::Options;
use vectored::{Gather, Scatter};
use vectored_machine::platform::fd::BorrowedFd;

use crate::measure::techniques::Technique;
use crate::measure::techniques::copy_mover::CopyMover;
use crate::measure::techniques::gathering::{self, Gathering};
use crate::measure::techniques::scattering::{self, Scattering};

pub const ADAPTIVE: Technique = Technique {
    about: "the library's choice",
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
    copy: Some(|_| Box::new(Copies)),
    ..Technique::named("adaptive")
};

struct Gathers(Gather);

impl Gathering for Gathers {
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

/// A copy as a program makes it: each finds out what the two descriptors are.
struct Copies;

impl CopyMover for Copies {
    fn call(&mut self, from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
        let bytes = bytes as u64;
        let copied = Options::new().limit(bytes).copy(from, to);
        match copied {
            Ok(copied) if copied.bytes == bytes => Ok(()),
            Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) => Err(error.into_io_error()),
        }
    }
}
