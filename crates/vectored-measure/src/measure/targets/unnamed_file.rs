//! Temporary files without a name, or on Windows with one that the system removes when they are closed: nothing remains to
//! be removed, however the process ends.

#[cfg(windows)]
pub(crate) use crate::platform::files::unnamed_file;

/// Creates a file without a name in `directory`, with `O_TMPFILE` (since Linux 3.11). If the file
/// system does not support that, creates it under a random name, which is removed at once.
#[cfg(unix)]
pub(crate) fn unnamed_file(
    directory: &std::path::Path,
    flags: rustix::fs::OFlags,
) -> std::io::Result<std::os::fd::OwnedFd> {
    use rustix::fs::{Mode, OFlags};
    use rustix::io::Errno;

    use crate::platform::files::WITHOUT_NAME;

    let flags = flags | OFlags::RDWR | OFlags::CLOEXEC | OFlags::EXCL;
    let mode = Mode::RUSR | Mode::WUSR;
    if let Some(without_name) = WITHOUT_NAME {
        match rustix::fs::open(directory, flags | without_name, mode) {
            // EISDIR and EINVAL come from a kernel that does not know the flag.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {}
            outcome => return Ok(outcome?),
        }
    }
    loop {
        let name = directory.join(format!(".vectored-{:016x}", fastrand::u64(..)));
        match rustix::fs::open(&name, flags | OFlags::CREATE, mode) {
            Err(Errno::EXIST) => {}
            outcome => {
                let file = outcome?;
                rustix::fs::unlink(&name)?;
                return Ok(file);
            }
        }
    }
}
