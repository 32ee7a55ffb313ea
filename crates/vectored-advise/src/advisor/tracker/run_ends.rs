//! Counts runs that ended.

use crate::advisor::descriptors::fd_kind::FdKind;
use crate::advisor::descriptors::kernel_tables::{KernelTables, Process};
use crate::advisor::descriptors::keys::{DescriptorId, ProcessId};
use crate::advisor::descriptors::open_file::OpenFile;
use crate::advisor::descriptors::same_file::FileGroups;
use crate::advisor::findings::pattern_counts::RunOwner;
use crate::advisor::findings::row::Row;
use crate::advisor::options::Options;
use crate::advisor::runs::barriers::Barrier;
use crate::advisor::runs::run::Mode;
use crate::advisor::runs::run_builder::Link;
use crate::advisor::tracker::{READS, Tracker, WRITES};
use crate::model::{FindingKind, Grade, Tally};

impl Tracker {
    pub(super) fn note_ends(&mut self, key: DescriptorId, direction: usize, link: Link) {
        let last = self.kernel.open_files[key].runs[direction].last;
        if last == 0 || last == self.event {
            return;
        }
        if direction == WRITES && link == Link::Broken {
            self.note_late_message(key);
        }
        self.find_ends(key, direction == READS);
        let ends = &mut self.ends.0;
        let by_link = match link {
            Link::Barrier(reason) => Some(reason),
            Link::Sought => Some(Barrier::Sought),
            Link::Joined | Link::Broken => None,
        };
        let is_new =
            |reason: &Barrier| ends.is_empty() || reason.is_elsewhere() && !ends.contains(reason);
        let by_link = by_link.filter(is_new);
        ends.extend(by_link);
        let open_file = &mut self.kernel.open_files[key];
        open_file.runs[direction].pending.note_ends(ends);
    }

    /// Notes that a message went to standard error, which is a file, after the last write of a run: a buffer would be
    /// written after the message.
    fn note_late_message(&mut self, key: DescriptorId) {
        let open_file = &self.kernel.open_files[key];
        let runs = &open_file.runs[WRITES];
        let thread = &self.kernel.threads[runs.last_caller.thread];
        let (event, other) = thread.filed_out.of_others(key);
        let is_late = event > runs.last;
        if is_late && self.kernel.open_file_of(runs.last_caller.process, 2) == Some(other) {
            self.note_order(key, other);
        }
    }

    /// Notes the barriers since the transfers of a thread that ends: these may be the last transfers through what its
    /// process has open.
    pub(super) fn note_last_barriers(&mut self, number: u32) {
        let Some((thread, process)) = self.kernel.thread_of_number(number) else {
            return;
        };
        for key in self.kernel.open_files_of(process) {
            for direction in [WRITES, READS] {
                let runs = &self.kernel.open_files[key].runs[direction];
                if runs.last == 0 || runs.last_caller.thread != thread {
                    continue;
                }
                self.note_ends(key, direction, Link::Broken);
                let open_file = &mut self.kernel.open_files[key];
                open_file.runs[direction].last = 0;
            }
        }
    }

    pub(super) fn end_runs(&mut self, key: DescriptorId, direction: usize) {
        self.note_ends(key, direction, Link::Broken);
        let mode = self.mode(key, direction);
        self.kernel.open_files[key].runs[direction].end(mode);
    }

    pub(super) fn end_all_runs(&mut self, key: DescriptorId) {
        self.end_runs(key, WRITES);
        self.end_runs(key, READS);
    }

    /// Ends the runs of one process. If another process keeps the open file description, it may go on from its offset.
    pub(super) fn end_runs_of_process(
        &mut self,
        key: DescriptorId,
        process: ProcessId,
        is_kept: bool,
    ) {
        for direction in [WRITES, READS] {
            let open_file = &mut self.kernel.open_files[key];
            if open_file.runs[direction].last_caller.process == process {
                open_file.has_shared_offset |= is_kept;
                self.end_runs(key, direction);
                self.flush(key, direction);
            }
        }
    }

    pub(super) fn mode(&self, key: DescriptorId, direction: usize) -> Mode {
        let Options {
            buffer_bytes,
            max_delay_ns,
            ..
        } = self.options;
        let open_file = &self.kernel.open_files[key];
        let is_read = direction == READS;
        // The bytes of a file wait for no call.
        let (most_bytes, max_delay_ns) = match open_file.kind {
            FdKind::File if is_read => (u64::MAX, u64::MAX),
            _ => (open_file.most_bytes(buffer_bytes), max_delay_ns),
        };
        Mode {
            is_read,
            is_positional: open_file.runs[direction].is_positional,
            kind: open_file.kind,
            buffer_bytes,
            most_bytes,
            max_delay_ns,
        }
    }

