//! Applies the calls that move no bytes.

use crate::advisor::descriptors::fd_kind::{FdKind, kind_of_socket, kind_of_text};
use crate::advisor::descriptors::keys::{DescriptorId, ThreadId};
use crate::advisor::runs::barriers::{Barrier, Call, THREAD_START};
use crate::advisor::runs::call_effects::{self, Effect};
use crate::advisor::runs::pattern::moves_bytes;
use crate::advisor::tracker::names::joined;
use crate::advisor::tracker::{Caller, READS, Tracker, WRITES};
use crate::languages::{last_part, runtime_of_path, runtime_of_program};
use vectored_strace::event::{Action, Descriptor, Event, LinkKind, OpenFlags, Place, Seek};

impl Tracker {
    pub(super) fn change(&mut self, event: &Event<'_>, caller: Caller) {
        let process = caller.process;
        match event.action {
            Action::Open {
                descriptor,
                path,
                folder,
                flags,
            } => self.open(descriptor, path, folder, flags, caller),
            Action::Pair {
                ends,
                kind,
                close_on_exec,
            } => {
                let [one, other] = ends.map(|end| {
                    let key = self.make(end, kind_of_socket(kind), close_on_exec, caller);
                    self.kernel.open_files[key].group
                });
                self.groups.pair(one, other);
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
            Action::Duplicate {
                from,
                to,
                close_on_exec,
            } => {
                self.resolve(from, caller);
                if self.kernel.open_file_of(process, to.number).is_some() {
                    self.expose_by_close(to.number, None, caller);
                }
                self.kernel
                    .duplicate(process, from.number, to.number, close_on_exec);
            }
            Action::Close {
                first,
                last,
                leads_to,
            } if first == last => {
                self.expose_by_close(first, leads_to, caller);
                self.kernel.close(process, first);
            }
            Action::Close { first, last, .. } => {
                self.expose(caller, Barrier::StreamClosed);
                self.kernel.close_range(process, first, last);
            }
            Action::SetFlags { descriptor, flags } => self.set_flags(descriptor, flags, caller),
            Action::SetCloseOnExec {
                descriptor,
                close_on_exec,
            } => self
                .kernel
                .set_close_on_exec(process, descriptor.number, close_on_exec),
            Action::Fork {
                child,
                same_process,
                shares_descriptors,
            } => self.fork(child, same_process, shares_descriptors, caller),
            Action::Execute { program } => self.execute(program, caller),
            Action::Seek(seek) => self.seek(seek, caller),
            _ => self.change_files(event, caller),
        }
    }

    fn change_files(&mut self, event: &Event<'_>, caller: Caller) {
        match event.action {
            Action::Map {
                descriptor,
                writes_through,
            } => {
                let key = self.resolve(descriptor, caller);
                let open_file = &mut self.kernel.open_files[key];
                if writes_through {
                    self.files.change(open_file.name());
                }
                self.groups.map(open_file.group, writes_through);
                // A FIFO cannot be mapped.
                open_file.may_be_fifo = false;
            }
            Action::Sync(descriptor) => self.sync(descriptor, caller),
            Action::Signal => self.wait(caller, Barrier::Signal),
            Action::Wait { child } => {
                if self.awaited.len() >= AWAITED_MAX {
                    // A child that is forgotten counts as not waited for.
                    self.awaited.clear();
                }
                self.awaited.insert(child);
            }
            Action::Ask(ask) => self.ask(&ask, caller),
            Action::Truncate { path } => {
                let (path, _) = self.full_path(Place::of_path(path), caller);
                self.note_path(&path, None, caller, false);
            }
            Action::ChangeFolder(to) => self.change_folder(to, caller),
            Action::MakeFolder(made) => {
                self.note_made(made.path, caller);
                let (path, _) = self.full_path(made, caller);
                self.files.make(&path);
            }
            Action::Link { from, to, kind } => self.link_names(from, to, kind, caller),
            Action::Watch { path } => self.watch(path, caller),
            Action::SetTcpOption {
                descriptor,
                option,
                on,
            } => self.set_tcp_option(descriptor, option, on, caller),
            Action::Fifo(named) => self.fifo(named, caller),
            Action::Connect { descriptor } => self.connect(event, descriptor, caller),
            Action::Poll { ready } => {
                let thread = &mut self.kernel.threads[caller.thread];
                thread.polled = (self.event, ready);
                thread.polled_ns = thread.polled_ns.saturating_add(event.took_ns.unwrap_or(0));
            }
            Action::Other {
                descriptor: Some(descriptor),
            } if event.name == b"shutdown" => {
                let key = self.resolve(descriptor, caller);
                // shutdown(2) sends the waiting bytes at once.
                self.kernel.open_files[key].exchange.writes = 0;
            }
            // Other calls change no descriptor.
            _ => {}
        }
    }

    fn link_names(&mut self, from: Place<'_>, to: Place<'_>, kind: LinkKind, caller: Caller) {
        self.note_made(to.path, caller);
        let new = self.full_path(to, caller).0.into_owned();
        let end = new.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        let old = match kind {
            LinkKind::Symbolic => joined(&new[..end], from.path),
            _ => self.full_path(from, caller).0,
        };
        self.files.link(old.to_vec(), new.clone());
        if kind == LinkKind::Rename {
            self.rename(&old, &new);
        }
        if kind != LinkKind::Rename || self.groups.is_unnamed(from.path) {
            self.groups.link(from.path, to.path);
        }
    }

    fn socket(
        &mut self,
        descriptor: Descriptor<'_>,
        (kind, from): (Option<FdKind>, Option<Descriptor<'_>>),
        close_on_exec: bool,
        caller: Caller,
    ) {
        let from = from.map(|from| self.resolve(from, caller));
        let from = from.map(|from| &self.kernel.open_files[from]);
        let kind = kind.unwrap_or(from.map_or(FdKind::Socket, |from| from.kind));
        let no_delay = from.map_or(Some(false), |from| from.exchange.no_delay);
        let serves = from.is_some();
        let key = self.make(descriptor, kind, close_on_exec, caller);
        let exchange = &mut self.kernel.open_files[key].exchange;
        (exchange.no_delay, exchange.serves) = (no_delay, serves);
        if serves {
            self.wait(caller, Barrier::Connect(Call("accept")));
        }
    }

    fn set_flags(&mut self, descriptor: Descriptor<'_>, flags: OpenFlags, caller: Caller) {
        let open_file = self.resolve(descriptor, caller);
        self.add_barrier(open_file, Barrier::Control(Call("fcntl")), true, caller);
        let known = &mut self.kernel.open_files[open_file];
        // F_SETFL cannot change O_SYNC, but `flags` has it.
        known.flags = flags;
        known.has_other_writers |= flags.append;
        known.position = None;
    }

    fn fork(&mut self, child: u32, same_process: bool, shares_descriptors: bool, caller: Caller) {
        self.evidence |= call_effects::PROCESSES;
        // The kernel uses the number again.
        self.awaited.remove(&child);
        self.kernel
            .fork(caller.process, child, same_process, shares_descriptors);
        let call = if same_process { THREAD_START } else { "fork" };
        self.wait(caller, Barrier::Process(Call(call)));
        if !same_process {
            self.kernel.processes[caller.process].forked = self.event;
        }
    }

    fn execute(&mut self, program: &[u8], caller: Caller) {
        if self.event == 1 {
            self.evidence |= call_effects::BEGIN;
        }
        self.wait(caller, Barrier::Process(Call("execve")));
        let (program, _) = self.full_path(Place::of_path(program), caller);
        let program = &*program;
        let name = self.pattern_counts.program(last_part(program));
        let by_file = runtime_of_program(program).or_else(|| self.runtimes.get(program).copied());
        let runtime = runtime_of_path(program, by_file);
        for (key, is_kept) in self.kernel.open_files_at_execute(caller.process) {
            self.end_runs_of_process(key, caller.process, is_kept);
            // Later calls belong to another program.
            for runs in &mut self.kernel.open_files[key].runs {
                if runs.last_caller.process == caller.process {
                    runs.last_caller.thread = ThreadId::NONE;
                }
            }
        }
        self.kernel.execute(caller.process, name, runtime);
        self.hand_reads_on(caller);
    }

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
                let submitted = &mut self.groups.groups[known.group].submitted;
                submitted.note(1, caller.process);
            }
        }
        self.wait(caller, Barrier::Submitted);
    }

    /// Notes a close: the end of a stream shows to its peer, and the release of a lock to processes that
    /// wait for it.
    fn expose_by_close(&mut self, number: i32, leads_to: Option<&[u8]>, caller: Caller) {
        let key = self.kernel.open_file_of(caller.process, number);
        let key = key.unwrap_or_default();
        let (thread, open_file) = self.kernel.both(caller.thread, key);
        let kind = match leads_to {
            Some(text) if key == DescriptorId::NONE => kind_of_text(text),
            _ => open_file.kind,
        };
        let writes = &mut open_file.runs[WRITES];
        let is_own = writes.last != 0 && writes.last_caller.process == caller.process;
        // A buffer of another descriptor stays.
        if is_own && writes.number == number {
            writes.note_barrier(self.event, Barrier::Closed);
        }
        if kind.has_peer() {
            thread.note(self.event, Barrier::StreamClosed, key, false);
        } else if open_file.was_locked || self.groups.groups[open_file.group].was_locked {
            self.expose(caller, Barrier::Lock(Call("close of a locked file")));
        }
    }

    /// Notes an event at which the thread may wait for another process.
    pub(super) fn wait(&mut self, caller: Caller, reason: Barrier) {
        self.kernel.threads[caller.thread].note(self.event, reason, DescriptorId::NONE, true);
    }

    /// Notes an event after which another process may rely on earlier writes.
    pub(super) fn expose(&mut self, caller: Caller, reason: Barrier) {
        self.kernel.threads[caller.thread].note(self.event, reason, DescriptorId::NONE, false);
    }

    pub(super) fn other(
        &mut self,
        effect: Effect,
        descriptor: Option<Descriptor<'_>>,
        caller: Caller,
    ) {
        let known = descriptor
            .filter(|descriptor| descriptor.number >= 0)
            .and_then(|descriptor| self.kernel.open_file_of(caller.process, descriptor.number));
        let observes = matches!(effect, Effect::ObservesSize(_));
        if let (None, Some(text)) = (known, descriptor.and_then(|by| by.leads_to))
            && (observes || effect != Effect::Harmless && kind_of_text(text) == FdKind::File)
        {
            // Open before the log began, or it came with a message.
            self.groups
                .note_path(text, None, self.event, caller.thread, observes);
        }
        match effect {
            Effect::Harmless => {}
            Effect::ObservesSize(reason) => match known {
                Some(open_file) => self.look_at(open_file, reason, caller),
                None => {
                    if descriptor.is_some_and(|by| by.leads_to.is_none()) {
                        self.looked_at = self.event;
                    }
                    self.expose(caller, Barrier::Stat);
                }
            },
            Effect::ExposesWrites(reason) => {
                if let Some(open_file) = known {
                    self.add_barrier(open_file, reason, false, caller);
                }
                self.expose(caller, reason);
            }
            Effect::Waits(reason) => {
                if let Some(key) = known {
                    self.add_barrier(key, reason, true, caller);
                    let open_file = &mut self.kernel.open_files[key];
                    let group = &mut self.groups.groups[open_file.group];
                    if reason == Barrier::Control(Call("ftruncate")) {
                        group.end = 0;
                    }
                    if matches!(reason, Barrier::Lock(_)) {
                        (open_file.was_locked, group.was_locked) = (true, true);
                    }
                }
                self.wait(caller, reason);
                if reason == Barrier::Sleep {
                    self.kernel.threads[caller.thread].slept = self.event;
                }
            }
        }
    }

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
        self.kernel.open_files[key].position = None;
    }

    fn add_barrier(&mut self, key: DescriptorId, reason: Barrier, reads_too: bool, caller: Caller) {
        let open_file = &mut self.kernel.open_files[key];
        for runs in &mut open_file.runs[..1 + usize::from(reads_too)] {
            runs.cross_by(self.event, caller.thread, reason);
        }
        self.groups
            .note(open_file.group, self.event, key, caller.thread, false);
    }

    fn sync(&mut self, descriptor: Option<Descriptor<'_>>, caller: Caller) {
        let Some(descriptor) = descriptor else {
            self.synced.note(self.event, caller.thread);
            return self.expose(caller, Barrier::SyncAll);
        };
        let key = self.resolve(descriptor, caller);
        let (thread, open_file) = self.kernel.both(caller.thread, key);
        thread.note(self.event, Barrier::SyncOther, key, false);
        let writes = &mut open_file.runs[WRITES];
        if writes.last_caller.thread == caller.thread {
            writes.cross(self.event, Barrier::SyncOwn);
        }
        let group = &mut self.groups.groups[open_file.group];
        group.synced.note(self.event, caller.thread);
    }

    fn seek(&mut self, seek: Seek<'_>, caller: Caller) {
        let Seek {
            position,
            only_asked,
            asks_size,
            ..
        } = seek;
        let key = self.resolve(seek.descriptor, caller);
        let open_file = &mut self.kernel.open_files[key];
        if open_file.flags.directory {
            // The folder is listed again.
            self.wait(caller, Barrier::Polled);
            return;
        }
        open_file.may_be_fifo = false;
        open_file.has_shared_offset |=
            open_file.offset_user != ThreadId::NONE && open_file.offset_user != caller.thread;
        if seek.relative {
            // Even if a seek set the offset.
            open_file.offset_is_used |= open_file.was_sought || open_file.is_placed;
        }
        open_file.is_placed |= !seek.relative;
        let moves = !only_asked && open_file.position != Some(position);
        open_file.position = Some(position);
        if moves {
            open_file.sought = self.event;
            open_file.sought_by = caller.thread;
            open_file.sought_size = asks_size;
        }
        for (direction, runs) in open_file.runs.iter_mut().enumerate() {
            if runs.last == 0 || runs.is_positional {
                continue;
            }
            if runs.last_caller.thread != caller.thread {
                runs.cross(self.event, Barrier::SharedOffset);
            } else if only_asked {
                runs.cross(self.event, Barrier::Position);
            } else if moves {
                runs.note_barrier(self.event, Barrier::Sought);
            } else if direction == READS || !asks_size {
                // The seek moves nothing as long as nothing is in a buffer.
                runs.cross(self.event, Barrier::Sought);
            }
        }
        let (reader, group) = (open_file.reader, open_file.group);
        if asks_size {
            self.groups.groups[group].reach(position);
            self.look_at(key, Barrier::Size(Call("lseek(SEEK_END)")), caller);
        }
        if reader != ThreadId::NONE && reader != caller.thread {
            self.note_reader(key, caller.thread);
        }
    }
}

const AWAITED_MAX: usize = 4096;
