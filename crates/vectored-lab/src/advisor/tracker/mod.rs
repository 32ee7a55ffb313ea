//! What is known of the log that is followed, and what each event changes of it.

pub(crate) mod descriptors;
pub(crate) mod links;
pub(crate) mod run_ends;
pub(crate) mod transfers;

use std::collections::VecDeque;

use crate::advisor::descriptors::fd_kind::{Kind, kind_of_socket, kind_of_text};
use crate::advisor::descriptors::name_set::Marks;
use crate::advisor::descriptors::process_id::ProcessId;
use crate::advisor::descriptors::processes::Tables;
use crate::advisor::descriptors::runtime::runtime_of_program;
use crate::advisor::descriptors::same_file::Groups;
use crate::advisor::findings::pattern_counts::Book;
use crate::advisor::findings::tallies::Tallies;
use crate::advisor::findings::uses::Uses;
use crate::advisor::hash::FastMap;
use crate::advisor::options::Options;
use crate::advisor::runs::barriers::Reason;
use crate::advisor::runs::call_effects::{Effect, Names, Shown};
use crate::advisor::runs::run::{Bounds, Piece};
use crate::advisor::untraced::Pace;
use vectored_strace::event::{Action, Descriptor, Event, Named};

/// What is known of the log that is followed.
#[derive(Debug)]
pub(super) struct Log {
    bounds: Bounds,
    max_delay_ns: u64,
    /// Events so far, so that the first has the number 1.
    event: u64,
    tables: Tables,
    groups: Groups,
    /// Processes that another one waited for: the event, and the other one.
    waited: FastMap<u32, (u64, ProcessId)>,
    /// Processes that submitted transfers that do not show: the last event.
    submitted: FastMap<ProcessId, u64>,
    /// Files that were closed after a write alone, the oldest first: they may be opened again.
    closed: VecDeque<u32>,
    /// Paths that lead to FIFOs, by their last parts.
    fifos: Marks,
    book: Book,
    uses: Uses,
    piece: Piece,
    calls: u64,
    transfers: u64,
    bytes: u64,
    lacks_times: bool,
    has_coarse_times: bool,
    /// Which calls showed, that a filter may have left.
    shown: Shown,
    began_ns: u64,
    ended_ns: u64,
    pace: Pace,
    deflates: bool,
}

impl Log {
    pub(super) fn new(options: Options) -> Log {
        Log {
            bounds: Bounds {
                buffer_bytes: options.buffer_bytes.max(1),
                max_delay_ns: Some(options.max_delay_ns),
            },
            max_delay_ns: options.max_delay_ns,
            event: 0,
            tables: Tables::new(),
            groups: Groups::new(),
            waited: FastMap::default(),
            submitted: FastMap::default(),
            closed: VecDeque::new(),
            fifos: Marks::default(),
            book: Book::default(),
            uses: Uses::default(),
            piece: Piece::default(),
            calls: 0,
            transfers: 0,
            bytes: 0,
            lacks_times: false,
            has_coarse_times: false,
            shown: match options.shows_all {
                true => Shown::ALL,
                false => Shown::NONE,
            },
            began_ns: u64::MAX,
            ended_ns: 0,
            pace: Pace::default(),
            deflates: options.deflates,
        }
    }

    pub(super) fn close(mut self, options: &Options, into: &mut Tallies) {
        let openings: Vec<u32> = self.tables.openings.in_use().collect();
        for opening in openings {
            self.end_lanes(opening);
            self.settle_reads(opening);
        }
        for held in self.groups.take_all_held() {
            self.book.settle(held);
        }
        let lack = if self.lacks_times {
            Some(Reason::NoTimes)
        } else if self.has_coarse_times {
            Some(Reason::CoarseTimes)
        } else if !self.shown.is_enough() {
            Some(Reason::Filtered)
        } else {
            None
        };
        let book = &self.book;
        let program = |number| book.program_name(number);
        self.uses
            .close(program, lack, options.max_delay_ns, &mut into.uses);
        self.book.close(lack, options.max_delay_ns, into);
        into.calls += self.calls;
        into.transfers += self.transfers;
        into.bytes = into.bytes.saturating_add(self.bytes);
        into.processes += self.tables.process_count;
        let span_ns = match self.event {
            0 => Some(0),
            _ => self.ended_ns.checked_sub(self.began_ns),
        };
        into.span_ns = into
            .span_ns
            .zip(span_ns)
            .map(|(known, new)| known.saturating_add(new));
        into.waited_ns = into.waited_ns.saturating_add(self.pace.waited_ns());
    }

