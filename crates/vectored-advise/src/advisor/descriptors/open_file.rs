//! An open file description: made by `open`, shared by all duplicates of its descriptor.

use crate::advisor::fd_kind::FdKind;
use crate::advisor::keys::{GroupId, ThreadId};
use crate::advisor::runs::barriers::Barrier;
use crate::advisor::runs::run_builder::DirectionRuns;
use crate::advisor::runs::tally::HeldFindings;
use crate::advisor::stalls::exchange::Exchange;
use rustc_hash::FxHashSet;
use vectored_strace::event::{Descriptor, OpenFlags};

#[derive(Debug, Default)]
pub(crate) struct OpenFile {
    pub(crate) kind: FdKind,
    pub(crate) flags: OpenFlags,
    /// The flags that it was opened with; `fcntl` may have changed them since.
    pub(crate) opened_flags: OpenFlags,
    /// The event since which its descriptors are known.
    pub(crate) since: u64,
    pub(crate) is_inherited: bool,
    pub(crate) descriptors: u32,
    pub(crate) fd_tables: u32,
    pub(crate) position: Option<u64>,
    /// The event that set its offset since the last transfer; 0 if none did.
    pub(crate) sought: u64,
    pub(crate) sought_by: ThreadId,
    pub(crate) sought_size: bool,
    pub(crate) reader: ThreadId,
    /// The barrier to larger reads, if another thread or process also reads from the offset or the stream.
    pub(crate) shared_reads: Option<Barrier>,
    pub(crate) offset_user: ThreadId,
    /// Whether another thread uses the offset: calls that give an offset would not move it.
    pub(crate) has_shared_offset: bool,
    /// Findings of reads. They are counted if no other thread or process uses the offset or the stream.
    pub(crate) held: HeldFindings,
    /// Whether writers that the log does not show may write to it: a FIFO, a pipe from before the log began, a file
    /// with `O_APPEND`. Then each call writes whole records.
    pub(crate) has_other_writers: bool,
    /// Whether the log does not show that it is a file: it may be a FIFO.
    pub(crate) may_be_fifo: bool,
    /// Whether a call relied on the offset that a seek and the next call left.
    pub(crate) offset_is_used: bool,
    pub(crate) was_sought: bool,
    pub(crate) is_placed: bool,
    pub(crate) read_from: Option<u64>,
    /// Whether `flock` or `fcntl` was called on it: closing it may release a lock that another process
    /// waits for.
    pub(crate) was_locked: bool,
    pub(crate) is_of_library: bool,
    pub(crate) is_corked: bool,
    pub(crate) exchange: Exchange,
    pub(crate) first_number: i32,
    /// Number of the descriptor of the last transfer, or of the first descriptor.
    pub(crate) number: i32,
    /// The text that the log showed last.
    pub(crate) text: Vec<u8>,
    /// The path given to `open`; used only if `text` is empty.
    pub(crate) path: Vec<u8>,
    /// Its name before it was renamed; empty if it was not.
    pub(crate) first_name: Vec<u8>,
    pub(crate) group: GroupId,
    pub(crate) counted: FxHashSet<u32>,
    /// Runs of writes, then of reads.
    pub(crate) runs: [DirectionRuns; 2],
}

impl OpenFile {
    pub(crate) fn new(
        kind: FdKind,
        flags: OpenFlags,
        descriptor: Descriptor<'_>,
        since: u64,
    ) -> OpenFile {
        OpenFile {
            kind,
            flags,
            opened_flags: flags,
            since,
            first_number: descriptor.number,
            number: descriptor.number,
            text: descriptor.leads_to.unwrap_or_default().to_vec(),
            ..OpenFile::default()
        }
    }

    pub(crate) fn name(&self) -> &[u8] {
        if self.text.is_empty() { &self.path } else { &self.text }
    }

    /// Most bytes of a merged call. If other processes may write there, it has whole records: as many as fit into the
    /// buffer, or as Linux writes to a pipe at once.
    pub(crate) fn most_bytes(&self, buffer_bytes: u64) -> u64 {
        match self.kind {
            _ if !self.has_other_writers => u64::MAX,
            FdKind::File => buffer_bytes,
            _ => PIPE_BUF_BYTES.min(buffer_bytes),
        }
    }

    /// Why a second reader rules out larger reads.
    pub(crate) fn second_reader(&self) -> Option<Barrier> {
        match self.kind {
            FdKind::File => Some(Barrier::SharedOffset),
            kind => kind.has_peer().then_some(Barrier::OtherReaders),
        }
    }

    /// Notes a call that depends on the offset. The program may rely on the offset that a seek and the next transfer left.
    pub(crate) fn use_offset(&mut self) {
        self.offset_is_used |= self.was_sought && !self.is_placed;
    }
}

/// Bytes that Linux writes to a pipe at once, without mixing them with other writers' bytes.
const PIPE_BUF_BYTES: u64 = 4096;
