//! The directory in which temporary files are created.

use std::io;
use std::path::Path;

#[cfg(unix)]
use crate::measure::host::environment::describe_directory;
use crate::measure::sampling::sampler::MeasureError;
use crate::measure::targets::file::appended_bytes;
use crate::measure::targets::overwrite::overwritten_bytes;
use crate::measure::targets::unnamed_file::unnamed_file;
use crate::model::{DirectoryInfo, Target};
use crate::platform::fd::AsFd;
use crate::platform::files::Space;
use crate::platform::plain_calls::OFlags;

/// Space that must remain free beyond the bytes that a run writes.
const SPARE_BYTES: u64 = 16 << 20;

/// Checks that `directory` can hold the temporary files of a cell, and describes it.
/// The cell writes to `target` with calls of up to `call_bytes` bytes.
///
/// # Errors
///
/// [`MeasureError::Directory`], with the reason and the remedy, if no file can be
/// created there; [`MeasureError::NoSpace`] if the files would not fit.
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

/// Checks that temporary files of `file_bytes` bytes in total can be created in
/// `directory`, and describes it.
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
            io::ErrorKind::PermissionDenied => {
                ("no permission to create files there", "a writable")
            }
            _ => ("no temporary file can be created there", "another"),
        };
        MeasureError::Directory {
            directory: shown.to_string(),
            why,
            source: error,
            remedy: format!("name {other} directory with --dir"),
        }
    };
    let file = unnamed_file(directory, OFlags::empty()).map_err(open)?;
    let (space, described) = describe(directory, &file).map_err(open)?;
    if space.is_read_only {
        return Err(open(io::ErrorKind::ReadOnlyFilesystem.into()));
    }
    let free_bytes = space.free_bytes;
    let needed_bytes = file_bytes.saturating_add(SPARE_BYTES);
    if space.is_limited && free_bytes < needed_bytes {
        return Err(MeasureError::NoSpace {
            directory: shown.to_string(),
            free_bytes,
            needed_bytes,
        });
    }
    Ok(described)
}

/// The space of the file system that has a file, and the description of its directory.
#[cfg(unix)]
fn describe(directory: &Path, file: &impl AsFd) -> io::Result<(Space, DirectoryInfo)> {
    let mount = rustix::fs::fstatvfs(file)?;
    let space = Space {
        free_bytes: mount.f_bavail.saturating_mul(mount.f_frsize),
        // A file system that reports no blocks (ramfs, tmpfs without a limit) has
        // no size limit.
        is_limited: mount.f_blocks > 0,
        is_read_only: mount.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY),
    };
    let stat = rustix::fs::fstat(file)?;
    let path = directory
        .canonicalize()
        .unwrap_or_else(|_| directory.to_owned());
    let described = describe_directory(&path, space.free_bytes, &stat);
    Ok((space, described))
}

/// The space of the volume that has a directory, and the description of the directory.
#[cfg(windows)]
fn describe(directory: &Path, _file: &impl AsFd) -> io::Result<(Space, DirectoryInfo)> {
    crate::platform::files::describe(directory)
}
