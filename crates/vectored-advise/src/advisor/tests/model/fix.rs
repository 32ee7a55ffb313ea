//! The printed remedy of a finding, taken literally.

use std::collections::{BTreeMap, BTreeSet};

use super::kernel::{Kernel, Object};
use super::program::{Call, Look, Step};
use super::run::Outcome;
use crate::advisor::wording::sentences::action;
use crate::model::{FindingKey, FindingKind, Tally};

/// The size of buffers here, in place of 64 KiB.
pub(super) const BUFFER_BYTES: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// All writes through the descriptor go through a buffer, which is written when it is full.
    Buffer,
    /// The calls of each run are one call, in the place of the last.
    Join,
    /// The same at an offset; reads in the place of the first.
    JoinAt,
    /// All reads through the descriptor go through a buffer, which is filled by one large read.
    ReadAhead,
    /// One read of the bytes of each run.
    ReadRun,
    /// The offset goes with the transfer, in place of a seek before it.
    NoSeek,
}

#[derive(Clone, Debug)]
pub(super) struct Fix {
    pub(super) how: How,
    pub(super) text: String,
    /// Process, descriptor and open file of each call that the finding names.
    pub(super) streams: BTreeSet<(u32, i32, usize)>,
    groups: Vec<Vec<usize>>,
    /// Offsets of the transfers whose seek is dropped.
    pub(super) places: BTreeMap<usize, usize>,
    pub(super) dropped: BTreeSet<usize>,
}

fn bytes_of(program: &[Step], before: &Outcome, step: usize) -> usize {
    match program[step].call {
        Call::Write(_, bytes) | Call::WriteAt(_, bytes, _) => bytes,
        Call::WriteList(_, count, bytes) => count * bytes,
        _ => before.seen.get(&step).map_or(0, Vec::len),
    }
}

impl Fix {
    /// What the text of a finding asks for; nothing if it changes no call.
    pub(super) fn of(
        key: &FindingKey,
        tally: &Tally,
        program: &[Step],
        before: &Outcome,
    ) -> Option<Fix> {
        let text = action(key, tally);
        let how = match key.kind {
            FindingKind::AdjacentWrites if text.starts_with("Collect") => How::Buffer,
            FindingKind::AdjacentWrites => How::Join,
            FindingKind::SmallReads if text.contains("larger buffer") => How::ReadAhead,
            FindingKind::SmallReads => How::ReadRun,
            FindingKind::PositionalWrites | FindingKind::PositionalReads => How::JoinAt,
            FindingKind::SeekThenTransfer => How::NoSeek,
            _ => return None,
        };
        let runs = tally.members.iter().map(|run| -> Vec<usize> {
            run.iter().map(|begin| before.begins[begin]).collect()
        });
        let mut fix = Fix {
            how,
            text,
            streams: BTreeSet::new(),
            groups: Vec::new(),
            places: BTreeMap::new(),
            dropped: BTreeSet::new(),
        };
        for run in runs {
            fix.streams.extend(run.iter().map(|step| before.users[step]));
            match how {
                How::NoSeek => fix.drop_seeks(&run, program, before),
                How::Buffer | How::ReadAhead => {}
                _ => fix.group(&run, program, before),
            }
        }
        Some(fix)
    }

    /// Cuts a run where a joined call is full.
    fn group(&mut self, run: &[usize], program: &[Step], before: &Outcome) {
        let mut size = BUFFER_BYTES;
        for &step in run {
            if size >= BUFFER_BYTES {
                self.groups.push(Vec::new());
                size = 0;
            }
            size += bytes_of(program, before, step);
            if let Some(group) = self.groups.last_mut() {
                group.push(step);
            }
        }
    }

    fn drop_seeks(&mut self, run: &[usize], program: &[Step], before: &Outcome) {
        for &step in run {
            let (process, fd, _) = before.users[&step];
            let place = before.order.iter().position(|&one| one == step).unwrap_or(0);
            let uses = |&&one: &&usize| match program[one].call {
                Call::Seek(of, _) | Call::Move(of, _) | Call::SeekEnd(of) => {
                    of == fd && program[one].thread == program[step].thread
                }
                _ => before.users.get(&one).is_some_and(|user| (user.0, user.1) == (process, fd)),
            };
            let last = before.order[..place].iter().rev().find(uses).copied();
            if let Some((seek, Call::Seek(_, at))) = last.map(|last| (last, program[last].call)) {
                self.dropped.insert(seek);
                self.places.insert(step, at);
            }
        }
    }

