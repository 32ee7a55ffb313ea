//! The directory in which temporary files are created.

use std::io;
use std::path::Path;

use crate::model::DirectoryInfo;
use crate::platform::files::{describe, unnamed_file};
use crate::platform::plain_calls::OFlags;

/// Space that must remain free beyond the bytes that a run writes.
const SPARE_BYTES: u64 = 16 << 20;

/// Checks that temporary files of `file_bytes` bytes in total can be created in `directory`, and describes the directory.
/// The error has the reason and the remedy. The kind of the error is the kernel's if no file can be created in the
/// directory, and [`StorageFull`](io::ErrorKind::StorageFull) if the files would not fit.
pub fn check_room(directory: &Path, file_bytes: u64) -> io::Result<DirectoryInfo> {
    let refused = |error| unusable(directory, error);
    unnamed_file(directory, OFlags::empty()).map_err(refused)?;
    let (is_limited, described) = describe(directory).map_err(refused)?;
    let free_bytes = described.free_bytes;
    let needed_bytes = file_bytes.saturating_add(SPARE_BYTES);
    if is_limited && free_bytes < needed_bytes {
        let text = format!(
            "not enough free space in '{}': {free_bytes} bytes are free and {needed_bytes} are needed; free some, or name \
             another directory with --dir",
            directory.display()
        );
        return Err(io::Error::new(io::ErrorKind::StorageFull, text));
    }
    Ok(described)
}

/// The error of a directory in which no file can be created, with the remedy.
pub(crate) fn unusable(directory: &Path, error: io::Error) -> io::Error {
    let kind = error.kind();
    let (why, other) = match kind {
        io::ErrorKind::NotFound if !directory.exists() => ("it does not exist", "an existing"),
        io::ErrorKind::NotADirectory => ("it is not a directory", "a"),
        io::ErrorKind::ReadOnlyFilesystem => ("it is on a read-only mount", "a writable"),
        io::ErrorKind::PermissionDenied => ("no permission to create files there", "a writable"),
        _ => ("no temporary file can be created there", "another"),
    };
    let shown = directory.display();
    io::Error::new(
        kind,
        format!(
            "cannot use the directory '{shown}': {why} ({error}); name {other} directory with --dir"
        ),
    )
}
