//! The directory in which temporary files are created.

use std::path::Path;
use std::{fmt, io};

#[cfg(unix)]
use crate::host::environment::describe_directory;
use crate::model::DirectoryInfo;
use crate::platform::fd::AsFd;
use crate::platform::files::{Space, unnamed_file};
use crate::platform::plain_calls::OFlags;

/// Space that must remain free beyond the bytes that a run writes.
const SPARE_BYTES: u64 = 16 << 20;

/// The reason why a directory cannot hold the temporary files of a run.
#[derive(Debug)]
pub enum DirectoryError {
    /// No temporary file can be created there.
    Unusable {
        /// The directory.
        directory: String,
        /// The problem.
        why: &'static str,
        /// The kernel's error.
        source: io::Error,
        /// The remedy.
        remedy: String,
    },
    /// Too little free space for the files.
    NoSpace {
        /// The directory.
        directory: String,
        /// Bytes free there.
        free_bytes: u64,
        /// Bytes that the run needs.
        needed_bytes: u64,
    },
}

impl fmt::Display for DirectoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DirectoryError::Unusable {
                directory,
                why,
                source,
                remedy,
            } => write!(
                f,
                "cannot use the directory '{directory}': {why} ({source}); {remedy}"
            ),
            DirectoryError::NoSpace {
                directory,
                free_bytes,
                needed_bytes,
            } => write!(
                f,
                "not enough free space in '{directory}': {free_bytes} bytes are free and \
                 {needed_bytes} are needed; free some, or name another directory with --dir"
            ),
        }
    }
}

impl std::error::Error for DirectoryError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            DirectoryError::Unusable { source, .. } => Some(source),
            DirectoryError::NoSpace { .. } => None,
        }
    }
}

/// Checks that temporary files of `file_bytes` bytes in total can be created in
/// `directory`, and describes it.
///
/// # Errors
///
/// [`DirectoryError::Unusable`], with the reason and the remedy, if no file can be created there;
/// [`DirectoryError::NoSpace`] if the files would not fit.
pub fn check_room(directory: &Path, file_bytes: u64) -> Result<DirectoryInfo, DirectoryError> {
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
        DirectoryError::Unusable {
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
        return Err(DirectoryError::NoSpace {
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
