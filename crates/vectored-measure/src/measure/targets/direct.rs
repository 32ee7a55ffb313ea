//! What a directory offers: room for the files of a cell, and files past the page cache with their alignment.

use std::fs::File;
use std::io;
use std::path::Path;

use vectored::files::{AlignedBuffer, DirectAlignment};
use vectored_machine::host::check_room;
use vectored_machine::model::DirectoryInfo;
use vectored_machine::platform::fd::AsFd;
use vectored_machine::platform::files::{resident_bytes, set_direct, unnamed_file};
use vectored_machine::platform::plain_calls::{FileExt, OFlags};
use vectored_results::model::{DirectIo, Target};

use crate::measure::sampler::{MeasureError, STAGING_ALIGNMENT};
use crate::measure::targets::end::POISON;
use crate::measure::targets::file::{appended_bytes, overwritten_bytes};

/// Bytes that are written and read on trial: a multiple of [`STAGING_ALIGNMENT`].
const TRIAL_BYTES: usize = 64 << 10;

/// Checks that transfers of a file in `directory` can bypass the page cache, and returns the alignment that they need.
/// A file system may accept `O_DIRECT` and still keep the bytes in the page cache, as tmpfs does since Linux 6.6.
pub fn check_direct(directory: &Path) -> Result<DirectIo, MeasureError> {
    let described = check_directory(directory, Target::File, 0)?;
    let not_direct = |why: String| {
        MeasureError::OtherDirectory(format!(
            "cannot use O_DIRECT in '{}' ({}): {why}; name a directory of another file system, such as ext4 or xfs, \
             with --dir, or omit --direct",
            described.path, described.file_system
        ))
    };
    let attempt = || -> io::Result<(DirectAlignment, u64)> {
        let file = File::from(unnamed_file(directory, OFlags::empty())?);
        let alignment = DirectAlignment::of(&file)?;
        set_direct(file.as_fd(), true)?;
        let is_served = alignment.memory_bytes.max(alignment.offset_bytes) <= STAGING_ALIGNMENT;
        let resident_bytes = if is_served { trial(&file)? } else { 0 };
        Ok((alignment, resident_bytes))
    };
    let refused = |error: io::Error| match error.kind() {
        // A file system without direct I/O refuses `F_SETFL` or the transfer.
        io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported => {
            not_direct(format!("the file system refuses it ({error})"))
        }
        _ => MeasureError::io(format!(
            "cannot try O_DIRECT on a file in '{}'",
            directory.display()
        ))(error),
    };
    let (alignment, resident_bytes) = attempt().map_err(refused)?;
    let direct = DirectIo::from(alignment);
    if direct.step_bytes() > STAGING_ALIGNMENT {
        return Err(not_direct(format!(
            "it needs an alignment of {} bytes, more than the {STAGING_ALIGNMENT} of staging buffers",
            direct.step_bytes()
        )));
    }
    if resident_bytes > 0 {
        return Err(not_direct(
            "the file system accepts it, but keeps the bytes in the page cache".to_owned(),
        ));
    }
    Ok(direct)
}

/// Writes and reads [`TRIAL_BYTES`] bytes, and returns how many of these bytes are in the page cache afterwards.
fn trial(file: &File) -> io::Result<u64> {
    let mut bytes = AlignedBuffer::zeroed(TRIAL_BYTES, STAGING_ALIGNMENT);
    bytes.fill(POISON);
    file.write_all_at(&bytes, 0)?;
    file.read_exact_at(&mut bytes, 0)?;
    if cfg!(target_os = "linux") {
        resident_bytes(file.as_fd(), TRIAL_BYTES as u64)
    } else {
        // `F_NOCACHE` uses pages that are in the cache already.
        Ok(0)
    }
}

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
