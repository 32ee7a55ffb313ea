//! The directory that temporary files are made in.

use std::io;
use std::path::Path;

use rustix::fs::{OFlags, StatVfsMountFlags};

use crate::measure::host::environment::describe_directory;
use crate::measure::sampling::sampler::MeasureError;
use crate::measure::targets::file::appended_bytes;
use crate::measure::targets::overwrite::overwritten_bytes;
use crate::measure::targets::unnamed_file::unnamed_file;
use crate::model::{DirectoryInfo, Target};

/// What is kept free beside the bytes that a run writes.
const SPARE_BYTES: u64 = 16 << 20;

/// Whether temporary files can be made in `directory`, and what it is.
///
/// # Errors
///
/// [`MeasureError::Directory`] when no file can be made there, saying why and what
/// to do; [`MeasureError::NoSpace`] when what samples of `target` write, whose
/// calls move up to `call_bytes`, would not fit.
pub fn check_directory(
    directory: &Path,
    target: Target,
    call_bytes: u64,
) -> Result<DirectoryInfo, MeasureError> {
    let file_bytes = match target {
        Target::FileOverwrite => overwritten_bytes(call_bytes),
        _ => appended_bytes(call_bytes),
    };
    check_room(directory, file_bytes)
}

/// Whether temporary files of so many bytes, all together, can be made in
/// `directory`, and what it is.
///
/// # Errors
///
/// Those of [`check_directory`].
pub fn check_room(directory: &Path, file_bytes: u64) -> Result<DirectoryInfo, MeasureError> {
    let shown = directory.display();
    let open = |error: io::Error| {
        let (why, other) = match error.kind() {
            io::ErrorKind::NotFound if !directory.exists() => ("it does not exist", "an existing"),
            io::ErrorKind::NotADirectory => ("it is not a directory", "a"),
            io::ErrorKind::ReadOnlyFilesystem => ("it is on a read-only mount", "a writable"),
            io::ErrorKind::PermissionDenied => ("no permission to make files there", "a writable"),
            _ => ("no temporary file can be made there", "another"),
        };
        MeasureError::Directory {
            directory: shown.to_string(),
            why,
            source: error,
            remedy: format!("name {other} directory with --dir"),
        }
    };
    let file = unnamed_file(directory, OFlags::empty()).map_err(open)?;
    let mount = rustix::fs::fstatvfs(&file).map_err(|error| open(error.into()))?;
    if mount.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err(open(io::ErrorKind::ReadOnlyFilesystem.into()));
    }
    let free_bytes = mount.f_bavail.saturating_mul(mount.f_frsize);
    let needed_bytes = file_bytes.saturating_add(SPARE_BYTES);
    // A file system without blocks (ramfs, tmpfs without a limit) has no size
    // to be exceeded.
    let is_limited = mount.f_blocks > 0;
    if is_limited && free_bytes < needed_bytes {
        return Err(MeasureError::NoSpace {
            directory: shown.to_string(),
            free_bytes,
            needed_bytes,
        });
    }
    let stat = rustix::fs::fstat(&file).map_err(|error| open(error.into()))?;
    let path = directory
        .canonicalize()
        .unwrap_or_else(|_| directory.to_owned());
    Ok(describe_directory(&path, free_bytes, &stat))
}
