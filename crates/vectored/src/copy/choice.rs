//! Which technique copies, and with what buffer.

use super::Technique;
use super::contest::TRIAL_BYTES;
use super::run::{Plan, SMALL_BYTES};
use crate::cost::{CostModel, TargetKind};
use crate::sys::open_file::{CopyEnd, FileKind};

const PAGE_BYTES: u64 = 4096;

/// The memory of the smallest buffer, which is on the stack.
const LEAST_BYTES: u64 = SMALL_BYTES as u64;

/// What the first access to a page of a buffer costs, in ns: 250 on usual machines, 700 on virtual machines.
const PAGE_NS: f64 = 500.0;

/// On a file system that cannot copy files itself, a file of this size or more is spliced to another file through a
/// pipe of 1 MiB. On such a file system, `copy_file_range` goes through a pipe of 64 KiB. Splicing took these shares of
/// the time of `copy_file_range` (Zen 4, Linux 6.18.44): on ext4 0.88 at 1 MiB, the creation of the pipe included, 0.82
/// at 4 MiB and 0.81 at 64 MiB; on tmpfs 1.03, 1.05 and 1.05. `copy_file_range` took 0.79 to 0.92 of the time of
/// reading and writing for 16 KiB to 16 MB (Skylake: 0.85; another Zen 4: 0.97 at 1 MiB, 1.04 at 4 MiB).
const SPLICED_BYTES: u64 = 1 << 20;

/// A copy of this size or more measures itself: nearly twice what the first comparison copies.
const MEASURED_BYTES: u64 = 16 << 20;

/// The size of a pipe of Linux. A pipe of another system grows to this size when it is used.
pub(super) const USUAL_PIPE_BYTES: usize = 1 << 16;

#[derive(Clone, Copy, Debug)]
pub(super) struct Wishes {
    pub(super) technique: Option<Technique>,
    pub(super) buffer_bytes: Option<usize>,
    pub(super) limit: u64,
    pub(super) may_alias: bool,
    pub(super) larger_pipe_bytes: Option<usize>,
}

/// Questions about the output, asked only if the answer matters.
pub(super) trait Output {
    /// The size of the output, if it is a pipe whose size is known.
    fn pipe_bytes(&self) -> Option<usize>;

    /// Whether the output is on a file system that cannot copy files itself.
    fn is_without_copies(&self) -> bool;
}

/// The plan of a copy between two descriptors. `is_within` says whether both are the same file.
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
        // The buffer is used only if splicing is refused, so no call asks for the size of the pipe.
        None if technique == Technique::Splice && !are_files => USUAL_PIPE_BYTES / 2,
        None => buffer_bytes(from, to, output, wishes),
    };
    // A stream may be short, and to allocate 512 KiB costs more than to copy 64 KiB. One read gets at most 64 KiB of a usual pipe.
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

/// Why the kernel always refuses the call of `technique` between these two kinds.
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

/// Whether a file probably fills a pipe. A shorter file is read and written in 0.95 of the time that splicing takes.
fn fills_a_pipe(from: &CopyEnd, to: &CopyEnd) -> bool {
    let is_long = from.bytes > USUAL_PIPE_BYTES as u64;
    from.kind == FileKind::Regular && is_long && to.kind == FileKind::Fifo
}

/// The technique for two kinds of descriptors, on Linux. No technique here puts pages of a file into a pipe or socket, where
/// a later write to the file would change them.
///
/// Where bytes could be spliced and are not, splicing took longer than reading and writing: 1.5 times as long from a
/// pipe to a file, 1.3 to 1.7 times from a pipe to a socket (two processes on 2 CPUs, Linux 6.18, loopback). From pipe
/// to pipe splicing took 0.8 to 1.0 of the time, and from a socket to a pipe 0.4 to 0.9.
fn technique(from: &CopyEnd, to: &CopyEnd, expected_bytes: u64, output: &impl Output) -> Technique {
    use FileKind::{Fifo, Regular, Socket};
    match (from.kind, to.kind) {
        // A size of 0 is an empty file, or a file of /proc: only reads tell the two apart.
        (Regular, _) if from.bytes == 0 => Technique::ReadWrite,
        // Measured on ext4 (Linux 6.18): 0.9 of the time of `copy_file_range` at 16 B to 8 KiB, 0.95 at 16 KB.
        (Regular, Regular) if from.bytes <= LEAST_BYTES => Technique::ReadWrite,
        (Regular, Regular) => {
            let is_spliced = expected_bytes >= SPLICED_BYTES && output.is_without_copies();
            if is_spliced { Technique::Splice } else { Technique::CopyFileRange }
        }
        // The device keeps no byte.
        (Regular, _) if to.is_null => Technique::Sendfile,
        (Fifo | Socket, Fifo) => Technique::Splice,
        (Fifo, _) if to.is_null => Technique::Splice,
        _ => Technique::ReadWrite,
    }
}

/// The size of the buffer. If the output is a pipe, the buffer is half of the pipe: the reader empties one half while
/// the other half is filled. (To a pipe of 64 KiB, a buffer of 32 KiB took 0.75 of the time of 128 KiB for a file of 1
/// MiB, and 0.41 for 256 MiB.) For other outputs, the size is the power of two at which calls and first accesses to
/// pages cost about the same.
///
/// The buffer is at most twice as large as a staging buffer. A copy has no other memory, and the second-level cache has
/// room for that much.
fn buffer_bytes(from: &CopyEnd, to: &CopyEnd, output: &impl Output, wishes: &Wishes) -> usize {
    let model = model(to.kind);
    let expected = match from.kind {
        FileKind::Regular if from.bytes > 0 => from.bytes.min(wishes.limit),
        _ => wishes.limit,
    };
    let best = match to.kind {
        // Half of a pipe has room for all.
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
