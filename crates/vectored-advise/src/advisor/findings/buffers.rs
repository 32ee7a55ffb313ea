//! What is known of the transfers of a program by the name of their file. One call in the program may have opened all
//! files of a name, so an edit that adds a buffer changes all these transfers.

use rustc_hash::FxHashMap;

use crate::advisor::descriptors::open_file::OpenFile;
use crate::advisor::findings::row::outlived;
use crate::advisor::runs::barriers::{Barrier, add_barrier};
use crate::model::{FindingKind, Grade, Tally};
use vectored_strace::event::OpenFlags;

/// The most names of a log that are told apart. Later names count as one for each program and direction.
const NAMES_MAX: usize = 4096;

/// A program, whether it reads, and the name and the flags that it opened a file with, or the text of a stream.
type Key = (u32, bool, Vec<u8>, OpenFlags);

/// The transfers of a log by program, direction and name, through any open file description.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    numbers: FxHashMap<Key, u32>,
    known: Vec<Buffer>,
}

/// The transfers that one buffer in the program would change.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    reason: Option<Barrier>,
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
        if self.known.len() >= NAMES_MAX && !self.numbers.contains_key(&key) {
            (key.2, key.3) = (Vec::new(), OpenFlags::default());
        }
        let next = self.known.len() as u32;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.known.push(Buffer::default());
        }
        number
    }

    pub(crate) fn at(&mut self, number: u32) -> &mut Buffer {
        &mut self.known[number as usize]
    }

    /// Adds to a finding what is known of all transfers that a buffer for it changes. Returns why some of them rule it out.
    pub(crate) fn judge(
        &self,
        kind: FindingKind,
        grade: Grade,
        numbers: impl Iterator<Item = u32>,
        tally: &mut Tally,
    ) -> Option<Barrier> {
        let mut ends = Vec::new();
        for number in numbers {
            let buffer = &self.known[number as usize];
            if buffer.reason.is_some() {
                return buffer.reason;
            }
            if grade != Grade::ReadsAhead
                && let Some(reason) = outlived(kind, &buffer.ends, &mut ends)
            {
                return Some(reason);
            }
            tally.killed |= buffer.killed;
            tally.forked |= buffer.forked;
            tally.others_write |= buffer.others_write;
        }
        tally.ends = ends;
        None
    }

    /// The calls before which a buffer must be empty, for a buffer that would be sound if the program had one thread.
    pub(crate) fn ends(
        &self,
        kind: FindingKind,
        numbers: impl Iterator<Item = u32>,
    ) -> Vec<(String, u64)> {
        let mut calls = Vec::new();
        for number in numbers {
            for end in &self.known[number as usize].ends {
                let _ = outlived(kind, std::slice::from_ref(end), &mut calls);
            }
        }
        calls
    }
}

impl Buffer {
    /// Notes why another thread or process sees some of the transfers. [`Barrier::WakeUp`] holds for one pipe, and may be
    /// withdrawn.
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
