//! Opens pipes, Unix sockets and unnamed files on Unix.

use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::Ends;

/// The writer does not block. A pipe can be as small as a page, and a blocking write that does not fit would wait
/// forever.
pub(in crate::calibrate) fn pipe() -> io::Result<Ends> {
    #[cfg(not(target_vendor = "apple"))]
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    #[cfg(target_vendor = "apple")]
    let (reader, writer) = {
        let ends = rustix::pipe::pipe()?;
        rustix::io::ioctl_fioclex(&ends.0)?;
        rustix::io::ioctl_fioclex(&ends.1)?;
        ends
    };
    rustix::io::ioctl_fionbio(&writer, true)?;
    Ok((Box::new(writer), Box::new(File::from(reader))))
}

pub(in crate::calibrate) fn unix_pair() -> io::Result<Ends> {
    let (writer, reader) = UnixStream::pair()?;
    writer.set_nonblocking(true)?;
    Ok((Box::new(writer), Box::new(reader)))
}

/// Opens an unnamed file by `O_TMPFILE` (Linux 3.11). If the file system does not support this flag, creates a
/// file and immediately removes its name.
pub(in crate::calibrate) fn unnamed_file(directory: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::EXCL;
    let mode = Mode::RUSR | Mode::WUSR;
    #[cfg(target_os = "linux")]
    match rustix::fs::open(directory, flags | OFlags::TMPFILE, mode) {
        // A kernel that does not know `O_TMPFILE` returns EISDIR or EINVAL (open(2)).
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {}
        outcome => return Ok(outcome?.into()),
    }
    for attempt in 0_u64.. {
        let name = format!(".vectored-calibration-{}-{attempt}", std::process::id());
        let path = directory.join(name);
        match rustix::fs::open(&path, flags | OFlags::CREATE, mode) {
            Err(Errno::EXIST) => {}
            outcome => {
                let file = outcome?;
                rustix::fs::unlink(&path)?;
                return Ok(file.into());
            }
        }
    }
    unreachable!("some name of 2^64 is free")
}
