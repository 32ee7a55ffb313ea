//! The library's choice.

use std::io;

use vectored::copy::Options;
use vectored::{Gather, Scatter};
use vectored_machine::platform::fd::BorrowedFd;

use crate::measure::techniques::Technique;
use crate::measure::techniques::reads::Scattering;
use crate::measure::techniques::writes::Gathering;

/// The library chooses between copying and gathering, and the calls of a copy.
pub const ADAPTIVE: Technique = Technique {
    about: "the library's choice",
    usual: true,
    cost_ns: |costs| costs.copied_ns.min(costs.referenced_ns),
    write: Some(|model| {
        let mut gather = Gather::with_model(*model);
        Box::new(Gathering::new(move |fd, iovecs, _| {
            gather.write_all(fd, iovecs)?;
            Ok(())
        }))
    }),
    read: Some(|model| {
        let mut scatter = Scatter::with_model(*model);
        Box::new(Scattering::new(move |fd, iovecs, _| {
            scatter.read_exact(fd, iovecs)?;
            Ok(())
        }))
    }),
    copy: Some(|_| Box::new(copy_adaptively)),
    ..Technique::named("adaptive")
};

/// A copy as a program makes it: each copy asks for the kinds of the two descriptors.
fn copy_adaptively(from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
    let bytes = bytes as u64;
    match Options::new().limit(bytes).copy(from, to) {
        Ok(copied) if copied.bytes == bytes => Ok(()),
        Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(error) => Err(error.into_io_error()),
    }
}
