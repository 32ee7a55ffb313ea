//! Tracks calls that move bytes.

use crate::advisor::descriptors::fd_kind::FdKind;
use crate::advisor::descriptors::kernel_tables::{KernelTables, process_at};
use crate::advisor::descriptors::keys::{DescriptorId, Serial};
use crate::advisor::descriptors::latest::Latest;
use crate::advisor::descriptors::open_file::OpenFile;
use crate::advisor::descriptors::same_file::Writer;
use crate::advisor::descriptors::thread::Thread;
use crate::advisor::findings::held::HeldFindings;
use crate::advisor::runs::barriers::Barrier;
use crate::advisor::runs::pattern::{PatternStep, call_number, size_class};
use crate::advisor::runs::run::RunCall;
use crate::advisor::runs::run_builder::{CallingThread, Link};
use crate::advisor::tracker::links::LinkContext;
use crate::advisor::tracker::{Caller, READS, Tracker, WRITES};
use vectored_strace::event::{Descriptor, Direction, Event, Form, Transfer};

/// The most that Linux moves in one call: `MAX_RW_COUNT`. A log with more is wrong.
const TRANSFER_BYTES_MAX: u64 = 0x7fff_f000;

impl Tracker {
    #[inline(always)]
    pub(super) fn transfer(&mut self, event: &Event<'_>, transfer: &Transfer<'_>, caller: Caller) {
        self.count(transfer);
        if let Some(from) = transfer.from {
            self.copy_from(from, caller);
        }
        let key = self.resolve(transfer.descriptor, caller);
        let Some(user) = self.note_user(key, transfer, caller) else {
            return;
        };
        let site = match event.site {
            Some(_) => self.pattern_counts.site(event.site),
            None => 0,
        };
        let is_read = transfer.direction == Direction::Read;
        let direction = usize::from(is_read);
        self.note_effect(key, transfer, caller);
        let (thread, open_file) = self.kernel.both(caller.thread, key);
        let makes_no_runs =
            open_file.kind.target().is_none() || is_read && open_file.kind == FdKind::Datagram;
        if makes_no_runs {
            if user.is_new {
                self.own(key, direction, user.thread);
            }
            return self.note_use(key, direction, transfer);
        }
        let sought = move_position(open_file, transfer);
        observe_other_direction(self.event, open_file, is_read, thread.serial);
        let shape = describe(event, transfer, open_file.kind, &mut self.call);
        self.call.deflate(thread.delayed_ns);
        let (group, is_tcp) = (open_file.group, open_file.kind == FdKind::Tcp);
        let serial = thread.serial;
        if shape == Shape::Unusable {
            self.interrupt_runs(key, transfer, user);
        } else {
            self.go_on((key, direction), transfer, caller, user, site, sought);
            if shape == Shape::Short {
                self.end_runs(key, direction);
            }
        }
        self.note_use(key, direction, transfer);
        self.groups.note(group, self.event, key, serial, is_read);
        if is_tcp {
            self.exchange(event, transfer, key, caller, site);
        }
    }

    fn count(&mut self, transfer: &Transfer<'_>) {
        self.transfers += 1;
        if let Ok(bytes) = transfer.result {
            self.bytes = self.bytes.saturating_add(bytes);
        }
    }

