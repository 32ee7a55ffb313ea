//! Chooses the technique of a copy and the size of its buffer.

use super::Technique;
use super::contest::TRIAL_BYTES;
use super::run::{Plan, SMALL_BYTES};
use crate::cost::{CostModel, TargetKind};
use crate::sys::open_file::{CopyEnd, FileKind};

const PAGE_BYTES: u64 = 4096;

/// A buffer of this size is on the stack.
const LEAST_BYTES: u64 = SMALL_BYTES as u64;

/// The cost of the first access to a page of a buffer, in ns: 250 on usual machines, 700 on virtual machines.
const PAGE_NS: f64 = 500.0;

/// Files of this size or more are spliced if the file system cannot copy files itself.
///
/// On these file systems, `copy_file_range` uses a pipe of 64 KiB. Splicing uses a pipe of 1 MiB. Measured time
/// of splicing ÷ time of `copy_file_range` (Zen 4, Linux 6.18.44):
///
/// - ext4: 0.88 at 1 MiB with the creation of the pipe, 0.82 at 4 MiB, 0.81 at 64 MiB.
/// - tmpfs: 1.03 at 1 MiB, 1.05 at 4 MiB, 1.05 at 64 MiB.
///
/// Measured time of `copy_file_range` ÷ time of reading and writing:
///
/// - Zen 4: 0.79 to 0.92 from 16 KiB to 16 MB.
/// - Another Zen 4: 0.97 at 1 MiB, 1.04 at 4 MiB.
/// - Skylake: 0.85.
const SPLICED_BYTES: u64 = 1 << 20;

/// A copy of this size or more measures itself. The first contest copies up to 7.5 MiB.
const MEASURED_BYTES: u64 = 16 << 20;

/// The default size of a pipe on Linux (pipe(7)). On macOS, a pipe grows to this size.
pub(super) const USUAL_PIPE_BYTES: usize = 1 << 16;

#[derive(Clone, Copy, Debug)]
pub(super) struct Wishes {
    pub(super) technique: Option<Technique>,
    pub(super) buffer_bytes: Option<usize>,
    pub(super) limit: u64,
    pub(super) may_alias: bool,
    pub(super) larger_pipe_bytes: Option<usize>,
}

/// The methods make system calls, so `plan` calls a method only if the plan depends on the result.
pub(super) trait Output {
    /// The size of the output if the output is a pipe. `None` if the size is unknown.
    fn pipe_bytes(&self) -> Option<usize>;

    /// Whether the file system of the output cannot copy files itself.
    fn is_without_copies(&self) -> bool;
}

/// `is_within` is true if both descriptors are one file.
pub(super) fn plan(
    from: &CopyEnd,
    to: &CopyEnd,
    is_within: bool,
    output: &impl Output,
    wishes: &Wishes,
) -> Plan {
    let expected_bytes = from.bytes.min(wishes.limit);
    let technique = match wishes.technique {
        Some(named) => named,
        // Ranges of one file may overlap.
        None if is_within || !cfg!(target_os = "linux") => Technique::ReadWrite,
        None if wishes.may_alias && fills_a_pipe(from, to) => Technique::Splice,
        None => technique(from, to, expected_bytes, output),
    };
    let is_file = from.kind == FileKind::Regular;
    let are_files = is_file && to.kind == FileKind::Regular;
    let most_bytes = match wishes.buffer_bytes {
        Some(bytes) => bytes.max(1),
        // The buffer is used only if the kernel refuses to splice, so the size of the pipe is not queried.
        None if technique == Technique::Splice && !are_files => USUAL_PIPE_BYTES / 2,
        None => buffer_bytes(from, to, output, wishes),
    };
    // A stream may be short, and allocating 512 KiB costs more than copying 64 KiB. From a pipe of the usual
    // size, one read gets at most 64 KiB.
    let first_bytes = match from.kind {
        _ if wishes.buffer_bytes.is_some() => most_bytes,
        FileKind::Regular if from.bytes > 0 => most_bytes,
        FileKind::Fifo | FileKind::Socket => most_bytes.min(USUAL_PIPE_BYTES),
        _ => most_bytes.min(SMALL_BYTES),
    };
    let is_measured = wishes.technique.is_none()
        && wishes.buffer_bytes.is_none()
        && technique == Technique::Splice
        && are_files
        && expected_bytes >= MEASURED_BYTES;
    Plan {
        technique,
        trial_bytes: is_measured.then_some(TRIAL_BYTES),
        is_named: wishes.technique.is_some(),
        is_zero_the_end: !is_file,
        is_short_the_last: are_files || is_file && to.is_null,
        file_bytes: if is_file { from.bytes } else { 0 },
        first_bytes,
        most_bytes,
        limit: wishes.limit,
    }
}

