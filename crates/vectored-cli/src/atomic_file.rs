//! Files that are written completely or not at all.

#[cfg(unix)]
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// Creates the file, or replaces it. A replaced file keeps its owner and mode. After a crash or a failure of the storage,
/// the file has its old contents or the new ones.
///
/// # Errors
///
/// After an error, the file is as before. If the owner of a replaced file cannot be kept, this is an error.
pub fn replace(path: &Path, contents: &str) -> io::Result<()> {
    let file = write_beside(path, contents)?;
    #[cfg(unix)]
    if let Some(before) = existing(path)? {
        keep_owner_and_mode(file.as_file(), &before)?;
    }
    file.persist(path)?;
    sync_directory(parent(path))
}

/// Creates the file. If the file exists, the error is [`AlreadyExists`](io::ErrorKind::AlreadyExists).
pub fn create(path: &Path, contents: &str) -> io::Result<()> {
    write_beside(path, contents)?.persist_noclobber(path)?;
    sync_directory(parent(path))
}

/// Makes a temporary file with `contents` in the directory of `path`, and waits until the bytes are on the storage.
/// The file is removed unless it is renamed. Some storage refuses written blocks only at a synchronisation: full thin
/// pools, quotas of NFS.
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

/// Waits until the names of a directory are on the storage. Some file systems cannot wait for names, and return
/// `EINVAL` (fsync(2)): this is no error.
#[cfg(unix)]
pub fn sync_open_directory(directory: &File) -> io::Result<()> {
    match directory.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

/// Does nothing: Windows has no call for this.
#[cfg(windows)]
fn sync_directory(_directory: &Path) -> io::Result<()> {
    Ok(())
}

/// Checks that a file can be created in a directory. The file has no name if the file system supports this.
pub fn check_creation(directory: &Path) -> io::Result<()> {
    tempfile::tempfile_in(directory).map(drop).map_err(nameless)
}

/// The error without the name of the temporary file, which tempfile adds.
fn nameless(error: io::Error) -> io::Error {
    match error.to_string().rsplit_once(" at path ") {
        Some((cause, _)) => io::Error::new(error.kind(), cause),
        None => error,
    }
}

/// The directory of a path; `.` for a bare file name.
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