    /// Notes what the transfer means for the thread's runs of other open file descriptions. A file that is read again from the
    /// same place, or that another thread or process writes, may be waited for.
    #[inline(always)]
    fn note_effect(&mut self, key: DescriptorId, transfer: &Transfer<'_>, caller: Caller) {
        let (thread, open_file) = self.kernel.both(caller.thread, key);
        let may_have_peer = open_file.kind.has_peer() || open_file.may_be_fifo;
        let kind = (open_file.kind, may_have_peer);
        effect_of_transfer(self.event, key, kind, transfer, thread);
        if transfer.direction == Direction::Write {
            // A thread that reads what it wrote does not wait for another one.
            open_file.read_from = None;
        }
        let from = transfer.offset.or(open_file.position);
        if open_file.kind != FdKind::File {
            return;
        }
        let group = open_file.group;
        let end = match (from, transfer.result) {
            (Some(from), Ok(bytes @ 1..)) => from.saturating_add(bytes),
            _ => 0,
        };
        // With `O_APPEND` each write goes to the end.
        let grows = end > 0 && !(open_file.flags.append && transfer.direction == Direction::Write);
        let end_before = if grows { self.groups.reach(group, end) } else { 0 };
        if transfer.direction == Direction::Write {
            if from.is_some_and(|from| from < end_before) {
                thread.placed_out.note(self.event, key);
                thread.note(self.event, Barrier::InPlace, (key, false));
            }
            return;
        }
        let again = from.is_some() && std::mem::replace(&mut open_file.read_from, from) == from;
        if again || self.groups.get(group).is_written_by_others(thread.serial) {
            thread.polled_in.note(self.event, key);
            thread.note(self.event, Barrier::Polled, (key, true));
        }
    }

    /// Ends the runs of a direction by a transfer that can be in none.
    fn interrupt_runs(&mut self, key: DescriptorId, transfer: &Transfer<'_>, user: User) {
        let is_read = transfer.direction == Direction::Read;
        if !is_read && transfer.result.is_ok() {
            let writes = &mut self.kernel.open_files[key].runs[WRITES];
            writes.cross(self.event, Barrier::OtherForm);
        }
        self.end_runs(key, usize::from(is_read));
        if user.is_new {
            self.own(key, usize::from(is_read), user.thread);
        }
    }

    /// Notes which thread uses an open file description.
    #[inline(always)]
    fn note_user(
        &mut self,
        key: DescriptorId,
        transfer: &Transfer<'_>,
        caller: Caller,
    ) -> Option<User> {
        let is_read = transfer.direction == Direction::Read;
        let (thread, open_file) = self.kernel.both(caller.thread, key);
        let serial = thread.serial;
        let written_before = thread.filed_out;
        let is_first = open_file.runs[usize::from(is_read)].last_caller.thread == Serial::NONE;
        if transfer.descriptor.number >= 0 && is_first {
            // A program may use a duplicate and close it.
            open_file.number = transfer.descriptor.number;
        }
        let is_new = open_file.runs[usize::from(is_read)].last_caller.thread != serial;
        let group = open_file.group;
        let kind = open_file.kind;
        let uses_offset = transfer.offset.is_none() && (is_read || !open_file.flags.append);
        if uses_offset && open_file.offset_user != serial {
            open_file.has_shared_offset |= open_file.offset_user != Serial::NONE;
            open_file.offset_user = serial;
        }
        if is_read {
            if transfer.offset.is_none() && open_file.reader != serial {
                self.note_reader(key, serial);
                self.note_drain(key, caller);
            }
        } else if !self.groups.note_write(group, self.event, serial) {
            self.note_writer(key, caller);
        }
        if transfer.addressed && kind.is_socket() {
            self.pass_descriptors(key, is_read, caller);
        }
        let thread = if is_new {
            self.calling_thread(caller, serial)
        } else {
            CallingThread::default()
        };
        Some(User {
            is_new,
            thread,
            written_before,
        })
    }