    pub(super) fn group_of(&self, step: usize) -> Option<(usize, &Vec<usize>)> {
        self.groups.iter().enumerate().find(|(_, group)| group.contains(&step))
    }

    pub(super) fn tells_of_kills(&self) -> bool {
        self.text.contains("A signal killed a process that wrote it")
    }

    pub(super) fn empties_before_poll(&self) -> bool {
        self.text.contains("Empty the buffer before poll")
    }

    /// Whether the text has the program write the buffer of a descriptor before a call.
    pub(super) fn is_written_before(
        &self,
        call: Call,
        kernel: &Kernel,
        process: u32,
        fd: i32,
    ) -> bool {
        let names = |word: &str| self.text.contains(&format!("{word} ("));
        let own = kernel.at(process, fd).map(|open_file| open_file.object);
        let same = |other: i32| kernel.key_of(process, other) == kernel.key_of(process, fd);
        let object = |other: i32| kernel.at(process, other).map(|open_file| open_file.object);
        let is_stream = |other: i32| matches!(object(other), Some(Object::Stream(..)));
        let by_another = |other: i32| !same(other) && object(other) == own && names(SAME_FILE);
        let waits = self.text.contains("before waiting");
        let reads = |other: i32| {
            is_stream(other) && (waits || names("a read of a pipe or socket"))
                || same(other) && names("a read of the same open file")
                || by_another(other)
        };
        let writes = |other: i32| {
            is_stream(other) && !same(other) && names("a write to another pipe or socket")
                || same(other) && other != fd && names(TWO_DESCRIPTORS)
                || by_another(other)
        };
        match call {
            Call::Read(other, _) | Call::ReadAt(other, ..) | Call::Until(Look::Read(other, _)) => reads(other),
            Call::Write(other, _) | Call::WriteAt(other, ..) | Call::WriteList(other, ..) => writes(other),
            Call::Copy(to, from, _) => reads(from) || writes(to) || names(SPECIAL),
            Call::Poll(_) => waits || names("poll, select or epoll_wait"),
            Call::Await(_) | Call::Post(_) => waits || names("futex"),
            Call::Wait(_) => waits || names("a wait for a child"),
            Call::Fork(_) | Call::Thread(_) | Call::Execute => names("fork or execve"),
            Call::Kill(_) => names("a signal"),
            Call::Pause => names("a pause"),
            Call::Close(other) | Call::Duplicate(_, other) => {
                is_stream(other) && names("a close of a pipe or socket")
            }
            Call::Sync(other) => names(if same(other) { "fsync" } else { SYNC }),
            Call::SyncAll | Call::SyncFileSystem(_) => names(SYNC) || names("fsync"),
            Call::Stat(_) | Call::Until(Look::Stat(_)) | Call::StatDescriptor(_) => names("stat"),
            Call::Rename(..) | Call::Link(..) | Call::Symlink(..) | Call::Unlink(_) => names(NAMES),
            Call::Open(..) => names(NAMES) || names(SAME_FILE),
            Call::TruncateDescriptor(..) => names("ioctl, setsockopt, ftruncate or the like"),
            Call::Truncate(..) => {
                names("ioctl, setsockopt, ftruncate or the like") || names(SAME_FILE)
            }
            Call::Watch(_) => names("ioctl, setsockopt, ftruncate or the like"),
            Call::Tell(_) => names("lseek(SEEK_CUR)"),
            Call::SeekEnd(_) => names("lseek(SEEK_END), statfs or the like"),
            _ => false,
        }
    }
}

const NAMES: &str = "rename, unlink or the like";
const SAME_FILE: &str = "a use of the same file through another descriptor";
const SYNC: &str = "a sync of another file";
const TWO_DESCRIPTORS: &str = "a call through another descriptor of the same open file";
const SPECIAL: &str = "a read or write of a terminal, a device or another special descriptor";
