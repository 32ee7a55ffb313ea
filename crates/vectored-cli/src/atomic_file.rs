//! Files that are written completely or not at all.

use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// A temporary file with `contents` in the directory of `path`, to be renamed to `path`. It is removed
/// unless it is renamed. `mode` is subject to the umask; Windows has none.
pub fn write_beside(path: &Path, contents: &str, mode: u32) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".vectored-").suffix(".tmp");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(windows)]
    let _ = mode;
    let mut file = builder.tempfile_in(parent(path)).map_err(nameless)?;
    file.write_all(contents.as_bytes()).map_err(nameless)?;
    Ok(file)
}

/// Checks that a file can be created in a directory: an unnamed one if the file system supports it, so that nothing has to
/// be removed.
pub fn check_creation(directory: &Path) -> io::Result<()> {
    tempfile::tempfile_in(directory).map(drop).map_err(nameless)
}

/// The error without the name of the temporary file, which tempfile adds and no user has chosen.
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
        let error = write_beside(&nowhere, "{}", 0o666).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(!error.to_string().contains(".vectored-"), "{error}");
    }
}