    /// Adds a transfer to the run before it, or begins one.
    #[inline(always)]
    fn go_on(
        &mut self,
        (key, direction): (DescriptorId, usize),
        transfer: &Transfer<'_>,
        caller: Caller,
        user: User,
        site: u32,
        sought: u64,
    ) {
        let is_read = transfer.direction == Direction::Read;
        let submitted = if self.submitted.is_empty() {
            0
        } else {
            self.submitted.get(&caller.process).copied().unwrap_or(0)
        };
        let number = transfer.descriptor.number;
        let before = &self.kernel.open_files[key].runs[direction];
        let has_forked = self.forked > before.last;
        let process = has_forked.then(|| self.kernel.process(caller.process));
        let forked = process.flatten().map_or(0, |process| process.forked);
        let before = before.number;
        let takes_turns =
            before != number && self.kernel.open_file_of(caller.process, before) == Some(key);
        let (thread, open_file) = self.kernel.both(caller.thread, key);
        let surroundings = LinkContext {
            takes_turns,
            thread,
            program: if user.is_new {
                user.thread.program
            } else {
                open_file.runs[direction].last_caller.program
            },
            submitted,
            lost: self.lost,
            forked,
            looked_at: self.looked_at,
            synced: self.synced.by_others(thread.serial),
            groups: &self.groups,
            call: &self.call,
            limits: self.limits,
            max_delay_ns: self.max_delay_ns,
        };
        let link = surroundings.link(key, open_file, transfer, sought);
        let (between, other) = user.written_before.of_others(key);
        let last = open_file.runs[direction].last;
        let in_turn = !is_read && last != 0 && between > last;
        let (has_peer, serial) = (open_file.kind.has_peer(), thread.serial);
        let most_bytes = open_file.most_bytes(self.limits.buffer_bytes);
        let limits = self
            .limits
            .of(is_read, open_file.kind == FdKind::File, most_bytes);
        let group = self.kernel.open_files[other].group;
        let is_announced =
            in_turn && has_peer && self.groups.get(group).looked_at.by_others(serial) > last;
        let link = match link {
            Link::Barrier(Barrier::InPlace) if is_announced => Link::Joined { has_between: true },
            link => link,
        };
        let open_file = &mut self.kernel.open_files[key];
        let runs = &mut open_file.runs[direction];
        if !is_read && runs.is_positional != transfer.offset.is_some() {
            runs.cross(self.event, Barrier::OtherForm);
        }
        if !runs.goes_on_with(link, &self.call, site, limits) {
            self.push(key, direction, link, site);
        }
        if user.is_new {
            self.own(key, direction, user.thread);
        }
        self.end_call(key, direction, transfer);
        if in_turn && matches!(link, Link::Joined { .. }) {
            for (event, other) in user.written_before.each_of_others(key) {
                if event > last {
                    self.note_order(key, other);
                }
            }
            if is_announced {
                self.list_writes(key, Barrier::Announced);
            }
        }
        if matches!(link, Link::Barrier(Barrier::Observed)) {
            self.list_writes(key, Barrier::Observed);
        }
    }

    /// Notes what the next transfer of this direction is compared with.
    #[inline(always)]
    fn end_call(&mut self, key: DescriptorId, direction: usize, transfer: &Transfer<'_>) {
        let open_file = &mut self.kernel.open_files[key];
        let runs = &mut open_file.runs[direction];
        runs.last = self.event;
        runs.ended_ns = self.call.ended_ns;
        runs.is_positional = transfer.offset.is_some();
        runs.number = transfer.descriptor.number;
        runs.has_more = transfer.more;
        let is_read = transfer.direction == Direction::Read;
        runs.is_large = is_read && transfer.asked_bytes.unwrap_or(0) >= self.limits.buffer_bytes;
        runs.next_offset = transfer.offset.unwrap_or(0).saturating_add(self.call.bytes);
        runs.barrier = None;
        runs.barriers.clear();
    }

    #[inline(always)]
    fn note_use(&mut self, key: DescriptorId, direction: usize, transfer: &Transfer<'_>) {
        let open_file = &mut self.kernel.open_files[key];
        open_file.pending[direction].note(transfer, self.limits.buffer_bytes);
    }

