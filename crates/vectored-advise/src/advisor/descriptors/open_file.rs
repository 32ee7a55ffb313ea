//! An open file description: `open` makes it, and all duplicates of its descriptor share it.

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
    /// The flags that `open` had; `fcntl` may have changed the flags since.
    pub(crate) opened_flags: OpenFlags,
    /// The event since which all descriptors are known.
    pub(crate) since: u64,
    pub(crate) is_inherited: bool,
    pub(crate) descriptors: u32,
    pub(crate) fd_tables: u32,
    pub(crate) position: Option<u64>,
    /// The event of the seek since the last transfer; 0 without a seek.
    pub(crate) sought: u64,
    pub(crate) sought_by: ThreadId,
    pub(crate) sought_size: bool,
    pub(crate) reader: ThreadId,
    /// The barrier to larger reads, if another thread or process also reads from the offset or the stream.
    pub(crate) shared_reads: Option<Barrier>,
    pub(crate) offset_user: ThreadId,
    /// Whether another thread uses the offset. A call that gives an offset would not move the shared offset.
    pub(crate) has_shared_offset: bool,
    /// Findings of reads. They are counted only if no other thread or process uses the offset or the stream.
    pub(crate) held: HeldFindings,
    /// Whether writers that are not in the log may write to the file: a FIFO, a pipe from before the log began, a file
    /// with `O_APPEND`. In that case each call writes whole records.
    pub(crate) has_other_writers: bool,
    /// Whether the file may be a FIFO, since the log does not show that.
    pub(crate) may_be_fifo: bool,
    /// Whether a call relied on the offset that a seek and the next transfer left.
    pub(crate) offset_is_used: bool,
    pub(crate) was_sought: bool,
    pub(crate) is_placed: bool,
    pub(crate) read_from: Option<u64>,
    /// Whether `flock` or `fcntl` was called on the file. A close may then release a lock that another process waits
    /// for.
    pub(crate) was_locked: bool,
    pub(crate) is_of_library: bool,
    pub(crate) is_corked: bool,
    pub(crate) exchange: Exchange,
    pub(crate) first_number: i32,
    /// The number of the descriptor of the last transfer or, before any transfer, of the first descriptor.
    pub(crate) number: i32,
    /// The last text of the descriptor in the log.
    pub(crate) text: Vec<u8>,
    /// The path that `open` had; used only if `text` is empty.
    pub(crate) path: Vec<u8>,
    /// The name before a rename; empty without a rename.
    pub(crate) first_name: Vec<u8>,
    pub(crate) group: GroupId,
    pub(crate) counted: FxHashSet<u32>,
    /// The runs of writes, then the runs of reads.
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

    /// The most bytes of a merged call. If other processes may write to the file, the call has whole records: as many
    /// as fit into the buffer, or as Linux writes to a pipe at once.
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

    /// Notes a call that depends on the offset. The program may rely on the offset that a seek and the next transfer
    /// left.
    pub(crate) fn use_offset(&mut self) {
        self.offset_is_used |= self.was_sought && !self.is_placed;
    }
}

/// The most bytes that Linux writes to a pipe without mixing them with other writers' bytes.
const PIPE_BUF_BYTES: u64 = 4096;
