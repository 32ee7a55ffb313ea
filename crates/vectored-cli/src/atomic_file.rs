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
    let mut file = builder.tempfile_in(parent(path))?;
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