/// Returns the reason if the kernel always refuses `technique` between these two kinds.
pub(super) fn unsuited(technique: Technique, from: FileKind, to: FileKind) -> Option<&'static str> {
    use FileKind::{Fifo, Regular, Socket};
    match technique {
        Technique::CopyFileRange if (from, to) != (Regular, Regular) => {
            Some("copy_file_range copies only between two regular files")
        }
        Technique::Sendfile if matches!(from, Fifo | Socket) => {
            Some("sendfile copies only from a file")
        }
        Technique::Splice if from != Fifo && to != Fifo => {
            Some("splice copies only from or to a pipe")
        }
        _ => None,
    }
}

/// Reading and writing a shorter file takes 0.95 of the time of splicing.
fn fills_a_pipe(from: &CopyEnd, to: &CopyEnd) -> bool {
    let is_long = from.bytes > USUAL_PIPE_BYTES as u64;
    from.kind == FileKind::Regular && is_long && to.kind == FileKind::Fifo
}

/// The technique for two kinds of descriptors, on Linux. The function never chooses a technique that puts pages
/// of a file into a pipe or socket, because a later write to the file would change the pages.
///
/// Measured time of splicing ÷ time of reading and writing (two processes on 2 CPUs, Linux 6.18, loopback):
///
/// - 1.5 from a pipe to a file
/// - 1.3 to 1.7 from a pipe to a socket
/// - 0.8 to 1.0 from a pipe to a pipe
/// - 0.4 to 0.9 from a socket to a pipe
fn technique(from: &CopyEnd, to: &CopyEnd, expected_bytes: u64, output: &impl Output) -> Technique {
    use FileKind::{Fifo, Regular, Socket};
    match (from.kind, to.kind) {
        // A file of size 0 may be a file of /proc. Only a read shows whether the file is empty.
        (Regular, _) if from.bytes == 0 => Technique::ReadWrite,
        // Reading and writing took 0.9 of the time of `copy_file_range` at 16 B to 8 KiB, and 0.95 at 16 KB
        // (ext4, Linux 6.18).
        (Regular, Regular) if from.bytes <= LEAST_BYTES => Technique::ReadWrite,
        (Regular, Regular) => {
            let is_spliced = expected_bytes >= SPLICED_BYTES && output.is_without_copies();
            if is_spliced { Technique::Splice } else { Technique::CopyFileRange }
        }
        // The null device keeps no page of the file, so a later write to the file does no harm.
        (Regular, _) if to.is_null => Technique::Sendfile,
        (Fifo | Socket, Fifo) => Technique::Splice,
        (Fifo, _) if to.is_null => Technique::Splice,
        _ => Technique::ReadWrite,
    }
}

/// The size of the buffer.
///
/// If the output is a pipe, the buffer is half as large as the pipe, so that the reader can empty one half during
/// the write of the next half. To a pipe of 64 KiB, a buffer of 32 KiB took less time than a buffer of 128 KiB:
/// 0.75 of the time for a file of 1 MiB, and 0.41 for 256 MiB. For other outputs, the size is a power of two.
/// With this size, the calls cost about as much as the first accesses to the pages.
///
/// The buffer is at most twice as large as a staging buffer. A copy needs no other memory, and a buffer of this
/// size fits the second-level cache.
fn buffer_bytes(from: &CopyEnd, to: &CopyEnd, output: &impl Output, wishes: &Wishes) -> usize {
    let model = model(to.kind);
    let expected = match from.kind {
        FileKind::Regular if from.bytes > 0 => from.bytes.min(wishes.limit),
        _ => wishes.limit,
    };
    let best = match to.kind {
        // Half of a pipe has room for all bytes, so the smallest buffer is enough.
        FileKind::Fifo if expected <= LEAST_BYTES => 0.0,
        FileKind::Fifo => (output.pipe_bytes().unwrap_or(USUAL_PIPE_BYTES) / 2) as f64,
        _ => (2.0 * model.call_ns * PAGE_BYTES as f64 * expected as f64 / PAGE_NS).sqrt(),
    };
    let rounded = best.log2().round().exp2() as u64;
    let most = 2 * model.staging_bytes as u64;
    let all = expected
        .checked_next_multiple_of(PAGE_BYTES)
        .unwrap_or(expected);
    rounded.clamp(LEAST_BYTES, most).min(all.max(LEAST_BYTES)) as usize
}

fn model(to: FileKind) -> CostModel {
    CostModel::for_target(match to {
        FileKind::Regular | FileKind::Block => TargetKind::File,
        FileKind::Socket => TargetKind::Tcp,
        _ => TargetKind::Other,
    })
}
