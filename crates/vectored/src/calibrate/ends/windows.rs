//! Opens files on Windows that are deleted when they are closed.

use std::fs::File;
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;

use windows_sys::Win32::Storage::FileSystem::FILE_FLAG_DELETE_ON_CLOSE;

use super::Ends;

/// Returns an error, because a calibration needs a non-blocking pipe, which Windows does not have.
pub(in crate::calibrate) fn pipe() -> io::Result<Ends> {
    Err(unsupported(
        "a pipe of Windows blocks: use CostModel::for_target(TargetKind::Pipe)",
    ))
}

pub(in crate::calibrate) fn unix_pair() -> io::Result<Ends> {
    Err(unsupported(
        "the standard library has no Unix sockets on Windows: use TargetKind::Tcp",
    ))
}

fn unsupported(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, message)
}

/// Opens a new file that no other process can open. Windows deletes the file when it is closed, even if the
/// process is killed.
pub(in crate::calibrate) fn unnamed_file(directory: &Path) -> io::Result<File> {
    for attempt in 0_u64.. {
        let name = format!(".vectored-calibration-{}-{attempt}", std::process::id());
        let opened = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .share_mode(0)
            .custom_flags(FILE_FLAG_DELETE_ON_CLOSE)
            .open(directory.join(name));
        match opened {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            outcome => return outcome,
        }
    }
    unreachable!("some name of 2^64 is free")
}
