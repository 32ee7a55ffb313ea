//! The room that the temporary files of a cell need in their directory.

use std::path::Path;

use vectored_machine::host::check_room;
use vectored_machine::model::DirectoryInfo;
use vectored_results::model::Target;

use crate::measure::sampler::interface::MeasureError;
use crate::measure::targets::file::appended_bytes;
use crate::measure::targets::overwrite::overwritten_bytes;

/// Checks that `directory` can hold the temporary files of a cell, and describes it.
/// The cell writes to `target` with calls of up to `call_bytes` bytes.
pub fn check_directory(
    directory: &Path,
    target: Target,
    call_bytes: u64,
) -> Result<DirectoryInfo, MeasureError> {
    let file_bytes = match target {
        Target::FileOverwrite => overwritten_bytes(call_bytes),
        _ => appended_bytes(call_bytes),
    };
    check_room(directory, file_bytes).map_err(MeasureError::Directory)
}