    pub(super) fn flush(&mut self, key: DescriptorId, direction: usize) {
        let KernelTables {
            open_files,
            processes,
            ended,
            ..
        } = &mut self.kernel;
        let open_file = &mut open_files[key];
        let user = open_file.runs[direction].last_caller;
        let pending = &mut open_file.runs[direction].pending;
        let ends = pending.take_ends();
        let Some((mut rows, calls)) = pending.take() else {
            return;
        };
        let groups = &mut self.groups;
        for row in rows.iter_mut().filter(|row| row.depends_on_others()) {
            let shared = shared_by_others(row, open_file, groups);
            if shared.is_some() {
                row.grade = Grade::Crossing;
                row.reason = shared;
            }
        }
        let is_read = direction == READS;
        if !is_read && open_file.kind.has_peer() {
            self.stream_writes.add(open_file.name(), calls.calls);
        }
        let number = self.buffers.number(user.program, is_read, open_file);
        let program = self.pattern_counts.program_name(user.program);
        let used = self.uses.add(open_file, is_read, program, &calls);
        let Some(target) = open_file.kind.target() else {
            return;
        };
        let OpenFile {
            text,
            path,
            counted,
            held,
            ..
        } = open_file;
        let name = if text.is_empty() { path } else { text };
        let ended = ended.as_mut().filter(|(id, _)| *id == user.process);
        let mut process = processes
            .get_mut(user.process)
            .or(ended.map(|(_, process)| process));
        let owner = RunOwner {
            buffer: number,
            used,
            program: user.program,
            target,
            path: name,
        };
        let runtime = process.as_ref().and_then(|process| process.runtime);
        let killed = process.as_ref().is_some_and(|process| process.killed) && !is_read;
        let is_forked = |process: &&mut Process| process.was_forked && !process.has_executed;
        let forked = process.as_ref().is_some_and(is_forked);
        let others_write = open_file.has_other_writers && !is_read;
        let buffer = self.buffers.at(number);
        buffer.note_ends(&ends);
        buffer.killed |= killed;
        buffer.forked |= forked;
        buffer.others_write |= others_write;
        let shared = if is_read {
            open_file.shared_reads
        } else {
            groups.groups[open_file.group].listed
        };
        buffer.rule_out(shared);
        for row in rows {
            let tally = Tally {
                process: user.process_number,
                runtime,
                killed,
                forked,
                others_write,
                ..row.tally
            };
            let row = Row { tally, ..row };
            let held_reads = row.grade == Grade::ReadsAhead
                || open_file.kind == FdKind::File && !row.is_positional;
            let held = match direction {
                _ if !row.depends_on_others() => None,
                WRITES => {
                    let group = groups.groups.get_mut(open_file.group);
                    let group = group.filter(|group| group.listed.is_none());
                    group.map(|group| &mut group.held)
                }
                _ => held_reads.then_some(&mut *held),
            };
            self.pattern_counts.add(row, &owner, held, |place| {
                let is_opening = counted.insert(place);
                let is_process = match &mut process {
                    Some(process) => process.counted.insert(place) && process.is_counted,
                    None => is_opening,
                };
                (is_process, is_opening)
            });
        }
    }

    pub(super) fn flush_both(&mut self, key: DescriptorId) {
        self.flush(key, WRITES);
        self.flush(key, READS);
    }

    pub(super) fn settle_reads(&mut self, key: DescriptorId) {
        self.flush_both(key);
        let open_file = &mut self.kernel.open_files[key];
        let held = std::mem::take(&mut open_file.held);
        match open_file.shared_reads {
            Some(reason) => self.list(key, READS, held, reason),
            None => self.pattern_counts.settle(held),
        }
    }

    pub(super) fn settle_dropped(&mut self) {
        while let Some(dropped) = self.kernel.dropped.pop() {
            if dropped.is_closed {
                self.close_open_file(dropped.open_file);
            } else {
                self.end_runs_of_process(dropped.open_file, dropped.process, true);
            }
        }
    }

    fn close_open_file(&mut self, key: DescriptorId) {
        let open_file = &self.kernel.open_files[key];
        let is_log = open_file.kind == FdKind::File && open_file.flags.append;
        if !is_log || !open_file.runs[WRITES].is_single() {
            return self.forget(key);
        }
        self.end_runs(key, READS);
        if self.closed.len() >= CLOSED_MAX
            && let Some(oldest) = self.closed.pop_front()
        {
            self.forget(oldest);
        }
        self.closed.push_back(key);
    }

    pub(super) fn forget(&mut self, key: DescriptorId) {
        self.end_all_runs(key);
        self.settle_reads(key);
        if let Some(open_file) = self.kernel.open_files.try_remove(key) {
            let held = self.groups.leave(open_file.group);
            self.pattern_counts.settle(held.unwrap_or_default());
        }
    }
}

/// Closed files that are kept because they may be opened again.
const CLOSED_MAX: usize = 8;

/// Why the calls of a row cannot be merged: other descriptors read from, write to or seek in the same open file.
fn shared_by_others(row: &Row, open_file: &OpenFile, groups: &FileGroups) -> Option<Barrier> {
    if row.is_positional && open_file.is_of_library {
        Some(Barrier::Library)
    } else if row.kind == FindingKind::SeekThenTransfer && open_file.has_shared_offset {
        Some(Barrier::SharedOffset)
    } else if row.kind == FindingKind::SeekThenTransfer && open_file.offset_is_used {
        Some(Barrier::OffsetUsed)
    } else if !row.is_read {
        groups.groups[open_file.group].listed
    } else if row.grade == Grade::ReadsAhead || open_file.kind == FdKind::File && !row.is_positional
    {
        open_file.shared_reads
    } else {
        None
    }
}
