//! Tracks calls that move bytes.

use crate::advisor::descriptors::latest::Latest;
use crate::advisor::descriptors::open_file::OpenFile;
use crate::advisor::descriptors::same_file::Writer;
use crate::advisor::fd_kind::FdKind;
use crate::advisor::keys::{DescriptorId, GroupId, ThreadId};
use crate::advisor::runs::barriers::Barrier;
use crate::advisor::runs::pattern::{PatternStep, call_number, size_class};
use crate::advisor::runs::run::{Link, RunCall, add_counts};
use crate::advisor::runs::run_builder::CallingThread;
use crate::advisor::runs::tally::HeldFindings;
use crate::advisor::tracker::{READS, Tracker, WRITES};
use vectored_strace::event::{Descriptor, Direction, Event, Form, Transfer};

/// The most bytes that Linux moves in one call: `MAX_RW_COUNT`. A log with a larger call is wrong.
const TRANSFER_BYTES_MAX: u64 = 0x7fff_f000;

impl Tracker {
    #[inline(always)]
    pub(super) fn transfer(&mut self, event: &Event<'_>, transfer: &Transfer<'_>) {
        let bytes = transfer.result.unwrap_or(0);
        self.tallies.transfers += 1;
        self.tallies.bytes = self.tallies.bytes.saturating_add(bytes);
        if let Some(from) = transfer.from {
            self.copy_from(from);
        }
        let key = self.resolve(transfer.descriptor);
        let is_read = transfer.direction == Direction::Read;
        let direction = usize::from(is_read);
        self.note_user(key, transfer);
        let sites = &mut self.pattern_counts.sites;
        self.call.site = event.site.map_or(0, |site| sites.number(site));
        let written_before = self.kernel.threads[self.thread].filed_out;
        self.note_effect(key, transfer);
        let thread = &mut self.kernel.threads[self.thread];
        let open_file = &mut self.kernel.open_files[key];
        let makes_no_runs =
            open_file.kind.target().is_none() || is_read && open_file.kind == FdKind::Datagram;
        if makes_no_runs {
            self.own(key, direction);
            let runs = &mut self.kernel.open_files[key].runs[direction];
            return runs.pending.note(bytes);
        }
        let sought = move_position(open_file, transfer);
        // A transfer in the other direction observes this transfer, or begins at the offset where this transfer ended.
        let other = &mut open_file.runs[1 - direction];
        if open_file.kind == FdKind::File {
            other.cross_by(self.event, self.thread, Barrier::BothWays);
        } else if is_read && other.last_caller.thread != self.thread {
            // The writer may go on because another thread read a message.
            other.cross(self.event, Barrier::ReadElsewhere);
        }
        let shape = describe(event, transfer, open_file.kind, &mut self.call);
        self.call.deflate(thread.delayed_ns);
        let (group, is_tcp) = (open_file.group, open_file.kind == FdKind::Tcp);
        if shape == Shape::Unusable {
            if !is_read && transfer.result.is_ok() {
                open_file.runs[WRITES].cross(self.event, Barrier::OtherForm);
            }
            self.end_runs(key, direction);
            self.own(key, direction);
        } else {
            self.go_on((key, direction), transfer, sought, &written_before);
            if shape == Shape::Short {
                self.end_runs(key, direction);
            }
        }
        let runs = &mut self.kernel.open_files[key].runs[direction];
        runs.pending.note(bytes);
        self.groups
            .note(group, self.event, key, self.thread, is_read);
        if is_tcp {
            self.exchange(event, transfer, key);
        }
    }

