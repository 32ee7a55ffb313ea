//! `std::io::Write::write_vectored`.

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::fd::BorrowedFd;

use super::peer::Peer;

/// The loop of the unstable `Write::write_all_vectored`, as the documentation of
/// `IoSlice::advance_slices` shows it.
#[derive(Default)]
pub struct StdVectored {
    file: Option<File>,
    slices: Vec<IoSlice<'static>>,
}

impl Peer for StdVectored {
    fn open(&mut self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.file = Some(File::from(fd.try_clone_to_owned()?));
        Ok(())
    }

    fn send(&mut self, _fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let file = self.file.as_mut().expect("opened before");
        let mut slices = recycled(std::mem::take(&mut self.slices));
        slices.extend(segments.iter().map(|segment| IoSlice::new(segment)));
        let outcome = write_all_vectored(file, &mut slices);
        self.slices = recycled(slices);
        outcome
    }

    fn close(&mut self) {
        self.file = None;
    }
}

fn write_all_vectored(file: &mut File, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
    while !slices.is_empty() {
        match file.write_vectored(slices) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut slices, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// An empty vector with the same allocation, for slices of another lifetime. Collecting a vector's own
/// iterator reuses its memory.
pub(super) fn recycled<'to>(mut slices: Vec<IoSlice<'_>>) -> Vec<IoSlice<'to>> {
    slices.clear();
    slices.into_iter().map(|_| IoSlice::new(&[])).collect()
}
