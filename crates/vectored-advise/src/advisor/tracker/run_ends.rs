//! Counts runs that ended.

use crate::advisor::fd_kind::FdKind;
use crate::advisor::findings::pattern_counts::RunOwner;
use crate::advisor::keys::{DescriptorId, ProcessId};
use crate::advisor::runs::barriers::Barrier;
use crate::advisor::runs::run::{Link, Mode};
use crate::advisor::tracker::{READS, Tracker, WRITES};
use crate::model::{FindingKind, Grade};

impl Tracker {
    pub(super) fn note_ends(&mut self, key: DescriptorId, direction: usize, link: Link) {
        let last = self.kernel.open_files[key].runs[direction].last;
        if last == 0 || last == self.event {
            return;
        }
        if direction == WRITES && link == Link::Broken {
            self.note_late_message(key);
        }
        let mut ends = self.find_ends(key, direction == READS);
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
        open_file.runs[direction].pending.note_ends(&ends);
    }

    /// Notes that a message went to standard error, a file, after the last write of a run. With a buffer, the write
    /// would come after the message.
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

    /// Notes the barriers since the transfers of a thread that ends. These may be the last transfers through the
    /// descriptors of the thread's process.
    pub(super) fn note_last_barriers(&mut self, number: u32) {
        let Some((thread, process)) = self.kernel.thread_of_number(number) else {
            return;
        };
        for (key, _) in self.kernel.open_files_of(process) {
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

    /// Ends the runs of one process. If another process keeps the open file description, that process may continue from
    /// the offset.
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
        let open_file = &self.kernel.open_files[key];
        let is_read = direction == READS;
        let buffer_bytes = self.options.buffer_bytes;
        // No call waits for the bytes of a file.
        let (most_bytes, max_delay_ns) = match open_file.kind {
            FdKind::File if is_read => (u64::MAX, u64::MAX),
            _ => (
                open_file.most_bytes(buffer_bytes),
                self.options.max_delay_ns,
            ),
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
        let open_file = &mut self.kernel.open_files[key];
        let user = open_file.runs[direction].last_caller;
        let pending = &mut open_file.runs[direction].pending;
        let ends = pending.take_ends();
        let Some((rows, (calls, bytes))) = pending.take() else {
            return;
        };
        let (is_read, is_file) = (direction == READS, open_file.kind == FdKind::File);
        if !is_read && open_file.kind.has_peer() {
            self.stream_writes.add(open_file.name(), calls);
        }
        if is_file && is_read {
            self.tallies.files.read(open_file.name());
        } else if is_file && bytes > 0 {
            self.tallies.files.write(open_file.name(), false);
        }
        let number = self.buffers.number(user.program, is_read, open_file);
        let Some(target) = open_file.kind.target() else {
            return;
        };
        let ended = self.kernel.ended.as_mut();
        let ended = ended.filter(|(id, _)| *id == user.process);
        let process = self.kernel.processes.get_mut(user.process);
        let mut process = process.or(ended.map(|(_, process)| process));
        let about = process.as_ref().map(|process| {
            let forked = process.was_forked && !process.has_executed;
            (process.runtime, process.killed && !is_read, forked)
        });
        let (runtime, killed, forked) = about.unwrap_or_default();
        let others_write = open_file.has_other_writers && !is_read;
        let mut group = self.groups.groups.get_mut(open_file.group);
        let listed = group.as_ref().and_then(|group| group.listed);
        let shared = if is_read { open_file.shared_reads } else { listed };
        let buffer = self.buffers.at(number);
        buffer.note_ends(&ends);
        buffer.killed |= killed;
        buffer.forked |= forked;
        buffer.others_write |= others_write;
        buffer.rule_out(shared);
        let (mut held_reads, mut counted) = (
            std::mem::take(&mut open_file.held),
            std::mem::take(&mut open_file.counted),
        );
        let owner = RunOwner {
            buffer: number,
            program: user.program,
            target,
            path: open_file.name(),
        };
        for mut row in rows {
            let tally = &mut row.tally;
            (tally.process, tally.runtime) = (user.process_number, runtime);
            (tally.killed, tally.forked, tally.others_write) = (killed, forked, others_write);
            let is_seek = row.kind == FindingKind::SeekThenTransfer;
            let may_share = row.grade == Grade::ReadsAhead || is_file && !row.is_positional;
            let reason = match () {
                () if !row.depends_on_others() => row.reason,
                () if row.is_positional && open_file.is_of_library => Some(Barrier::Library),
                () if is_seek && open_file.has_shared_offset => Some(Barrier::SharedOffset),
                () if is_seek && open_file.offset_is_used => Some(Barrier::OffsetUsed),
                () if !is_read || may_share => shared,
                () => None,
            };
            if row.reason != reason {
                (row.grade, row.reason) = (Grade::Crossing, reason);
            }
            let held = match &mut group {
                _ if !row.depends_on_others() => None,
                _ if is_read => may_share.then_some(&mut held_reads),
                group => group.as_mut().map(|group| &mut group.held),
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
        (open_file.held, open_file.counted) = (held_reads, counted);
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
            self.pattern_counts
                .settle(self.groups.leave(open_file.group));
        }
    }
}

/// The most closed files that are kept because they may be opened again.
const CLOSED_MAX: usize = 8;