    /// Notes what the transfer means for the thread's runs of other open file descriptions. A read of a file may be a
    /// wait if it reads the same place again, or if another thread or process writes the file.
    #[inline(always)]
    fn note_effect(&mut self, key: DescriptorId, transfer: &Transfer<'_>) {
        let event = self.event;
        let thread = &mut self.kernel.threads[self.thread];
        let open_file = &mut self.kernel.open_files[key];
        let is_read = transfer.direction == Direction::Read;
        let kind = open_file.kind;
        if kind.has_peer() || open_file.may_be_fifo || kind == FdKind::Datagram && !is_read {
            let reason = if is_read { Barrier::PeerRead } else { Barrier::OtherStream };
            thread.note(event, reason, key, is_read);
        }
        if transfer.form == Form::Opaque {
            thread.note(event, Barrier::Moved, DescriptorId::NONE, true);
        } else if kind == FdKind::Other || kind == FdKind::Datagram && is_read {
            thread.note(event, Barrier::OtherTransfer, DescriptorId::NONE, is_read);
        }
        if kind != FdKind::File {
            return;
        }
        let from = transfer.offset.or(open_file.position);
        let end = match (from, transfer.result) {
            (Some(from), Ok(bytes @ 1..)) => from.saturating_add(bytes),
            _ => 0,
        };
        let group = &mut self.groups.groups[open_file.group];
        // With `O_APPEND` each write goes to the end.
        let grows = end > 0 && (is_read || !open_file.flags.append);
        let end_before = if grows { group.reach(end) } else { 0 };
        if !is_read {
            thread.filed_out.note(event, key);
            // A thread that reads what it wrote does not wait for another thread.
            open_file.read_from = None;
            if from.is_some_and(|from| from < end_before) {
                thread.note(event, Barrier::InPlace, key, false);
            }
            return;
        }
        let again = from.is_some() && std::mem::replace(&mut open_file.read_from, from) == from;
        if again || group.is_written_by_others(self.thread) {
            thread.note(event, Barrier::Polled, key, true);
        }
    }

    #[inline(always)]
    fn note_user(&mut self, key: DescriptorId, transfer: &Transfer<'_>) {
        let is_read = transfer.direction == Direction::Read;
        let open_file = &mut self.kernel.open_files[key];
        let last_caller = open_file.runs[usize::from(is_read)].last_caller;
        if transfer.descriptor.number >= 0 && last_caller.thread == ThreadId::NONE {
            // A program may close the first descriptor, and use a duplicate.
            open_file.number = transfer.descriptor.number;
        }
        let uses_offset = transfer.offset.is_none() && (is_read || !open_file.flags.append);
        if uses_offset && open_file.offset_user != self.thread {
            open_file.has_shared_offset |= open_file.offset_user != ThreadId::NONE;
            open_file.offset_user = self.thread;
        }
        let (group, kind) = (open_file.group, open_file.kind);
        if is_read {
            if transfer.offset.is_none() && open_file.reader != self.thread {
                self.note_reader(key, self.thread);
                self.note_drain(key);
            }
        } else if !self.groups.note_write(group, self.event, self.thread) {
            self.note_writer(key);
        }
        if transfer.addressed && kind.is_socket() {
            self.pass_descriptors(key, is_read);
        }
    }

    #[inline(always)]
    fn go_on(
        &mut self,
        (key, direction): (DescriptorId, usize),
        transfer: &Transfer<'_>,
        sought: u64,
        written_before: &Latest<DescriptorId>,
    ) {
        let link = self.link(key, transfer, sought);
        let last_call = self.kernel.threads[self.thread].last;
        let open_file = &mut self.kernel.open_files[key];
        let (group, has_peer) = (open_file.group, open_file.kind.has_peer());
        let runs = &mut open_file.runs[direction];
        let last = runs.last;
        let has_between = match link {
            Link::Joined => last_call != last,
            Link::Sought => last_call != sought,
            _ => false,
        };
        if direction == WRITES && runs.is_positional != transfer.offset.is_some() {
            runs.cross(self.event, Barrier::OtherForm);
        }
        if !runs.goes_on_with(link, self.call.site) {
            self.note_ends(key, direction, link);
        }
        let mode = self.mode(key, direction);
        let runs = &mut self.kernel.open_files[key].runs[direction];
        runs.push(link, has_between, &self.call, mode);
        self.own(key, direction);
        let runs = &mut self.kernel.open_files[key].runs[direction];
        runs.last = self.event;
        runs.ended_ns = self.call.ended_ns;
        runs.is_positional = transfer.offset.is_some();
        runs.number = transfer.descriptor.number;
        runs.has_more = transfer.more;
        let asked = transfer.asked_bytes.unwrap_or(0);
        runs.is_large = direction == READS && asked >= self.options.buffer_bytes;
        runs.next_offset = transfer.offset.unwrap_or(0).saturating_add(self.call.bytes);
        runs.barrier = None;
        runs.barriers.clear();
        let is_joined = link == Link::Joined && direction == WRITES;
        for (event, other) in written_before.each_of_others(key) {
            if !is_joined || event <= last {
                continue;
            }
            self.note_order(key, other);
            let seen = &self.groups.groups[self.kernel.open_files[other].group].looked_at;
            if has_peer && seen.by_others(self.thread) > last {
                self.list_writes(key, group, Barrier::Announced);
            }
        }
        if link == Link::Barrier(Barrier::Observed) {
            self.list_writes(key, group, Barrier::Observed);
        }
    }

