//! How a run ended, and what it said last.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::fs::{MemfdFlags, memfd_create};
use vectored_versus::ends::{End, RunEnd};
use vectored_versus::last_line;
use vectored_versus::model::Phase;

use crate::command_signals::end_in_words;

/// Bytes at the end of standard error in which its last line is looked for.
const TAIL_BYTES: u64 = 4096;

/// A file in memory for the standard error of runs that are not counted: unlike a pipe, it wakes no reader while a command is
/// timed.
pub fn errors_file() -> Option<File> {
    let file = memfd_create("standard error", MemfdFlags::CLOEXEC);
    file.ok().map(File::from)
}

/// The last line in the file, which is emptied.
pub fn last_error(errors: &mut File) -> String {
    let mut tail = Vec::new();
    let length = errors.metadata().map_or(0, |found| found.len());
    let begin = SeekFrom::Start(length.saturating_sub(TAIL_BYTES));
    // What cannot be read is not said.
    let _ = errors
        .seek(begin)
        .and_then(|_| errors.read_to_end(&mut tail));
    let _ = errors.set_len(0).and_then(|()| errors.rewind());
    last_line(&tail)
}

pub fn run_end(status: ExitStatus, phase: Phase, number: u64, said: String) -> RunEnd {
    let signal = || status.signal().unwrap_or_default();
    let end = status
        .code()
        .map_or_else(|| End::Signal(signal()), End::Status);
    RunEnd {
        phase,
        number,
        end,
        ended: end_in_words(status),
        said,
    }
}
