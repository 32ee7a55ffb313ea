//! The printed remedy of a finding, applied word by word.

use std::collections::{BTreeMap, BTreeSet};

use super::kernel::{Kernel, Object};
use super::program::{Op, Step};
use super::run::{Outcome, Turn, User};
use crate::advisor::options::Options;
use crate::advisor::runs::barriers::{Barrier, Call, THREAD_START};
use crate::advisor::runs::remedy_kind::remedy_kinds;
use crate::advisor::wording::sentences::{EVERY_END, action};
use crate::languages::RemedyKind;
use crate::model::{FindingKey, FindingKind, Tally};
use vectored_machine::model::DescriptorKind;

/// The size of a buffer in the model. Printed remedies name 64 KiB.
pub(super) const BUFFER_BYTES: usize = 4096;

/// A change of a program.
///
/// - `WriteBuffer`: what a process writes through a descriptor of the finding goes into a buffer. The buffer is written
///   when it is full, and where the remedy says so. A seek, a close or an exit does not write the buffer, since the
///   buffer is a string of the program. A fork copies the buffer. A close and `execve` lose the buffer.
/// - `ReadAhead`: reads through the descriptor take from a buffer. When the buffer is empty, one large read fills it.
/// - `Join`: one call replaces the writes of each run, in the place of the last write.
/// - `ReadRun`: one call replaces the reads of each run, in the place of the first read.
/// - `EachCall`: a call with an offset replaces a seek and a call.
#[derive(Clone, Debug)]
pub(super) struct Fix {
    pub(super) how: RemedyKind,
    pub(super) text: String,
    /// The users that make the calls of the finding.
    pub(super) streams: BTreeSet<User>,
    /// Each group of calls that one call replaces.
    groups: Vec<Vec<usize>>,
    /// By transfer: the offset of its seek, which the remedy drops.
    pub(super) places: BTreeMap<usize, usize>,
    pub(super) dropped: BTreeSet<usize>,
}

pub(super) fn bytes_of(program: &[Step], before: &Outcome, step: usize) -> usize {
    match program[step].op {
        Op::Read | Op::ReadAt => before.seen.get(&step).map_or(0, Vec::len),
        _ => program[step].bytes,
    }
}

impl Fix {
    pub(super) fn all_of(
        key: &FindingKey,
        tally: &Tally,
        program: &[Step],
        before: &Outcome,
    ) -> Vec<Fix> {
        let steps_of = |run: &Vec<u64>| -> Vec<usize> {
            run.iter().map(|begin| before.begins[begin]).collect()
        };
        let runs: Vec<Vec<usize>> = tally.members.iter().map(steps_of).collect();
        let fix = |how: &RemedyKind| {
            let mut fix = Fix {
                how: *how,
                text: action(key, tally),
                streams: runs
                    .iter()
                    .flatten()
                    .map(|step| before.users[step])
                    .collect(),
                groups: Vec::new(),
                places: BTreeMap::new(),
                dropped: BTreeSet::new(),
            };
            for (run, begins) in std::iter::zip(&runs, &tally.members) {
                if matches!(how, RemedyKind::Join | RemedyKind::ReadRun) {
                    let waits = key.target != DescriptorKind::File && *how == RemedyKind::ReadRun;
                    let most = if tally.others_write { BUFFER_BYTES } else { usize::MAX };
                    fix.group(run, begins, (waits, most), &|step| {
                        bytes_of(program, before, step)
                    });
                } else if key.kind == FindingKind::SeekThenTransfer {
                    fix.drop_seeks(run, program, before);
                }
            }
            fix
        };
        remedy_kinds(key, tally).iter().map(fix).collect()
    }

    /// Cuts a run where a joined call is full, or where the first byte of the call would wait too long.
    fn group(
        &mut self,
        run: &[usize],
        begins: &[u64],
        (waits, most): (bool, usize),
        bytes_of: &dyn Fn(usize) -> usize,
    ) {
        let (mut size, mut since) = (BUFFER_BYTES, 0);
        for (&step, begin) in std::iter::zip(run, begins) {
            let is_late = waits && begin - since > Options::default().max_delay_ns;
            if size >= BUFFER_BYTES || size + bytes_of(step) > most || is_late {
                self.groups.push(Vec::new());
                (size, since) = (0, *begin);
            }
            size += bytes_of(step);
            let group = self.groups.last_mut();
            group.into_iter().for_each(|group| group.push(step));
        }
    }

    /// Whether the figures of a finding agree with the finding's calls.
    pub(super) fn adds_up(&self, key: &FindingKey, tally: &Tally, bytes: usize) -> bool {
        let joined = matches!(self.how, RemedyKind::Join | RemedyKind::ReadRun);
        let calls: usize = tally.members.iter().map(Vec::len).sum();
        tally.bytes == bytes as u64
            && (key.kind == FindingKind::SeekThenTransfer || tally.calls == calls as u64)
            && (!joined || tally.merged_calls == self.groups.len() as u64)
    }

    fn drop_seeks(&mut self, run: &[usize], program: &[Step], before: &Outcome) {
        for step in run {
            let (process, fd, ..) = before.users[step];
            let uses = |one: &&usize| {
                let (known, own) = (&program[**one], &program[*step]);
                let seeks = matches!(known.op, Op::Seek | Op::SeekOn | Op::SeekEnd);
                let user = before.users.get(*one).map(|user| (user.0, user.1));
                user == Some((process, fd)) || seeks && (known.thread, known.fd) == (own.thread, fd)
            };
            let place = before.order.iter().take_while(|one| *one != step).count();
            let last = before.order[..place].iter().rev().find(uses);
            if let Some(&last) = last.filter(|last| program[**last].op == Op::Seek) {
                self.dropped.insert(last);
                self.places.insert(*step, program[last].at);
            }
        }
    }