    /// Sets the thread that goes on with an open file description. Calls that another process or program made through
    /// it are counted first.
    fn own(&mut self, key: DescriptorId, direction: usize, thread: CallingThread) {
        let before = self.kernel.open_files[key].runs[direction].last_caller;
        if (before.process, before.program) != (thread.process, thread.program) {
            self.flush(key, direction);
        }
        let open_file = &mut self.kernel.open_files[key];
        open_file.runs[direction].last_caller = thread;
    }

    /// Notes that a call read from a descriptor, and maybe moved its offset.
    fn copy_from(&mut self, from: Descriptor<'_>, caller: Caller) {
        let key = self.resolve(from, caller);
        let number = self.event;
        let serial = self.serial(caller);
        if self.kernel.open_files[key].reader != serial {
            self.note_reader(key, serial);
        }
        self.end_runs(key, READS);
        self.share_reads(key, Barrier::Spliced);
        let open_file = &mut self.kernel.open_files[key];
        open_file.position = None;
        open_file.use_offset();
        (open_file.sought, open_file.is_placed) = (0, false);
        let (kind, group) = (open_file.kind, open_file.group);
        let writes = &mut open_file.runs[WRITES];
        if kind == FdKind::File {
            writes.cross_by(self.event, serial, Barrier::BothWays);
        } else if writes.last_caller.thread != serial {
            writes.cross(self.event, Barrier::ReadElsewhere);
        }
        self.groups.note(group, number, key, serial, true);
        if kind.has_peer() {
            let thread = self.kernel.at(caller.thread);
            thread.streamed_in.note(number, key);
            thread.note(number, Barrier::PeerRead, (key, true));
            self.note_drain(key, caller);
        }
    }

    /// Notes that a process reads a pipe or socket: if it wrote the bytes itself, each write wakes one of its threads.
    fn note_drain(&mut self, key: DescriptorId, caller: Caller) {
        let open_file = &self.kernel.open_files[key];
        if matches!(open_file.kind, FdKind::Pipe | FdKind::Unix)
            && let Some(written) = self.groups.note_drain(
                open_file.group,
                open_file.kind == FdKind::Pipe,
                caller.process,
            )
            && let Some(held) = self.groups.list(written, Barrier::WakeUp)
        {
            self.list(key, WRITES, held, Barrier::WakeUp);
        }
    }

    /// The calling thread as `DirectionRuns` keeps it.
    fn calling_thread(&self, caller: Caller, serial: Serial) -> CallingThread {
        let process = self.kernel.process(caller.process);
        CallingThread {
            thread: serial,
            key: caller.thread,
            process: caller.process,
            process_number: process.map_or(0, |process| process.number),
            program: process.map_or(0, |process| process.program),
        }
    }

    /// Notes that another file was written between two writes of a run.
    pub(super) fn note_order(&mut self, key: DescriptorId, other: DescriptorId) {
        let other = &self.kernel.open_files[other];
        let name = other.name().to_vec();
        let open_file = &mut self.kernel.open_files[key];
        open_file.runs[WRITES].note_order(&name);
    }

    /// Notes a read from an offset or stream; a second reader makes all its reads listed.
    pub(super) fn note_reader(&mut self, key: DescriptorId, serial: Serial) {
        let open_file = &mut self.kernel.open_files[key];
        let reason = match open_file.kind {
            FdKind::File => Barrier::SharedOffset,
            kind if kind.has_peer() => Barrier::OtherReaders,
            _ => return,
        };
        if open_file.reader != Serial::NONE {
            return self.share_reads(key, reason);
        }
        open_file.reader = serial;
        let group = open_file.group;
        if reason == Barrier::OtherReaders
            && let Some(first) = self.groups.note_reader(group, key)
        {
            // Opened by `/dev/fd/3`, or passed on by another process.
            if self.kernel.open_files[first].group == group {
                self.share_reads(first, reason);
            }
            self.share_reads(key, reason);
        }
    }