    /// Sets the thread that continues with an open file description. Before that, counts the calls that another process
    /// or program made through the description.
    #[inline(always)]
    fn own(&mut self, key: DescriptorId, direction: usize) {
        let before = self.kernel.open_files[key].runs[direction].last_caller;
        if before.thread == self.thread {
            return;
        }
        let process = &self.kernel.processes[self.process];
        let new = CallingThread {
            thread: self.thread,
            process: self.process,
            process_number: process.number,
            program: process.program,
        };
        if (before.process, before.program) != (new.process, new.program) {
            self.flush(key, direction);
        }
        self.kernel.open_files[key].runs[direction].last_caller = new;
    }

    fn copy_from(&mut self, from: Descriptor<'_>) {
        let key = self.resolve(from);
        if self.kernel.open_files[key].reader != self.thread {
            self.note_reader(key, self.thread);
        }
        self.end_runs(key, READS);
        self.share_reads(key, Barrier::Spliced);
        let thread = &mut self.kernel.threads[self.thread];
        let open_file = &mut self.kernel.open_files[key];
        open_file.position = None;
        open_file.use_offset();
        (open_file.sought, open_file.is_placed) = (0, false);
        let (kind, group) = (open_file.kind, open_file.group);
        let writes = &mut open_file.runs[WRITES];
        if kind == FdKind::File {
            writes.cross_by(self.event, self.thread, Barrier::BothWays);
        } else if writes.last_caller.thread != self.thread {
            writes.cross(self.event, Barrier::ReadElsewhere);
        }
        self.groups.note(group, self.event, key, self.thread, true);
        if kind.has_peer() {
            thread.note(self.event, Barrier::PeerRead, key, true);
            self.note_drain(key);
        }
    }

    /// Notes that a process reads a pipe or socket. If the process also wrote the bytes, each write wakes one of the
    /// process's threads.
    fn note_drain(&mut self, key: DescriptorId) {
        let open_file = &self.kernel.open_files[key];
        let is_pipe = open_file.kind == FdKind::Pipe;
        if is_pipe || open_file.kind == FdKind::Unix {
            let group = open_file.group;
            let written = self.groups.note_drain(group, is_pipe, self.process);
            self.list_writes(key, written.unwrap_or_default(), Barrier::WakeUp);
        }
    }

    pub(super) fn note_order(&mut self, key: DescriptorId, other: DescriptorId) {
        let name = self.kernel.open_files[other].name().to_vec();
        self.kernel.open_files[key].runs[WRITES].note_order(&name);
    }

    /// Notes the thread that reads from a stream, or at the offset of a file. If there is a second reader, all reads
    /// are listed.
    pub(super) fn note_reader(&mut self, key: DescriptorId, thread: ThreadId) {
        let open_file = &mut self.kernel.open_files[key];
        let Some(reason) = open_file.second_reader() else {
            return;
        };
        if open_file.reader != ThreadId::NONE {
            return self.share_reads(key, reason);
        }
        open_file.reader = thread;
        let group = open_file.group;
        if reason == Barrier::OtherReaders
            && let Some(first) = self.groups.note_reader(group, key)
        {
            // Another process passed the stream on, or `/dev/fd/3` opened it again.
            if self.kernel.open_files[first].group == group {
                self.share_reads(first, reason);
            }
            self.share_reads(key, reason);
        }
    }

    pub(super) fn share_reads(&mut self, key: DescriptorId, reason: Barrier) {
        let open_file = &mut self.kernel.open_files[key];
        if open_file.shared_reads.is_some() {
            return;
        }
        open_file.shared_reads = Some(reason);
        let held = std::mem::take(&mut open_file.held);
        self.list(key, READS, held, reason);
    }

    /// Notes that a message may have carried descriptors (`SCM_RIGHTS`). The numbers of these descriptors are not
    /// tracked.
    #[cold]
    fn pass_descriptors(&mut self, key: DescriptorId, is_read: bool) {
        if is_read {
            return self.share_reads(key, Barrier::ControlData);
        }
        for (other, _) in self.kernel.open_files_of(self.process) {
            let open_file = &self.kernel.open_files[other];
            let is_read = other != key && open_file.reader != ThreadId::NONE;
            if let Some(reason) = open_file.second_reader().filter(|_| is_read) {
                self.share_reads(other, reason);
            }
        }
    }

