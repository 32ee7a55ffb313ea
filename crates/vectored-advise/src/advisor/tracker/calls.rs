//! Applies the calls that move no bytes.

use crate::advisor::descriptors::fd_kind::{FdKind, kind_of_socket, kind_of_text};
use crate::advisor::descriptors::keys::{DescriptorId, Serial};
use crate::advisor::runs::barriers::{Barrier, Call, THREAD_START};
use crate::advisor::runs::call_effects::{Effect, FilterEvidence};
use crate::advisor::runs::pattern::moves_bytes;
use crate::advisor::tracker::names::joined;
use crate::advisor::tracker::{Caller, READS, Tracker, WRITES};
use crate::languages::{last_part, runtime_of_path, runtime_of_program};
use vectored_strace::event::{Action, Descriptor, LinkKind, OpenFlags, Place};

impl Tracker {
    /// Tracks calls that open, close or duplicate descriptors, set an offset, or sync.
    pub(super) fn change(&mut self, action: &Action<'_>, caller: Caller) {
        match *action {
            Action::Open {
                descriptor,
                path,
                folder,
                flags,
            } => self.open(descriptor, path, folder, flags, caller),
            Action::Pipe {
                read,
                write,
                packets,
                close_on_exec,
            } => {
                let kind = if packets { FdKind::Other } else { FdKind::Pipe };
                let [read, write] =
                    [read, write].map(|end| self.make(end, kind, close_on_exec, caller));
                self.groups.pair(read, write);
            }
            Action::Socket {
                descriptor,
                kind,
                from,
                close_on_exec,
            } => {
                let kind = kind.map(kind_of_socket);
                self.socket(descriptor, (kind, from), close_on_exec, caller);
            }
            Action::SocketPair {
                descriptors,
                kind,
                close_on_exec,
            } => {
                let kind = kind_of_socket(kind);
                let [one, other] =
                    descriptors.map(|end| self.make(end, kind, close_on_exec, caller));
                self.groups.pair(one, other);
            }
            Action::Duplicate {
                from,
                to,
                close_on_exec,
            } => self.duplicate(from, to, close_on_exec, caller),
            Action::Close {
                first,
                last,
                leads_to,
            } => self.close_range(first, last, leads_to, caller),
            Action::SetFlags { descriptor, flags } => self.set_flags(descriptor, flags, caller),
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
            } => self.fork(child, same_process, shares_descriptors, caller),
            Action::Execute { program } => self.execute(program, caller),
            Action::Seek {
                descriptor,
                position,
                only_asked,
                relative,
                asks_size,
            } => self.seek(
                descriptor,
                position,
                (only_asked, relative, asks_size),
                caller,
            ),
            Action::Map {
                descriptor,
                writes_through,
            } => self.map(descriptor, writes_through, caller),
            Action::Sync(descriptor) => self.sync(descriptor, caller),
            Action::Signal => self.mark_wait(caller, Barrier::Signal),
            Action::Wait { child } => self.note_awaited_child(child, caller),
            Action::Ask(ask) => self.ask(&ask, caller),
            Action::Truncate { path } => self.truncate(path, caller),
            Action::ChangeFolder(to) => self.change_folder(to, caller),
            Action::MakeFolder(made) => self.make_folder(made, caller),
            Action::Link { from, to, kind } => self.link(from, to, kind, caller),
            Action::Watch { path } => self.watch(path, caller),
            Action::SetTcpOption {
                descriptor,
                option,
                on,
            } => self.set_tcp_option(descriptor, option, on, caller),
            Action::Fifo(named) => self.fifo(named, caller),
            // Others change no descriptor.
            _ => {}
        }
    }

    /// `truncate`: cuts a file by its path.
    fn truncate(&mut self, path: &[u8], caller: Caller) {
        let serial = self.serial(caller);
        let (path, _) = self.full_path(path, None, caller);
        self.note_path(&path, None, serial, false);
    }

    /// A file that is mapped into memory.
    fn map(&mut self, descriptor: Descriptor<'_>, writes_through: bool, caller: Caller) {
        let key = self.resolve(descriptor, caller);
        let open_file = &self.kernel.open_files[key];
        if writes_through {
            self.files.change(open_file.name());
        }
        self.groups.map(open_file.group, writes_through);
        self.note_regular(key);
    }

    /// A second name of a file, or its new one.
    fn link(&mut self, from: Place<'_>, to: Place<'_>, kind: LinkKind, caller: Caller) {
        self.note_made(to.path, caller);
        let new = self.full_path(to.path, to.folder, caller).0.into_owned();
        let end = new.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        let old = match kind {
            LinkKind::Symbolic => joined(&new[..end], from.path),
            _ => self.full_path(from.path, from.folder, caller).0,
        };
        self.files.link(old.to_vec(), new.clone());
        if kind == LinkKind::Rename {
            self.rename(&old, &new);
        }
        if kind != LinkKind::Rename || self.groups.is_unnamed(from.path) {
            self.groups.link(from.path, to.path);
        }
    }

    fn make_folder(&mut self, made: Place<'_>, caller: Caller) {
        self.note_made(made.path, caller);
        let (path, _) = self.full_path(made.path, made.folder, caller);
        self.files.make(&path);
    }

    /// A new socket, of a known kind or accepted by another one.
    fn socket(
        &mut self,
        descriptor: Descriptor<'_>,
        (kind, from): (Option<FdKind>, Option<Descriptor<'_>>),
        close_on_exec: bool,
        caller: Caller,
    ) {
        let kind = match (kind, from) {
            (Some(kind), _) => kind,
            (None, Some(from)) => self.kind_of(from, caller),
            (None, None) => FdKind::Socket,
        };
        // An accepted socket has the options of the one that listens.
        let no_delay = match from {
            Some(from) => {
                let key = self.resolve(from, caller);
                self.kernel.open_files[key].exchange.no_delay
            }
            None => Some(false),
        };
        self.make(descriptor, kind, close_on_exec, caller);
        let made = self.kernel.open_file_of(caller.process, descriptor.number);
        let exchange = &mut self.kernel.open_files[made.unwrap_or(DescriptorId::NONE)].exchange;
        (exchange.no_delay, exchange.serves) = (no_delay, from.is_some());
        if from.is_some() {
            self.mark_wait(caller, Barrier::Connect(Call::of(b"accept")));
        }
    }

    fn close_range(&mut self, first: i32, last: i32, leads_to: Option<&[u8]>, caller: Caller) {
        if first == last {
            self.mark_exposure_by_close(first, leads_to, caller);
            self.kernel.close(caller.process, first);
        } else {
            self.mark_exposure(caller, Barrier::StreamClosed);
            self.kernel.close_range(caller.process, first, last);
        }
    }

    fn duplicate(
        &mut self,
        from: Descriptor<'_>,
        to: Descriptor<'_>,
        close_on_exec: bool,
        caller: Caller,
    ) {
        self.resolve(from, caller);
        let process = caller.process;
        if self.kernel.open_file_of(process, to.number).is_some() {
            self.mark_exposure_by_close(to.number, None, caller);
        }
        self.kernel
            .duplicate(process, from.number, to.number, close_on_exec);
    }

    fn set_flags(&mut self, descriptor: Descriptor<'_>, flags: OpenFlags, caller: Caller) {
        let open_file = self.resolve(descriptor, caller);
        self.add_barrier(
            open_file,
            Barrier::Control(Call::of(b"fcntl")),
            true,
            caller,
        );
        let known = &mut self.kernel.open_files[open_file];
        // F_SETFL cannot change O_SYNC, but `flags` has it.
        known.flags = flags;
        known.has_other_writers |= flags.append;
        known.position = None;
    }

    /// The caller has a new child, or a new thread.
    fn fork(&mut self, child: u32, same_process: bool, shares_descriptors: bool, caller: Caller) {
        self.evidence |= FilterEvidence::PROCESSES;
        // The kernel uses the number again.
        self.awaited.remove(&child);
        let (event, process) = (self.event, caller.process);
        self.kernel
            .fork(event, process, child, same_process, shares_descriptors);
        let call = if same_process { THREAD_START } else { "fork" };
        self.mark_wait(caller, Barrier::Process(Call::of(call.as_bytes())));
        if !same_process && let Some(process) = self.kernel.process_mut(process) {
            process.forked = event;
            self.forked = event;
        }
    }

    /// Another program runs in the process of the caller.
    fn execute(&mut self, program: &[u8], caller: Caller) {
        if self.event == 1 {
            self.evidence |= FilterEvidence::BEGIN;
        }
        // What is in a buffer is lost.
        self.mark_wait(caller, Barrier::Process(Call::of(b"execve")));
        let (program, _) = self.full_path(program, None, caller);
        let program = &*program;
        let name = self.pattern_counts.program(last_part(program));
        let by_file = runtime_of_program(program).or_else(|| self.runtimes.get(program).copied());
        let runtime = runtime_of_path(program, by_file);
        for (open_file, is_kept) in self.kernel.open_files_at_execute(caller.process) {
            self.end_runs_of_process(open_file, caller.process, is_kept);
            self.leave_to_another(open_file, caller.process);
        }
        self.kernel.execute(caller.process, name, runtime);
        self.hand_reads_on(caller);
    }

    /// Notes a wait for a child: all that the child did comes before the caller's next events.
    pub(super) fn note_awaited_child(&mut self, child: u32, caller: Caller) {
        if self.awaited.len() >= AWAITED_MAX {
            // A child that is forgotten counts as not waited for.
            self.awaited.clear();
        }
        self.awaited.insert(child, (self.event, caller.process));
    }

    /// Notes transfers through descriptors that the log does not name.
    pub(super) fn submit(&mut self, unseen: bool, caller: Caller) {
        let event = if unseen { u64::MAX } else { self.event };
        let last = self.submitted.entry(caller.process).or_default();
        let is_first = *last == 0;
        *last = event.max(*last);
        if is_first {
            for open_file in self.kernel.open_files_of(caller.process) {
                let known = &self.kernel.open_files[open_file];
                if known.flags.creates {
                    self.files.change(known.name());
                }
                let submitted = &mut self.groups.at(known.group).submitted;
                submitted.note(1, caller.process.generation);
            }
        }
        self.mark_wait(caller, Barrier::Submitted);
    }

    /// Notes a close: the end of a stream shows to its peer, and the release of a lock to processes that
    /// wait for it.
    fn mark_exposure_by_close(&mut self, number: i32, leads_to: Option<&[u8]>, caller: Caller) {
        let open_file = self.kernel.open_file_of(caller.process, number);
        let by = open_file.unwrap_or(DescriptorId::NONE);
        let open_file = open_file.and_then(|open_file| self.kernel.open_files.get_mut(open_file));
        let kind = match &open_file {
            Some(open_file) => open_file.kind,
            None => leads_to.map_or(FdKind::Unknown, kind_of_text),
        };
        let event = self.event;
        let open_file = open_file.map(|open_file| {
            let writes = &mut open_file.runs[WRITES];
            let is_own = writes.last != 0 && writes.last_caller.process == caller.process;
            // A buffer of another descriptor stays.
            if is_own && writes.number == number {
                writes.note_barrier(event, Barrier::Closed);
            }
            &*open_file
        });
        if kind.has_peer() {
            let thread = self.kernel.at(caller.thread);
            thread.last_exposure = (event, Barrier::StreamClosed);
            thread.note(event, Barrier::StreamClosed, (by, false));
        } else if open_file.is_some_and(|open_file| {
            open_file.was_locked || self.groups.get(open_file.group).was_locked
        }) {
            self.mark_exposure(caller, Barrier::Lock(Call::of(b"close of a locked file")));
        }
    }

    pub(super) fn mark_wait(&mut self, caller: Caller, reason: Barrier) {
        let event = self.event;
        let thread = self.kernel.at(caller.thread);
        thread.wait(event, reason);
    }

    pub(super) fn mark_exposure(&mut self, caller: Caller, reason: Barrier) {
        let event = self.event;
        let thread = self.kernel.at(caller.thread);
        thread.expose(event, reason);
    }

    /// Tracks a call if only its name and maybe a descriptor are known.
    pub(super) fn other(
        &mut self,
        effect: Effect,
        descriptor: Option<Descriptor<'_>>,
        caller: Caller,
    ) {
        let known = descriptor
            .filter(|descriptor| descriptor.number >= 0)
            .and_then(|descriptor| self.kernel.open_file_of(caller.process, descriptor.number));
        if let (None, Effect::ExposesWrites(_) | Effect::Waits(_)) = (known, effect)
            && let Some(text) = descriptor.and_then(|by| by.leads_to)
            && kind_of_text(text) == FdKind::File
        {
            // Open before the log began, or it came with a message.
            let serial = self.serial(caller);
            self.groups.note_path(text, self.event, serial, false);
        }
        match effect {
            Effect::Harmless => {}
            Effect::ObservesSize(reason) => match (known, descriptor) {
                (Some(open_file), _) => self.look_at(open_file, reason, caller),
                (None, by) => {
                    match by.map(|by| by.leads_to) {
                        // The descriptor may have come with a message.
                        Some(Some(text)) => {
                            let serial = self.serial(caller);
                            self.groups.note_path(text, self.event, serial, true);
                        }
                        Some(None) => self.looked_at = self.event,
                        None => {}
                    }
                    let thread = self.kernel.at(caller.thread);
                    thread.last_stat = self.event;
                    thread.note(self.event, Barrier::Stat, (DescriptorId::NONE, false));
                }
            },
            Effect::ExposesWrites(reason) => {
                if let Some(open_file) = known {
                    self.add_barrier(open_file, reason, false, caller);
                }
                self.mark_exposure(caller, reason);
            }
            Effect::Waits(reason) => {
                if let Some(open_file) = known {
                    self.add_barrier(open_file, reason, true, caller);
                    if reason == Barrier::Control(Call::of(b"ftruncate")) {
                        let group = self.kernel.open_files[open_file].group;
                        self.groups.at(group).end = 0;
                    }
                    if matches!(reason, Barrier::Lock(_)) {
                        let open_file = &mut self.kernel.open_files[open_file];
                        open_file.was_locked = true;
                        self.groups.at(open_file.group).was_locked = true;
                    }
                }
                self.mark_wait(caller, reason);
                if reason == Barrier::Sleep {
                    self.kernel.at(caller.thread).slept = self.event;
                }
            }
        }
    }

    /// Tracks a call if nothing but its name and maybe a descriptor could be read.
    #[cold]
    pub(super) fn unread(
        &mut self,
        name: &[u8],
        descriptor: Option<Descriptor<'_>>,
        caller: Caller,
    ) {
        let Some(descriptor) = descriptor.filter(|_| moves_bytes(name)) else {
            // The call may have opened or closed any descriptor.
            return self.forget_descriptors();
        };
        let key = self.resolve(descriptor, caller);
        self.other(Effect::Waits(Barrier::Unread), Some(descriptor), caller);
        self.note_writer(key, caller);
        let open_file = &mut self.kernel.open_files[key];
        open_file.position = None;
    }

    /// Puts a barrier between earlier and later transfers through an open file description.
    fn add_barrier(&mut self, key: DescriptorId, reason: Barrier, reads_too: bool, caller: Caller) {
        let serial = self.serial(caller);
        let open_file = &mut self.kernel.open_files[key];
        open_file.runs[WRITES].cross_by(self.event, serial, reason);
        if reads_too {
            open_file.runs[READS].cross_by(self.event, serial, reason);
        }
        self.groups
            .note(open_file.group, self.event, key, serial, false);
    }

    fn sync(&mut self, descriptor: Option<Descriptor<'_>>, caller: Caller) {
        let serial = self.serial(caller);
        let reason = match descriptor {
            Some(_) => Barrier::SyncOther,
            None => Barrier::SyncAll,
        };
        match descriptor {
            Some(descriptor) => {
                let key = self.resolve(descriptor, caller);
                let (thread, open_file) = self.kernel.both(caller.thread, key);
                thread.note(self.event, reason, (key, false));
                let writes = &mut open_file.runs[WRITES];
                if writes.last_caller.thread == serial {
                    writes.cross(self.event, Barrier::SyncOwn);
                }
                let group = self.groups.at(open_file.group);
                group.synced.note(self.event, serial);
            }
            None => {
                self.synced.note(self.event, serial);
                let thread = self.kernel.at(caller.thread);
                thread.note(self.event, reason, (DescriptorId::NONE, false));
            }
        }
        self.kernel.at(caller.thread).last_exposure = (self.event, reason);
    }

    /// `lseek`, with whether it only asked for the offset, depends on the offset, and on the size.
    fn seek(
        &mut self,
        descriptor: Descriptor<'_>,
        position: u64,
        (only_asked, relative, asks_size): (bool, bool, bool),
        caller: Caller,
    ) {
        let key = self.resolve(descriptor, caller);
        let serial = self.serial(caller);
        let open_file = &mut self.kernel.open_files[key];
        if open_file.flags.directory {
            // The folder is listed again.
            self.mark_wait(caller, Barrier::Polled);
            return;
        }
        open_file.may_be_fifo = false;
        open_file.has_shared_offset |=
            open_file.offset_user != Serial::NONE && open_file.offset_user != serial;
        if relative {
            open_file.ask_offset();
        }
        open_file.is_placed |= !relative;
        let moves = !only_asked && open_file.position != Some(position);
        open_file.position = Some(position);
        if moves {
            open_file.sought = self.event;
            open_file.sought_by = serial;
            open_file.sought_size = asks_size;
        }
        for (direction, runs) in open_file.runs.iter_mut().enumerate() {
            let has_offset = runs.last != 0 && !runs.is_positional;
            if has_offset && runs.last_caller.thread != serial {
                runs.cross(self.event, Barrier::SharedOffset);
            } else if has_offset && only_asked {
                runs.cross(self.event, Barrier::Position);
            } else if has_offset && moves {
                runs.note_barrier(self.event, Barrier::Sought);
            } else if has_offset && (direction == READS || !asks_size) {
                // It moves nothing as long as nothing is in a buffer.
                runs.cross(self.event, Barrier::Sought);
            }
        }
        let (reader, group) = (open_file.reader, open_file.group);
        if asks_size {
            self.groups.reach(group, position);
            self.look_at(key, Barrier::Size(Call::of(b"lseek(SEEK_END)")), caller);
        }
        if reader != Serial::NONE && reader != serial {
            self.note_reader(key, serial);
        }
    }
}

/// Ended processes in `awaited`.
const AWAITED_MAX: usize = 4096;