    /// Lists the reads of an open file description that several threads or processes read from.
    pub(super) fn share_reads(&mut self, key: DescriptorId, reason: Barrier) {
        let open_file = &mut self.kernel.open_files[key];
        if open_file.shared_reads.is_some() {
            return;
        }
        open_file.shared_reads = Some(reason);
        let held = std::mem::take(&mut open_file.held);
        self.list(key, READS, held, reason);
    }

    /// Notes that `execve` hands the open files of a process to another program.
    pub(super) fn hand_reads_on(&mut self, caller: Caller) {
        let serial = self.serial(caller);
        for key in self.kernel.open_files_of(caller.process) {
            let open_file = &mut self.kernel.open_files[key];
            if open_file.offset_user == serial {
                open_file.offset_user = Serial::EARLIER_PROGRAM;
            }
            if open_file.kind.has_peer() && open_file.reader != Serial::NONE {
                self.share_reads(key, Barrier::OtherReaders);
            } else if open_file.reader == serial {
                open_file.reader = Serial::EARLIER_PROGRAM;
            }
        }
    }

    /// Notes that descriptors may have been sent or received with a message (`SCM_RIGHTS`); which ones
    /// is not tracked.
    #[cold]
    fn pass_descriptors(&mut self, key: DescriptorId, is_read: bool, caller: Caller) {
        if is_read {
            return self.share_reads(key, Barrier::ControlData);
        }
        for other in self.kernel.open_files_of(caller.process) {
            let open_file = &self.kernel.open_files[other];
            match open_file.kind {
                _ if other == key || open_file.reader == Serial::NONE => {}
                FdKind::File => self.share_reads(other, Barrier::SharedOffset),
                kind if kind.has_peer() => self.share_reads(other, Barrier::OtherReaders),
                _ => {}
            }
        }
    }

    /// Notes a write by another thread than the last one.
    pub(super) fn note_writer(&mut self, key: DescriptorId, caller: Caller) {
        let serial = self.serial(caller);
        let Some(process) = self.kernel.process(caller.process) else {
            return;
        };
        let new = Writer {
            thread: serial,
            process: caller.process,
            number: process.number,
            last: self.event,
        };
        let group = self.kernel.open_files[key].group;
        let (kernel, awaited) = (&self.kernel, &self.awaited);
        // Its process ended, and the process that waited for it comes before the new writer.
        let is_over = |writer: &Writer| {
            kernel.process(writer.process).is_none()
                && awaited
                    .get(&writer.number)
                    .is_some_and(|&(event, process)| {
                        kernel.comes_after(caller.process, event, process)
                    })
        };
        let is_younger = |writer: &Writer| {
            let is_other = writer.process != caller.process;
            is_other && kernel.comes_after(caller.process, writer.last, writer.process)
        };
        let held = self.groups.add_writer(group, new, is_over, is_younger);
        if let (Some(held), Some(reason)) = (held, self.groups.get(group).listed) {
            self.list(key, WRITES, held, reason);
        }
    }

    #[cold]
    fn list_writes(&mut self, key: DescriptorId, reason: Barrier) {
        let group = self.kernel.open_files[key].group;
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
        self.uses.list(&held, reason);
        let KernelTables {
            open_files,
            processes,
            ..
        } = &mut self.kernel;
        let open_file = &mut open_files[key];
        let CallingThread {
            process: owner,
            program,
            ..
        } = open_file.runs[direction].last_caller;
        let number = self.buffers.number(program, direction == READS, open_file);
        self.buffers.at(number).rule_out(Some(reason));
        let counted = &mut open_file.counted;
        self.pattern_counts.list(held, reason, |found| {
            let process = process_at(processes, owner);
            let is_opening = counted.insert(found);
            let is_process = process.map_or(is_opening, |process| process.counted.insert(found));
            (is_process, is_opening)
        });
    }
}

/// The thread that makes a transfer.
#[derive(Clone, Copy)]
struct User {
    /// Whether another thread made the transfer before it, in the same direction.
    is_new: bool,
    thread: CallingThread,
    /// The files that it wrote to last.
    written_before: Latest<DescriptorId>,
}

