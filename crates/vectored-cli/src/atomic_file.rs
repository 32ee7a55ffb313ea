//! Writes a file completely, or leaves the file unchanged.

#[cfg(unix)]
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// Creates or replaces a file. A replaced file keeps its owner and mode. After a crash or a
/// failure of the storage, the file has the complete old contents or the complete new contents.
///
/// # Errors
///
/// After an error, the file is unchanged. The function fails if the owner of a replaced file cannot be kept.
pub fn replace(path: &Path, contents: &str) -> io::Result<()> {
    let file = write_beside(path, contents)?;
    #[cfg(unix)]
    if let Some(before) = existing(path)? {
        keep_owner_and_mode(file.as_file(), &before)?;
    }
    file.persist(path)?;
    sync_directory(parent(path))
}

/// Fails with [`AlreadyExists`](io::ErrorKind::AlreadyExists) if the file exists.
pub fn create(path: &Path, contents: &str) -> io::Result<()> {
    write_beside(path, contents)?.persist_noclobber(path)?;
    sync_directory(parent(path))
}

/// Makes a synced temporary file in the directory of `path`. Dropping the value removes the file, unless the file was
/// renamed. Full thin pools and NFS quotas report missing space only at fsync(2).
fn write_beside(path: &Path, contents: &str) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".vectored-").suffix(".tmp");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(parent(path)).map_err(nameless)?;
    file.write_all(contents.as_bytes()).map_err(nameless)?;
    file.as_file().sync_all()?;
    Ok(file)
}

#[cfg(unix)]
fn existing(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

#[cfg(unix)]
fn keep_owner_and_mode(file: &File, before: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let (user, group) = (before.uid(), before.gid());
    let now = file.metadata()?;
    if (now.uid(), now.gid()) != (user, group) {
        fchown(file, Some(user), Some(group))?;
    }
    file.set_permissions(before.permissions())
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    sync_open_directory(&File::open(directory)?)
}

/// Syncs a directory. Some file systems cannot sync a directory and return `EINVAL` (fsync(2)). `EINVAL` is not an
/// error here.
#[cfg(unix)]
pub fn sync_open_directory(directory: &File) -> io::Result<()> {
    match directory.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

/// Windows has no call that syncs a directory.
#[cfg(windows)]
fn sync_directory(_directory: &Path) -> io::Result<()> {
    Ok(())
}

/// Checks that a file can be created in a directory. The file has no name if the file system supports unnamed files.
pub fn check_creation(directory: &Path) -> io::Result<()> {
    tempfile::tempfile_in(directory).map(drop).map_err(nameless)
}

/// Removes the name of the temporary file, which the crate tempfile adds to errors.
fn nameless(error: io::Error) -> io::Error {
    match error.to_string().rsplit_once(" at path ") {
        Some((cause, _)) => io::Error::new(error.kind(), cause),
        None => error,
    }
}

/// The directory of a bare file name is `.`.
pub fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_does_not_name_the_temporary_file() {
        let directory = tempfile::tempdir().unwrap();
        let nowhere = directory.path().join("nowhere/result.json");
        let error = replace(&nowhere, "{}").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(!error.to_string().contains(".vectored-"), "{error}");
    }
}