    pub(super) fn note_writer(&mut self, key: DescriptorId) {
        let processes = &self.kernel.processes;
        let new = Writer {
            thread: self.thread,
            process: self.process,
            number: processes[self.process].number,
            last: self.event,
        };
        let is_over = |writer: &Writer| {
            processes.get(writer.process).is_none() && self.awaited.contains(&writer.number)
        };
        let has_flushed = |writer: &Writer| {
            writer.process != self.process && processes[writer.process].forked > writer.last
        };
        let group = self.kernel.open_files[key].group;
        let reason = self.groups.add_writer(group, new, is_over, has_flushed);
        if let Some(reason) = reason {
            self.list_writes(key, group, reason);
        }
    }

    #[cold]
    fn list_writes(&mut self, key: DescriptorId, group: GroupId, reason: Barrier) {
        if let Some(held) = self.groups.list(group, reason) {
            self.list(key, WRITES, held, reason);
        }
    }

    pub(super) fn list(
        &mut self,
        key: DescriptorId,
        direction: usize,
        held: HeldFindings,
        reason: Barrier,
    ) {
        let open_file = &mut self.kernel.open_files[key];
        let user = open_file.runs[direction].last_caller;
        let number = self
            .buffers
            .number(user.program, direction == READS, open_file);
        self.buffers.at(number).rule_out(Some(reason));
        self.pattern_counts.list(held, reason, |found| {
            let process = self.kernel.processes.get_mut(user.process);
            let is_opening = open_file.counted.insert(found);
            let is_process = process.map_or(is_opening, |process| process.counted.insert(found));
            (is_process, is_opening)
        });
    }
}

/// If a transfer has no offset, moves the offset of the open file description. Returns the event of the seek before the
/// transfer; 0 without a seek.
#[inline(always)]
fn move_position(open_file: &mut OpenFile, transfer: &Transfer<'_>) -> u64 {
    let sought = open_file.sought;
    if transfer.offset.is_none() {
        let is_read = transfer.direction == Direction::Read;
        open_file.use_offset();
        open_file.was_sought |= sought != 0 || open_file.is_placed;
        (open_file.sought, open_file.is_placed) = (0, false);
        open_file.position = match (open_file.position, transfer.result) {
            // An opaque call may have an offset as an argument.
            _ if transfer.form == Form::Opaque => None,
            (Some(position), Ok(bytes)) if is_read || !open_file.flags.append => {
                Some(position.saturating_add(bytes))
            }
            (Some(position), Err(_)) => Some(position),
            _ => None,
        };
    }
    sought
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Whole,
    Short,
    /// The transfer moved nothing, failed, or is no plain transfer.
    Unusable,
}

#[inline(always)]
fn describe(event: &Event<'_>, transfer: &Transfer<'_>, kind: FdKind, call: &mut RunCall) -> Shape {
    let (Ok(bytes), Some(segments)) = (transfer.result, transfer.segment_bytes) else {
        return Shape::Unusable;
    };
    let is_addressed = transfer.addressed && kind != FdKind::Datagram;
    let is_odd = transfer.special || is_addressed || transfer.form == Form::Opaque;
    if is_odd || bytes == 0 || bytes > TRANSFER_BYTES_MAX {
        return Shape::Unusable;
    }
    call.step = PatternStep {
        call: call_number(event.name),
        size_class: size_class(bytes),
    };
    call.descriptor = transfer.descriptor.number;
    call.bytes = bytes;
    call.is_list = transfer.form == Form::List;
    call.began_ns = event.began_ns.unwrap_or(0);
    call.ended_ns = call.began_ns.saturating_add(event.took_ns.unwrap_or(0));
    call.segments = 0;
    call.sizes.clear();
    let mut left = bytes;
    for &segment in segments {
        let moved = segment.min(left);
        left -= moved;
        if moved > 0 {
            call.segments += 1;
            add_counts(&mut call.sizes, &[(size_class(moved), 1, moved)]);
        }
    }
    match transfer.asked_bytes.unwrap_or(0).cmp(&bytes) {
        std::cmp::Ordering::Greater => Shape::Short,
        std::cmp::Ordering::Equal => Shape::Whole,
        // A call that moved more than it asked for shows that the log is wrong.
        std::cmp::Ordering::Less => Shape::Unusable,
    }
}
