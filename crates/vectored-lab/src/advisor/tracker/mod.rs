//! Tracks the state of a log's processes, event by event.

pub(crate) mod descriptors;
pub(crate) mod links;
pub(crate) mod run_ends;
pub(crate) mod transfers;

use std::collections::VecDeque;

use crate::advisor::descriptors::fd_kind::{FdKind, kind_of_socket, kind_of_text};
use crate::advisor::descriptors::kernel_tables::KernelTables;
use crate::advisor::descriptors::name_set::NameSet;
use crate::advisor::descriptors::process_id::ProcessId;
use crate::advisor::descriptors::runtime::runtime_of_program;
use crate::advisor::descriptors::same_file::FileGroups;
use crate::advisor::findings::pattern_counts::PatternCounts;
use crate::advisor::findings::tallies::Tallies;
use crate::advisor::findings::uses::DescriptorUses;
use crate::advisor::hash::FastMap;
use crate::advisor::options::Options;
use crate::advisor::runs::barriers::Barrier;
use crate::advisor::runs::call_effects::{ClassCache, Effect, FilterEvidence};
use crate::advisor::runs::run::{MergeLimits, RunCall};
use crate::advisor::untraced::CallTimes;
use vectored_strace::event::{Action, Descriptor, Event, Named};

/// The state after the events of a log so far.
#[derive(Debug)]
pub(super) struct Tracker {
    limits: MergeLimits,
    max_delay_ns: u64,
    /// Number of events so far; the first event has the number 1.
    event: u64,
    kernel: KernelTables,
    groups: FileGroups,
    /// Ended processes that were waited for: the event of the wait, and the waiting process.
    awaited: FastMap<u32, (u64, ProcessId)>,
    /// Processes that submitted transfers that do not show: the last event.
    submitted: FastMap<ProcessId, u64>,
    /// Files that were closed after a single write, the oldest first: they may be opened again.
    closed: VecDeque<u32>,
    /// Last parts of the paths of FIFOs.
    fifos: NameSet,
    pattern_counts: PatternCounts,
    uses: DescriptorUses,
    call: RunCall,
    calls: u64,
    transfers: u64,
    bytes: u64,
    lacks_times: bool,
    has_coarse_times: bool,
    /// Evidence that the log was not filtered.
    evidence: FilterEvidence,
    began_ns: u64,
    ended_ns: u64,
    call_times: CallTimes,
    deflates: bool,
}

impl Tracker {
    pub(super) fn new(options: Options) -> Tracker {
        Tracker {
            limits: MergeLimits {
                buffer_bytes: options.buffer_bytes.max(1),
                max_delay_ns: Some(options.max_delay_ns),
            },
            max_delay_ns: options.max_delay_ns,
            event: 0,
            kernel: KernelTables::new(),
            groups: FileGroups::new(),
            awaited: FastMap::default(),
            submitted: FastMap::default(),
            closed: VecDeque::new(),
            fifos: NameSet::default(),
            pattern_counts: PatternCounts::default(),
            uses: DescriptorUses::default(),
            call: RunCall::default(),
            calls: 0,
            transfers: 0,
            bytes: 0,
            lacks_times: false,
            has_coarse_times: false,
            evidence: match options.shows_all {
                true => FilterEvidence::ALL,
                false => FilterEvidence::NONE,
            },
            began_ns: u64::MAX,
            ended_ns: 0,
            call_times: CallTimes::default(),
            deflates: options.deflates,
        }
    }

