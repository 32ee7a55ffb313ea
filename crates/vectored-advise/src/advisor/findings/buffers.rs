//! What is known of a program's transfers, by the name of their file. One call in the program may have opened all files
//! of a name. In that case, an edit that adds a buffer changes all these transfers.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::advisor::descriptors::open_file::OpenFile;
use crate::advisor::runs::barriers::{Barrier, add_barrier};
use crate::advisor::runs::row::outlived;
use crate::model::{FindingKey, Grade};
use vectored_strace::event::OpenFlags;

/// The most names of a log that are told apart. All later names count as one name for each program and direction.
const NAMES_MAX: usize = 4096;

/// A program, whether it reads, the name of a file or the text of a stream, and the flags that opened the file.
type Key = (u32, bool, Vec<u8>, OpenFlags);

/// The transfers of a log by program, direction and name, of all open file descriptions.
#[derive(Debug, Default)]
pub(crate) struct Buffers(IndexMap<Key, Buffer, FxBuildHasher>);

/// The transfers that one buffer in the program would change.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    pub(crate) reason: Option<Barrier>,
    ends: Vec<(Barrier, u64)>,
    pub(crate) killed: bool,
    pub(crate) forked: bool,
    pub(crate) others_write: bool,
}

impl Buffers {
    pub(crate) fn number(&mut self, program: u32, is_read: bool, open_file: &OpenFile) -> u32 {
        let first = &open_file.first_name;
        let name = if first.is_empty() { open_file.name() } else { first }.to_vec();
        let mut key = (program, is_read, name, open_file.opened_flags);
        if self.0.len() >= NAMES_MAX && !self.0.contains_key(&key) {
            (key.2, key.3) = (Vec::new(), OpenFlags::default());
        }
        let entry = self.0.entry(key);
        let number = entry.index() as u32;
        entry.or_default();
        number
    }

    pub(crate) fn at(&mut self, number: u32) -> &mut Buffer {
        &mut self.0[number as usize]
    }

    /// What is known of all transfers that a buffer for a finding changes, and the calls before which the buffer must
    /// be empty. `reason` says why a buffer would break some of the transfers.
    pub(crate) fn judge(
        &self,
        key: &FindingKey,
        numbers: &BTreeSet<u32>,
    ) -> (Buffer, Vec<(String, u64)>) {
        let (mut all, mut calls) = (Buffer::default(), Vec::new());
        for &number in numbers {
            let buffer = &self.0[number as usize];
            all.reason = all.reason.or(buffer.reason);
            for end in buffer
                .ends
                .iter()
                .filter(|_| key.grade != Grade::ReadsAhead)
            {
                let reason = outlived(key.kind, std::slice::from_ref(end), &mut calls);
                all.reason = all.reason.or(reason);
            }
            all.killed |= buffer.killed;
            all.forked |= buffer.forked;
            all.others_write |= buffer.others_write;
        }
        (all, calls)
    }
}

impl Buffer {
    /// Notes why another thread or process sees some of the transfers. [`Barrier::WakeUp`] is left out: it holds for
    /// one pipe, and may be withdrawn.
    pub(crate) fn rule_out(&mut self, reason: Option<Barrier>) {
        let lasting = reason.filter(|&reason| reason != Barrier::WakeUp);
        self.reason = self.reason.or(lasting);
    }

    pub(crate) fn note_ends(&mut self, ends: &[(Barrier, u64)]) {
        for &(reason, times) in ends {
            add_barrier(&mut self.ends, reason, times);
        }
    }
}