    /// It is made anew where it is used: see `Analysis::follow_here`.
    #[inline(always)]
    pub(super) fn follow(&mut self, event: &Event<'_>, names: &mut Names) {
        if let Action::Name { program } = event.action {
            return self.name(event.thread, program);
        }
        self.event += 1;
        // That a thread has ended is told again after its call of `exit`.
        let is_call = match event.action {
            Action::Exit { .. } => matches!(event.name, b"exit" | b"exit_group"),
            Action::Signal => false,
            _ => true,
        };
        self.calls += u64::from(is_call);
        self.note_time(event);
        if let Action::Exit { process_ended } = event.action {
            self.tables.end_thread(event.thread, process_ended);
            return self.settle();
        }
        let mut thread = self.tables.thread(event.thread);
        let Some(mut process) = self.tables.at(thread).map(|thread| thread.process) else {
            return;
        };
        if self.tables.process(process).is_none() {
            // Its process has ended: a call that was interrupted by that, or a number used again.
            if !matches!(event.action, Action::Execute { .. }) {
                return;
            }
            self.tables.end_thread(event.thread, true);
            thread = self.tables.thread(event.thread);
            match self.tables.at(thread) {
                Some(known) => process = known.process,
                None => return,
            }
        }
        let by = By { thread, process };
        match &event.action {
            Action::Transfer(transfer) => self.transfer(event, transfer, by),
            Action::Other { descriptor } => {
                let between = names.between(event.name);
                self.shown |= between.shows;
                self.other(between.effect, event.name, *descriptor, by);
            }
            Action::Wait { child } => {
                self.note_wait(*child, by);
                let between = names.between(event.name);
                self.shown |= between.shows;
                self.other(between.effect, event.name, None, by);
            }
            Action::Path { path, changes } => {
                self.groups.note_path(path, self.event, !changes);
                let between = names.between(event.name);
                self.other(between.effect, event.name, None, by);
            }
            Action::Link { from, to } => {
                self.groups.link(from, to);
                let between = names.between(event.name);
                self.other(between.effect, event.name, None, by);
            }
            Action::Submit { unseen } => {
                self.shown |= names.between(event.name).shows;
                self.submit(*unseen, by);
            }
            Action::Fifo(named) => {
                let between = names.between(event.name);
                let descriptor = match named {
                    Named::Descriptor(descriptor) => Some(*descriptor),
                    Named::Path(_) => None,
                };
                self.other(between.effect, event.name, descriptor, by);
                self.fifo(*named, by);
            }
            action => self.change(action, by),
        }
        if let Some(thread) = self.tables.at(thread) {
            thread.last = self.event;
            if self.deflates {
                thread.delayed_ns += self.pace.tracing_ns();
            }
        }
        if !self.tables.left.is_empty() {
            self.settle();
        }
    }

    /// A name that the log shows beside a thread. It is nothing that the thread did.
    #[cold]
    fn name(&mut self, thread: u32, program: &[u8]) {
        let place = self.tables.thread(thread);
        if let Some(process) = self.tables.at(place).map(|thread| thread.process) {
            let name = self.book.program(program);
            self.tables.name(process, name, runtime_of_program(program));
        }
    }

    #[inline(always)]
    fn note_time(&mut self, event: &Event<'_>) {
        self.pace.note(event);
        if let Some(began_ns) = event.began_ns {
            self.began_ns = self.began_ns.min(began_ns);
            let ended_ns = began_ns.saturating_add(event.took_ns.unwrap_or(0));
            self.ended_ns = self.ended_ns.max(ended_ns);
            self.has_coarse_times |= event.clock_ns > self.max_delay_ns;
        } else if matches!(event.action, Action::Transfer(_)) {
            self.lacks_times = true;
        }
    }

