//! Files that are written completely or not at all.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

/// A temporary file with `contents` in the directory of `path`, to be renamed to `path`. It is removed
/// unless it is renamed. `mode` is subject to the umask.
pub fn write_beside(path: &Path, contents: &str, mode: u32) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new()
        .prefix(".vectored-")
        .suffix(".tmp")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(parent(path))?;
    file.write_all(contents.as_bytes())?;
    Ok(file)
}

/// The directory of a path; `.` for a bare file name.
pub fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}