    pub(super) fn group_of(&self, step: usize) -> Option<(usize, &Vec<usize>)> {
        self.groups
            .iter()
            .enumerate()
            .find(|(_, group)| group.contains(&step))
    }

    pub(super) fn steps_of(&self, group: usize) -> &[usize] {
        &self.groups[group]
    }

    /// Whether the text says to flush the buffer on every way out. Some ways out lose the bytes in a buffer.
    pub(super) fn flushes_at_ends(&self) -> bool {
        self.text.contains(EVERY_END)
    }

    pub(super) fn keeps_records(&self) -> bool {
        self.text.contains("whole records")
    }

    pub(super) fn tells_of_kills(&self) -> bool {
        self.text
            .contains("A signal killed a process that wrote it")
    }

    pub(super) fn empties_before_poll(&self) -> bool {
        self.text.contains("Empty the buffer before poll")
    }

    /// Whether the text says to flush the buffer of the descriptor `buffered` before the call `step`.
    pub(super) fn is_written_before(&self, step: Turn, kernel: &Kernel, buffered: i32) -> bool {
        let process = step.process;
        let names = |barrier: Barrier| {
            let word = barrier.before(false);
            word.is_some_and(|word| self.text.contains(&format!(" {word} (")))
        };
        let calls = |of: fn(Call) -> Barrier, call| names(of(Call(call)));
        let any = |barriers: &[Barrier]| barriers.iter().any(|barrier| names(*barrier));
        let waits = self.text.contains("before waiting");
        let object = |fd: i32| kernel.object(process, fd);
        let is_stream = |fd: i32| matches!(object(fd), Some(Object::Stream(..)));
        let same = |fd: i32| kernel.key_of(process, fd) == kernel.key_of(process, buffered);
        let at = (step.op == Op::WriteAt).then_some(step.at);
        let overwrites = |fd: i32| kernel.overwrites(process, fd, at);
        let by_another = |fd: i32| {
            let file = kernel.file_of(process, fd);
            let is_same = file.is_some() && file == kernel.file_of(process, buffered);
            !same(fd) && is_same && names(Barrier::SameFile)
        };
        let reads = |fd: i32| {
            is_stream(fd) && (waits || names(Barrier::PeerRead))
                || same(fd) && names(Barrier::BothWays)
                || by_another(fd)
        };
        let writes = |fd: i32| {
            is_stream(fd) && !same(fd) && names(Barrier::OtherStream)
                || !same(fd) && overwrites(fd) && names(Barrier::InPlace)
                || same(fd) && names(Barrier::OtherForm)
                || same(fd) && fd != buffered && names(Barrier::TwoDescriptors)
                || by_another(fd)
        };
        let closes = |fd: i32| {
            fd == buffered && self.text.contains("close of the")
                || fd != buffered && is_stream(fd) && names(Barrier::StreamClosed)
        };
        let polls = names(Barrier::Polled);
        match step.op {
            Op::Read | Op::ReadAt => reads(step.fd) || polls,
            Op::Write | Op::WriteAt | Op::WriteList => writes(step.fd),
            Op::SendFile => reads(step.fd) || writes(step.other) || names(Barrier::OtherTransfer),
            Op::Poll => waits || calls(Barrier::Poll, "poll"),
            Op::Await | Op::Wake => waits || names(Barrier::Thread),
            Op::Wait => waits || names(Barrier::Child),
            Op::Fork => calls(Barrier::Process, "fork"),
            Op::Thread => calls(Barrier::Process, THREAD_START),
            Op::Execute => calls(Barrier::Process, "execve"),
            Op::Kill => names(Barrier::Signal),
            Op::Pause => names(Barrier::Gap),
            Op::Close => closes(step.fd),
            Op::Duplicate => closes(step.other),
            Op::Sync if same(step.fd) => names(Barrier::SyncOwn),
            Op::Sync => names(Barrier::SyncOther) || by_another(step.fd),
            Op::SyncAll => names(Barrier::SyncAll),
            Op::Stat => names(Barrier::Stat) || polls,
            Op::StatDescriptor => names(Barrier::Stat) || polls || by_another(step.fd),
            Op::OpenToRead | Op::Access => polls,
            Op::Rename => calls(Barrier::Names, "rename"),
            Op::Link => calls(Barrier::Names, "link"),
            Op::Unlink => calls(Barrier::Names, "unlink"),
            Op::OpenNew | Op::OpenBoth | Op::OpenToAppend => {
                polls || any(&[Barrier::Created, Barrier::SameFile])
            }
            Op::Truncate => calls(Barrier::Control, "truncate") || names(Barrier::SameFile),
            Op::TruncateDescriptor => calls(Barrier::Control, "ftruncate") || by_another(step.fd),
            Op::SeekOn if step.at == 0 => any(&[Barrier::Position, Barrier::Sought]),
            Op::Seek | Op::SeekOn => same(step.fd) && names(Barrier::Sought),
            Op::Tell => any(&[Barrier::Position, Barrier::Sought]),
            Op::SeekEnd if same(step.fd) && names(Barrier::Sought) => true,
            Op::SeekEnd => by_another(step.fd) || calls(Barrier::Size, "lseek(SEEK_END)"),
            _ => false,
        }
    }
}