    /// Calls that open, close and duplicate, and those that set an offset or sync.
    fn change(&mut self, action: &Action<'_>, by: By) {
        match *action {
            Action::Open {
                descriptor,
                path,
                flags,
            } => self.open(descriptor, path, flags, by),
            Action::Pipe {
                read,
                write,
                packets,
                close_on_exec,
            } => {
                let kind = if packets { Kind::Other } else { Kind::Pipe };
                self.make(read, kind, close_on_exec, by);
                self.make(write, kind, close_on_exec, by);
            }
            Action::Socket {
                descriptor,
                kind,
                from,
                close_on_exec,
            } => {
                let kind = match (kind, from) {
                    (Some(kind), _) => kind_of_socket(kind),
                    (None, Some(from)) => self.kind_of(from, by),
                    (None, None) => Kind::Socket,
                };
                self.make(descriptor, kind, close_on_exec, by);
                if from.is_some() {
                    self.wait(by, Reason::Connect);
                }
            }
            Action::SocketPair {
                descriptors,
                kind,
                close_on_exec,
            } => {
                for descriptor in descriptors {
                    self.make(descriptor, kind_of_socket(kind), close_on_exec, by);
                }
            }
            Action::Duplicate {
                from,
                to,
                close_on_exec,
            } => {
                self.resolve(from, by);
                let process = by.process;
                if self.tables.opening_of(process, to.number).is_some() {
                    self.release_if_awaited(to.number, None, by);
                }
                self.tables
                    .duplicate(process, from.number, to.number, close_on_exec);
            }
            Action::Close {
                first,
                last,
                leads_to,
            } => match first == last {
                true => {
                    self.release_if_awaited(first, leads_to, by);
                    self.tables.close(by.process, first);
                }
                false => {
                    self.release(by, Reason::StreamClosed);
                    self.tables.close_range(by.process, first, last);
                }
            },
            Action::SetFlags { descriptor, flags } => {
                let opening = self.resolve(descriptor, by);
                self.cross_lanes(opening, Reason::Control, true);
                if let Some(known) = self.tables.openings.get_mut(opening) {
                    // F_SETFL cannot change O_SYNC; `flags` has it all the same.
                    known.flags = flags;
                    known.position = None;
                }
            }
            Action::SetCloseOnExec {
                descriptor,
                close_on_exec,
            } => {
                let number = descriptor.number;
                self.tables
                    .set_close_on_exec(by.process, number, close_on_exec);
            }
            Action::Fork {
                child,
                same_process,
                shares_descriptors,
            } => {
                let shares = shares_descriptors;
                self.shown |= Shown::PROCESSES;
                // Its number is used again.
                self.waited.remove(&child);
                let event = self.event;
                self.tables
                    .fork(event, by.process, child, same_process, shares);
                self.wait(by, Reason::Process);
            }
            Action::Execute { program } => {
                let name = program.rsplit(|&byte| byte == b'/').next();
                let name = self.book.program(name.unwrap_or(program));
                let runtime = runtime_of_program(program);
                for (opening, is_kept) in self.tables.openings_at_execute(by.process) {
                    self.end_lanes_of(opening, by.process, is_kept);
                    self.leave_to_another(opening, by.process);
                }
                self.tables.execute(by.process, name, runtime);
                self.hand_reads_on(by);
                self.wait(by, Reason::Process);
            }
            Action::Seek {
                descriptor,
                position,
                only_asked,
                asks_size,
            } => {
                self.seek(descriptor, position, only_asked, asks_size, by);
            }
            Action::Map {
                descriptor,
                writes_through,
            } => {
                let place = self.resolve(descriptor, by);
                let group = self.tables.openings.get(place).map(|opening| opening.group);
                self.groups.map(group.unwrap_or(0), writes_through);
            }
            Action::Sync(descriptor) => self.sync(descriptor, by),
            Action::Signal => self.wait(by, Reason::Signal),
            Action::Transfer(_)
            | Action::Name { .. }
            | Action::Other { .. }
            | Action::Fifo(_)
            | Action::Path { .. }
            | Action::Link { .. }
            | Action::Wait { .. }
            | Action::Submit { .. }
            | Action::Exit { .. } => {}
        }
    }

    /// What a process did that was waited for comes before what follows in the process that waited.
    fn note_wait(&mut self, child: u32, by: By) {
        if self.waited.len() >= WAITED_MAX {
            // What is forgotten is taken for not waited for.
            self.waited.clear();
        }
        self.waited.insert(child, (self.event, by.process));
    }

    /// Transfers through descriptors that the log does not name.
    fn submit(&mut self, unseen: bool, by: By) {
        let event = match unseen {
            true => u64::MAX,
            false => self.event,
        };
        let last = self.submitted.entry(by.process).or_default();
        *last = event.max(*last);
        self.wait(by, Reason::Submitted);
    }

    /// The end of a stream shows to its peer, and that of a lock to who waits for it.
    fn release_if_awaited(&mut self, number: i32, leads_to: Option<&[u8]>, by: By) {
        let opening = self.tables.opening_of(by.process, number);
        let kind = match opening.and_then(|opening| self.tables.openings.get(opening)) {
            Some(opening) => opening.kind,
            None => leads_to.map_or(Kind::Unknown, kind_of_text),
        };
        let opening = opening.and_then(|opening| self.tables.openings.get(opening));
        if kind.has_peer() {
            self.release(by, Reason::StreamClosed);
        } else if opening
            .is_some_and(|opening| opening.was_locked || self.groups.was_locked(opening.group))
        {
            self.release(by, Reason::Lock);
        }
    }

