//! A FIFO that a user named, of which we hold both ends.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::measure::sampling::sampler::MeasureError;
use crate::measure::targets::endpoints::Pair;

/// Whether a FIFO can be measured: nobody else has it open.
///
/// # Errors
///
/// [`MeasureError::Io`] that says what is in the way and what helps.
pub fn check_fifo(path: &Path) -> Result<(), MeasureError> {
    let what = format!("cannot measure the FIFO '{}'", path.display());
    open_fifo(path).map(drop).map_err(MeasureError::io(what))
}

/// The writing and the reading end.
///
/// Of two readers of a FIFO each gets a part of the bytes, so nobody else may
/// have it open. Each end is opened without waiting, before ours could be taken
/// for another's: for writing, which fails if nobody reads (`fifo(7)`), then
/// for reading, which then finds the end of the file if nobody writes.
pub(crate) fn open_fifo(path: &Path) -> io::Result<Pair> {
    match open(path, OFlags::WRONLY) {
        Err(Errno::NXIO) => {}
        Ok(_) => return Err(in_use("reading")),
        Err(error) => return Err(error.into()),
    }
    let reader = open(path, OFlags::RDONLY)?;
    if FileType::from_raw_mode(rustix::fs::fstat(&reader)?.st_mode) != FileType::Fifo {
        return Err(io::Error::other("it is no FIFO any longer"));
    }
    if rustix::io::ioctl_fionread(&reader)? > 0 {
        return Err(in_use("writing"));
    }
    match rustix::io::read(&reader, &mut [0; 1]) {
        Ok(0) => {}
        Ok(_) | Err(Errno::AGAIN) => return Err(in_use("writing")),
        Err(error) => return Err(error.into()),
    }
    let writer = open(path, OFlags::WRONLY)?;
    for end in [writer.as_fd(), reader.as_fd()] {
        rustix::io::ioctl_fionbio(end, false)?;
    }
    Ok((writer, reader))
}

fn open(path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    rustix::fs::open(path, flags, Mode::empty())
}

fn in_use(doing: &str) -> io::Error {
    io::Error::other(format!(
        "another process has it open for {doing}, and the bytes of both would mix: \
         end that process, or name a FIFO of its own (mkfifo)"
    ))
}