/// Moves the offset of an open file description by a transfer without an offset of its own. Returns the bytes that were
/// sought before it.
#[inline(always)]
fn move_position(open_file: &mut OpenFile, transfer: &Transfer<'_>) -> u64 {
    let sought = open_file.sought;
    if transfer.offset.is_none() {
        let is_read = transfer.direction == Direction::Read;
        open_file.use_offset();
        open_file.was_sought |= sought != 0 || open_file.is_placed;
        (open_file.sought, open_file.is_placed) = (0, false);
        open_file.position = match (open_file.position, transfer.result) {
            // The call may have given an offset of its own.
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

/// Sets a barrier in the other direction: a transfer there observes this one, or finds that it moved the offset.
#[inline(always)]
fn observe_other_direction(event: u64, open_file: &mut OpenFile, is_read: bool, serial: Serial) {
    let other = &mut open_file.runs[1 - usize::from(is_read)];
    if open_file.kind == FdKind::File {
        other.cross_by(event, serial, Barrier::BothWays);
    } else if is_read && other.last_caller.thread != serial {
        // The writer may go on because another thread read a message.
        other.cross(event, Barrier::ReadElsewhere);
    }
}

/// Notes a transfer's effect on runs through other open file descriptions.
#[inline(always)]
fn effect_of_transfer(
    number: u64,
    key: DescriptorId,
    (kind, may_have_peer): (FdKind, bool),
    transfer: &Transfer<'_>,
    thread: &mut Thread,
) {
    let is_read = transfer.direction == Direction::Read;
    if may_have_peer || kind == FdKind::Datagram && !is_read {
        let streamed = if is_read { &mut thread.streamed_in } else { &mut thread.streamed_out };
        streamed.note(number, key);
        let reason = if is_read { Barrier::PeerRead } else { Barrier::OtherStream };
        thread.note(number, reason, (key, is_read));
    }
    if kind == FdKind::File && !is_read {
        thread.filed_out.note(number, key);
    }
    if kind == FdKind::Other && !is_read {
        thread.expose(number, Barrier::OtherTransfer);
    }
    let has_messages = matches!(kind, FdKind::Other | FdKind::Datagram);
    if transfer.form == Form::Opaque {
        thread.wait(number, Barrier::Moved);
    } else if has_messages && is_read {
        thread.wait(number, Barrier::OtherTransfer);
    }
}

/// Whether a transfer can be part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// It moved all that it asked for.
    Whole,
    /// It moved less.
    Short,
    /// It moved nothing, failed, or has a meaning of its own.
    Unusable,
}

/// Fills in a `RunCall`.
#[inline(always)]
fn describe(event: &Event<'_>, transfer: &Transfer<'_>, kind: FdKind, call: &mut RunCall) -> Shape {
    let (Ok(bytes), Some(segments)) = (transfer.result, transfer.segment_bytes) else {
        return Shape::Unusable;
    };
    // Each datagram has its own address.
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
    call.sizes.0.clear();
    if let [only] = segments {
        call.segments = 1;
        return match only.cmp(&bytes) {
            std::cmp::Ordering::Greater => Shape::Short,
            std::cmp::Ordering::Equal => Shape::Whole,
            // More than it asked for: the log is wrong.
            std::cmp::Ordering::Less => Shape::Unusable,
        };
    }
    let mut left = bytes;
    for &segment in segments {
        let moved = segment.min(left);
        left -= moved;
        if moved > 0 {
            call.segments += 1;
            call.sizes.add_segment(moved);
        }
    }
    match transfer.asked_bytes.unwrap_or(0).cmp(&bytes) {
        std::cmp::Ordering::Greater => Shape::Short,
        std::cmp::Ordering::Equal if left == 0 => Shape::Whole,
        _ => Shape::Unusable,
    }
}