    fn wait(&mut self, by: By, reason: Reason) {
        if let Some(thread) = self.tables.at(by.thread) {
            thread.waited = (self.event, reason);
        }
    }

    fn release(&mut self, by: By, reason: Reason) {
        if let Some(thread) = self.tables.at(by.thread) {
            thread.released = (self.event, reason);
        }
    }

    /// A call of which only the name is known, and maybe a descriptor.
    fn other(&mut self, effect: Effect, name: &[u8], descriptor: Option<Descriptor<'_>>, by: By) {
        let known = descriptor
            .filter(|descriptor| descriptor.number >= 0)
            .and_then(|descriptor| self.tables.opening_of(by.process, descriptor.number));
        match effect {
            Effect::Harmless => {}
            Effect::Looks(reason) => {
                // `newfstatat` of a folder looks at a name in it.
                let by_number = matches!(name, b"fstat" | b"fstat64");
                let used = known.filter(|&opening| by_number || self.was_used(opening));
                match used {
                    Some(opening) => self.look_at(opening, reason),
                    None => {
                        if let Some(thread) = self.tables.at(by.thread) {
                            thread.looked = self.event;
                        }
                    }
                }
            }
            Effect::Releases(reason) => {
                if let Some(opening) = known {
                    self.cross_lanes(opening, reason, false);
                }
                self.release(by, reason);
            }
            Effect::Waits(reason) => {
                if let Some(opening) = known {
                    self.cross_lanes(opening, reason, true);
                    if reason == Reason::Lock
                        && let Some(opening) = self.tables.openings.get_mut(opening)
                    {
                        opening.was_locked = true;
                        let group = opening.group;
                        self.groups.lock(group);
                    }
                }
                self.wait(by, reason);
            }
        }
    }

    fn was_used(&self, opening: u32) -> bool {
        let opening = self.tables.openings.get(opening);
        opening.is_some_and(|opening| opening.was_used)
    }

    fn look_at(&mut self, place: u32, reason: Reason) {
        if let Some(opening) = self.tables.openings.get_mut(place)
            && opening.kind == Kind::File
        {
            opening.lanes[WRITES].crossed.get_or_insert(reason);
            self.groups.note(opening.group, self.event, place, true);
        }
    }

    /// What comes next through an opening must not be merged with what came before.
    fn cross_lanes(&mut self, place: u32, reason: Reason, reads_too: bool) {
        if let Some(opening) = self.tables.openings.get_mut(place) {
            opening.lanes[WRITES].crossed.get_or_insert(reason);
            if reads_too {
                opening.lanes[READS].crossed.get_or_insert(reason);
            }
            self.groups.note(opening.group, self.event, place, false);
        }
    }

    fn sync(&mut self, descriptor: Option<Descriptor<'_>>, by: By) {
        if let Some(descriptor) = descriptor {
            let opening = self.resolve(descriptor, by);
            if let Some(opening) = self.tables.openings.get_mut(opening) {
                opening.lanes[WRITES].crossed.get_or_insert(Reason::SyncOwn);
            }
        }
        self.release(by, Reason::SyncOther);
    }

    fn seek(
        &mut self,
        descriptor: Descriptor<'_>,
        position: u64,
        only_asked: bool,
        asks_size: bool,
        by: By,
    ) {
        let place = self.resolve(descriptor, by);
        let serial = self.tables.at(by.thread).map_or(0, |thread| thread.serial);
        let Some(opening) = self.tables.openings.get_mut(place) else {
            return;
        };
        opening.has_shared_offset |= opening.offset_user != 0 && opening.offset_user != serial;
        let moves = !only_asked && opening.position != Some(position);
        opening.position = Some(position);
        if moves {
            opening.sought = self.event;
            opening.sought_by = serial;
            opening.sought_size = asks_size;
        }
        for lane in &mut opening.lanes {
            let has_offset = lane.last != 0 && !lane.is_positional;
            if has_offset && lane.user.thread != serial {
                lane.crossed.get_or_insert(Reason::SharedOffset);
            } else if has_offset && only_asked {
                lane.crossed.get_or_insert(Reason::Position);
            }
        }
        let reader = opening.reader;
        if asks_size {
            self.look_at(place, Reason::Size);
        }
        if reader != 0 && reader != serial {
            self.note_reader(place, serial);
        }
    }
}

/// So many ends of processes are kept in mind.
const WAITED_MAX: usize = 4096;

const WRITES: usize = 0;
const READS: usize = 1;

/// Who made a call.
#[derive(Clone, Copy, Debug)]
struct By {
    thread: u32,
    process: ProcessId,
}
