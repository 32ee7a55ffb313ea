//! One `readv` for the whole array.

use std::io::{self, IoSliceMut};

use vectored::read_exact;
use vectored_machine::platform::fd::BorrowedFd;
use vectored_machine::platform::plain_calls::{readv, retry_on_intr};

use crate::measure::techniques::Technique;
use crate::measure::techniques::scattering::{Scattering, WithArray};
use crate::measure::techniques::writev::TAKES_LISTS;

pub const READV: Technique = Technique {
    about: "one call for the whole list",
    usual: true,
    refuses: TAKES_LISTS,
    cost_ns: |costs| costs.referenced_ns,
    read: Some(|_| Box::new(WithArray::new(Readv::default()))),
    ..Technique::named("readv")
};

#[derive(Default)]
struct Readv {
    iov_max: usize,
    total_bytes: usize,
}

impl Scattering for Readv {
    fn prepare(&mut self, segments: &[&mut [u8]]) {
        self.iov_max = vectored::limits::iov_max();
        self.total_bytes = segments.iter().map(|segment| segment.len()).sum();
    }

    fn receive(&mut self, fd: BorrowedFd<'_>, iovecs: &mut [IoSliceMut<'_>]) -> io::Result<()> {
        if iovecs.len() <= self.iov_max {
            return readv_exact(fd, iovecs, self.total_bytes);
        }
        iovecs.chunks_mut(self.iov_max).try_for_each(|chunk| {
            let bytes = chunk.iter().map(|s| s.len()).sum();
            readv_exact(fd, chunk, bytes)
        })
    }
}

/// One `readv`; after a short one, the library reads the rest. The array is unchanged afterwards.
#[inline(never)]
fn readv_exact(
    fd: BorrowedFd<'_>,
    iovecs: &mut [IoSliceMut<'_>],
    total_bytes: usize,
) -> io::Result<()> {
    let count = retry_on_intr(|| readv(fd, iovecs))?;
    if count < total_bytes {
        receive_rest(fd, iovecs, count)?;
    }
    Ok(())
}

/// Reads the rest with a second array, since advancing through an array changes it.
#[cold]
fn receive_rest(fd: BorrowedFd<'_>, iovecs: &mut [IoSliceMut<'_>], count: usize) -> io::Result<()> {
    let mut rest: Vec<IoSliceMut<'_>> = iovecs.iter_mut().map(|s| IoSliceMut::new(s)).collect();
    let mut rest = rest.as_mut_slice();
    IoSliceMut::advance_slices(&mut rest, count);
    read_exact(fd, rest)?;
    Ok(())
}