    pub(super) fn close(mut self, options: &Options, into: &mut Tallies) {
        let open_files: Vec<u32> = self.kernel.open_files.in_use().collect();
        for open_file in open_files {
            self.end_all_runs(open_file);
            self.settle_reads(open_file);
        }
        for held in self.groups.take_all_held() {
            self.pattern_counts.settle(held);
        }
        let lack = if self.lacks_times {
            Some(Barrier::NoTimes)
        } else if self.has_coarse_times {
            Some(Barrier::CoarseTimes)
        } else if !self.evidence.is_enough() {
            Some(Barrier::Filtered)
        } else {
            None
        };
        let pattern_counts = &self.pattern_counts;
        let program = |number| pattern_counts.program_name(number);
        self.uses
            .close(program, lack, options.max_delay_ns, &mut into.uses);
        self.pattern_counts.close(lack, options.max_delay_ns, into);
        into.calls += self.calls;
        into.transfers += self.transfers;
        into.bytes = into.bytes.saturating_add(self.bytes);
        into.processes += self.kernel.process_count;
        let span_ns = match self.event {
            0 => Some(0),
            _ => self.ended_ns.checked_sub(self.began_ns),
        };
        into.span_ns = into
            .span_ns
            .zip(span_ns)
            .map(|(known, new)| known.saturating_add(new));
        into.waited_ns = into.waited_ns.saturating_add(self.call_times.waited_ns());
    }

    /// Inlined into each caller: see `Analysis::follow_here`.
    #[inline(always)]
    pub(super) fn follow(&mut self, event: &Event<'_>, classes: &mut ClassCache) {
        if let Action::Name { program } = event.action {
            return self.name(event.thread, program);
        }
        self.event += 1;
        // The end of a thread shows again after its call of `exit`.
        let is_call = match event.action {
            Action::Exit { .. } => matches!(event.name, b"exit" | b"exit_group"),
            Action::Signal => false,
            _ => true,
        };
        self.calls += u64::from(is_call);
        self.note_time(event);
        if let Action::Exit { process_ended } = event.action {
            self.kernel.end_thread(event.thread, process_ended);
            return self.settle_dropped();
        }
        let mut thread = self.kernel.thread(event.thread);
        let Some(mut process) = self.kernel.at(thread).map(|thread| thread.process) else {
            return;
        };
        if self.kernel.process(process).is_none() {
            // Its process has ended: the end interrupted a call, or the number is used again.
            if !matches!(event.action, Action::Execute { .. }) {
                return;
            }
            self.kernel.end_thread(event.thread, true);
            thread = self.kernel.thread(event.thread);
            match self.kernel.at(thread) {
                Some(known) => process = known.process,
                None => return,
            }
        }
        let caller = Caller { thread, process };
        match &event.action {
            Action::Transfer(transfer) => self.transfer(event, transfer, caller),
            Action::Other { descriptor } => {
                let class = classes.classify(event.name);
                self.evidence |= class.evidence;
                self.other(class.effect, event.name, *descriptor, caller);
            }
            Action::Wait { child } => {
                self.note_awaited_child(*child, caller);
                let class = classes.classify(event.name);
                self.evidence |= class.evidence;
                self.other(class.effect, event.name, None, caller);
            }
            Action::Path { path, changes } => {
                self.groups.note_path(path, self.event, !changes);
                let class = classes.classify(event.name);
                self.other(class.effect, event.name, None, caller);
            }
            Action::Link { from, to } => {
                self.groups.link(from, to);
                let class = classes.classify(event.name);
                self.other(class.effect, event.name, None, caller);
            }
            Action::Submit { unseen } => {
                self.evidence |= classes.classify(event.name).evidence;
                self.submit(*unseen, caller);
            }
            Action::Fifo(named) => {
                let class = classes.classify(event.name);
                let descriptor = match named {
                    Named::Descriptor(descriptor) => Some(*descriptor),
                    Named::Path(_) => None,
                };
                self.other(class.effect, event.name, descriptor, caller);
                self.fifo(*named, caller);
            }
            action => self.change(action, caller),
        }
        if let Some(thread) = self.kernel.at(thread) {
            thread.last = self.event;
            if self.deflates {
                thread.delayed_ns += self.call_times.strace_overhead_ns();
            }
        }
        if !self.kernel.dropped.is_empty() {
            self.settle_dropped();
        }
    }

