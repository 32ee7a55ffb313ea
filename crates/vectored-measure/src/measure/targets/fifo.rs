//! A FIFO that the user named. This process opens both ends.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use vectored_machine::platform::descriptors::Pair;

use crate::measure::sampler::interface::MeasureError;

/// Checks that a FIFO can be measured: no other process has it open.
///
/// # Errors
///
/// [`MeasureError::Io`] with the obstacle and the remedy.
pub fn check_fifo(path: &Path) -> Result<(), MeasureError> {
    let what = format!("cannot measure the FIFO '{}'", path.display());
    open_fifo(path).map(drop).map_err(MeasureError::io(what))
}

/// Opens the writing and the reading end.
///
/// Two readers of a FIFO would each get a part of the bytes, so no other process
/// may have it open. Non-blocking opens find out, before our own ends could be
/// mistaken for another's: opening for writing fails with `ENXIO` if there is no
/// reader (`fifo(7)`), and a read returns end of file if there is no writer.
pub(crate) fn open_fifo(path: &Path) -> io::Result<Pair> {
    match open(path, OFlags::WRONLY) {
        Err(Errno::NXIO) => {}
        Ok(_) => return Err(in_use("reading")),
        Err(error) => return Err(error.into()),
    }
    let reader = open(path, OFlags::RDONLY)?;
    if FileType::from_raw_mode(rustix::fs::fstat(&reader)?.st_mode) != FileType::Fifo {
        return Err(io::Error::other("it is no longer a FIFO"));
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
         end that process, or name a FIFO that no other process uses (mkfifo)"
    ))
}
