//! The calls of one direction through an open file description, mergeable or not.

use vectored_strace::event::{Form, Transfer};

/// Counts of all calls of one direction. A call counts for the first of `empty`, `special`, `large` and `short` that fits
/// the call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallCounts {
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
    pub(crate) empty: u64,
    pub(crate) short: u64,
    pub(crate) large: u64,
    /// Calls that cannot be merged: with flags or an address, or without a buffer in the program
    /// (`sendfile`).
    pub(crate) special: u64,
}

impl CallCounts {
    #[inline(always)]
    pub(crate) fn note(&mut self, transfer: &Transfer<'_>, buffer_bytes: u64) {
        self.calls += 1;
        let bytes = transfer.result.unwrap_or(0);
        self.bytes = self.bytes.saturating_add(bytes);
        let asked = transfer.asked_bytes.unwrap_or(bytes);
        let is_special = transfer.special || transfer.addressed || transfer.form == Form::Opaque;
        if bytes == 0 {
            self.empty += 1;
        } else if is_special {
            self.special += 1;
        } else if asked >= buffer_bytes {
            self.large += 1;
        } else if asked > bytes {
            self.short += 1;
        }
    }

    pub(crate) fn join(&mut self, other: &CallCounts) {
        self.calls += other.calls;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.empty += other.empty;
        self.short += other.short;
        self.large += other.large;
        self.special += other.special;
    }
}