    /// Notes a name that the log shows beside a thread. It is no event.
    #[cold]
    fn name(&mut self, thread: u32, program: &[u8]) {
        let place = self.kernel.thread(thread);
        if let Some(process) = self.kernel.at(place).map(|thread| thread.process) {
            let name = self.pattern_counts.program(program);
            self.kernel.name(process, name, runtime_of_program(program));
        }
    }

    #[inline(always)]
    fn note_time(&mut self, event: &Event<'_>) {
        self.call_times.note(event);
        if let Some(began_ns) = event.began_ns {
            self.began_ns = self.began_ns.min(began_ns);
            let ended_ns = began_ns.saturating_add(event.took_ns.unwrap_or(0));
            self.ended_ns = self.ended_ns.max(ended_ns);
            self.has_coarse_times |= event.clock_ns > self.max_delay_ns;
        } else if matches!(event.action, Action::Transfer(_)) {
            self.lacks_times = true;
        }
    }

    /// Tracks calls that open, close or duplicate descriptors, set an offset, or sync.
    fn change(&mut self, action: &Action<'_>, caller: Caller) {
        match *action {
            Action::Open {
                descriptor,
                path,
                flags,
            } => self.open(descriptor, path, flags, caller),
            Action::Pipe {
                read,
                write,
                packets,
                close_on_exec,
            } => {
                let kind = if packets { FdKind::Other } else { FdKind::Pipe };
                self.make(read, kind, close_on_exec, caller);
                self.make(write, kind, close_on_exec, caller);
            }
            Action::Socket {
                descriptor,
                kind,
                from,
                close_on_exec,
            } => {
                let kind = match (kind, from) {
                    (Some(kind), _) => kind_of_socket(kind),
                    (None, Some(from)) => self.kind_of(from, caller),
                    (None, None) => FdKind::Socket,
                };
                self.make(descriptor, kind, close_on_exec, caller);
                if from.is_some() {
                    self.mark_wait(caller, Barrier::Connect);
                }
            }
            Action::SocketPair {
                descriptors,
                kind,
                close_on_exec,
            } => {
                for descriptor in descriptors {
                    self.make(descriptor, kind_of_socket(kind), close_on_exec, caller);
                }
            }
            Action::Duplicate {
                from,
                to,
                close_on_exec,
            } => {
                self.resolve(from, caller);
                let process = caller.process;
                if self.kernel.open_file_of(process, to.number).is_some() {
                    self.mark_exposure_by_close(to.number, None, caller);
                }
                self.kernel
                    .duplicate(process, from.number, to.number, close_on_exec);
            }
            Action::Close {
                first,
                last,
                leads_to,
            } => match first == last {
                true => {
                    self.mark_exposure_by_close(first, leads_to, caller);
                    self.kernel.close(caller.process, first);
                }
                false => {
                    self.mark_exposure(caller, Barrier::StreamClosed);
                    self.kernel.close_range(caller.process, first, last);
                }
            },
            Action::SetFlags { descriptor, flags } => {
                let open_file = self.resolve(descriptor, caller);
                self.add_barrier(open_file, Barrier::Control, true);
                if let Some(known) = self.kernel.open_files.get_mut(open_file) {
                    // F_SETFL cannot change O_SYNC, but `flags` has it.
                    known.flags = flags;
                    known.position = None;
                }
            }
            Action::SetCloseOnExec {
                descriptor,
                close_on_exec,
            } => {
                let number = descriptor.number;
                self.kernel
                    .set_close_on_exec(caller.process, number, close_on_exec);
            }
            Action::Fork {
                child,
                same_process,
                shares_descriptors,
            } => {
                let shares = shares_descriptors;
                self.evidence |= FilterEvidence::PROCESSES;
                // The kernel uses the number again.
                self.awaited.remove(&child);
                let event = self.event;
                self.kernel
                    .fork(event, caller.process, child, same_process, shares);
                self.mark_wait(caller, Barrier::Process);
            }
            Action::Execute { program } => {
                let name = program.rsplit(|&byte| byte == b'/').next();
                let name = self.pattern_counts.program(name.unwrap_or(program));
                let runtime = runtime_of_program(program);
                for (open_file, is_kept) in self.kernel.open_files_at_execute(caller.process) {
                    self.end_runs_of_process(open_file, caller.process, is_kept);
                    self.leave_to_another(open_file, caller.process);
                }
                self.kernel.execute(caller.process, name, runtime);
                self.hand_reads_on(caller);
                self.mark_wait(caller, Barrier::Process);
            }
            Action::Seek {
                descriptor,
                position,
                only_asked,
                asks_size,
            } => {
                self.seek(descriptor, position, only_asked, asks_size, caller);
            }
            Action::Map {
                descriptor,
                writes_through,
            } => {
                let place = self.resolve(descriptor, caller);
                let group = self
                    .kernel
                    .open_files
                    .get(place)
                    .map(|open_file| open_file.group);
                self.groups.map(group.unwrap_or(0), writes_through);
            }
            Action::Sync(descriptor) => self.sync(descriptor, caller),
            Action::Signal => self.mark_wait(caller, Barrier::Signal),
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

    /// Notes a wait for a child: all that the child did comes before the caller's next events.
    fn note_awaited_child(&mut self, child: u32, caller: Caller) {
        if self.awaited.len() >= AWAITED_MAX {
            // A child that is forgotten counts as not waited for.
            self.awaited.clear();
        }
        self.awaited.insert(child, (self.event, caller.process));
    }

    /// Notes transfers through descriptors that the log does not name.
    fn submit(&mut self, unseen: bool, caller: Caller) {
        let event = match unseen {
            true => u64::MAX,
            false => self.event,
        };
        let last = self.submitted.entry(caller.process).or_default();
        *last = event.max(*last);
        self.mark_wait(caller, Barrier::Submitted);
    }

    /// Notes a close: the end of a stream shows to its peer, and the release of a lock to processes that
    /// wait for it.
    fn mark_exposure_by_close(&mut self, number: i32, leads_to: Option<&[u8]>, caller: Caller) {
        let open_file = self.kernel.open_file_of(caller.process, number);
        let kind = match open_file.and_then(|open_file| self.kernel.open_files.get(open_file)) {
            Some(open_file) => open_file.kind,
            None => leads_to.map_or(FdKind::Unknown, kind_of_text),
        };
        let open_file = open_file.and_then(|open_file| self.kernel.open_files.get(open_file));
        if kind.has_peer() {
            self.mark_exposure(caller, Barrier::StreamClosed);
        } else if open_file.is_some_and(|open_file| {
            open_file.was_locked || self.groups.was_locked(open_file.group)
        }) {
            self.mark_exposure(caller, Barrier::Lock);
        }
    }

    fn mark_wait(&mut self, caller: Caller, reason: Barrier) {
        if let Some(thread) = self.kernel.at(caller.thread) {
            thread.last_wait = (self.event, reason);
        }
    }

    fn mark_exposure(&mut self, caller: Caller, reason: Barrier) {
        if let Some(thread) = self.kernel.at(caller.thread) {
            thread.last_exposure = (self.event, reason);
        }
    }

    /// Tracks a call of which only the name and maybe a descriptor are known.
    fn other(
        &mut self,
        effect: Effect,
        name: &[u8],
        descriptor: Option<Descriptor<'_>>,
        caller: Caller,
    ) {
        let known = descriptor
            .filter(|descriptor| descriptor.number >= 0)
            .and_then(|descriptor| self.kernel.open_file_of(caller.process, descriptor.number));
        match effect {
            Effect::Harmless => {}
            Effect::ObservesSize(reason) => {
                // `newfstatat` with the descriptor of a folder looks at a name in it.
                let by_number = matches!(name, b"fstat" | b"fstat64");
                let used = known.filter(|&open_file| by_number || self.was_used(open_file));
                match used {
                    Some(open_file) => self.look_at(open_file, reason),
                    None => {
                        if let Some(thread) = self.kernel.at(caller.thread) {
                            thread.last_stat = self.event;
                        }
                    }
                }
            }
            Effect::ExposesWrites(reason) => {
                if let Some(open_file) = known {
                    self.add_barrier(open_file, reason, false);
                }
                self.mark_exposure(caller, reason);
            }
            Effect::Waits(reason) => {
                if let Some(open_file) = known {
                    self.add_barrier(open_file, reason, true);
                    if reason == Barrier::Lock
                        && let Some(open_file) = self.kernel.open_files.get_mut(open_file)
                    {
                        open_file.was_locked = true;
                        let group = open_file.group;
                        self.groups.lock(group);
                    }
                }
                self.mark_wait(caller, reason);
            }
        }
    }

    fn was_used(&self, open_file: u32) -> bool {
        let open_file = self.kernel.open_files.get(open_file);
        open_file.is_some_and(|open_file| open_file.was_used)
    }

    fn look_at(&mut self, place: u32, reason: Barrier) {
        if let Some(open_file) = self.kernel.open_files.get_mut(place)
            && open_file.kind == FdKind::File
        {
            open_file.runs[WRITES].barrier.get_or_insert(reason);
            self.groups.note(open_file.group, self.event, place, true);
        }
    }

    /// Puts a barrier between earlier and later transfers through an open file description.
    fn add_barrier(&mut self, place: u32, reason: Barrier, reads_too: bool) {
        if let Some(open_file) = self.kernel.open_files.get_mut(place) {
            open_file.runs[WRITES].barrier.get_or_insert(reason);
            if reads_too {
                open_file.runs[READS].barrier.get_or_insert(reason);
            }
            self.groups.note(open_file.group, self.event, place, false);
        }
    }

    fn sync(&mut self, descriptor: Option<Descriptor<'_>>, caller: Caller) {
        if let Some(descriptor) = descriptor {
            let open_file = self.resolve(descriptor, caller);
            if let Some(open_file) = self.kernel.open_files.get_mut(open_file) {
                open_file.runs[WRITES]
                    .barrier
                    .get_or_insert(Barrier::SyncOwn);
            }
        }
        self.mark_exposure(caller, Barrier::SyncOther);
    }

    fn seek(
        &mut self,
        descriptor: Descriptor<'_>,
        position: u64,
        only_asked: bool,
        asks_size: bool,
        caller: Caller,
    ) {
        let place = self.resolve(descriptor, caller);
        let serial = self
            .kernel
            .at(caller.thread)
            .map_or(0, |thread| thread.serial);
        let Some(open_file) = self.kernel.open_files.get_mut(place) else {
            return;
        };
        open_file.has_shared_offset |=
            open_file.offset_user != 0 && open_file.offset_user != serial;
        let moves = !only_asked && open_file.position != Some(position);
        open_file.position = Some(position);
        if moves {
            open_file.sought = self.event;
            open_file.sought_by = serial;
            open_file.sought_size = asks_size;
        }
        for runs in &mut open_file.runs {
            let has_offset = runs.last != 0 && !runs.is_positional;
            if has_offset && runs.last_caller.thread != serial {
                runs.barrier.get_or_insert(Barrier::SharedOffset);
            } else if has_offset && only_asked {
                runs.barrier.get_or_insert(Barrier::Position);
            }
        }
        let reader = open_file.reader;
        if asks_size {
            self.look_at(place, Barrier::Size);
        }
        if reader != 0 && reader != serial {
            self.note_reader(place, serial);
        }
    }
}

/// Ended processes in `awaited`.
const AWAITED_MAX: usize = 4096;

const WRITES: usize = 0;
const READS: usize = 1;

/// The calling thread and its process.
#[derive(Clone, Copy, Debug)]
struct Caller {
    thread: u32,
    process: ProcessId,
}
