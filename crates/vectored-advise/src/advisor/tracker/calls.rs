//! Applies the calls that move no bytes.

use crate::advisor::fd_kind::{FdKind, kind_of_socket, kind_of_text};
use crate::advisor::keys::{DescriptorId, ThreadId};
use crate::advisor::runs::barriers::{Barrier, Call, THREAD_START};
use crate::advisor::runs::call_effects::{self, Effect};
use crate::advisor::runs::pattern::moves_bytes;
use crate::advisor::tracker::names::joined;
use crate::advisor::tracker::{READS, Tracker, WRITES};
use crate::languages::{last_part, runtime_of_path, runtime_of_program};
use vectored_strace::event::{Action, Descriptor, Event, LinkKind, OpenFlags, Place, Seek};

impl Tracker {
    pub(super) fn change(&mut self, event: &Event<'_>) {
        let process = self.process;
        match event.action {
            Action::Open {
                descriptor,
                path,
                folder,
                flags,
            } => self.open(descriptor, path, folder, flags),
            Action::Pair {
                ends,
                kind,
                close_on_exec,
            } => {
                let [one, other] = ends.map(|end| {
                    let key = self.make(end, kind_of_socket(kind), close_on_exec);
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
                self.socket(descriptor, (kind, from), close_on_exec);
            }
            Action::Duplicate {
                from,
                to,
                close_on_exec,
            } => {
                self.resolve(from);
                if self.kernel.open_file_of(process, to.number).is_some() {
                    self.expose_by_close(to.number, None);
                }
                self.kernel
                    .duplicate(process, from.number, to.number, close_on_exec);
            }
            Action::Close {
                first,
                last,
                leads_to,
            } if first == last => {
                self.expose_by_close(first, leads_to);
                self.kernel.close(process, first);
            }
            Action::Close { first, last, .. } => {
                self.expose(Barrier::StreamClosed);
                self.kernel.close_range(process, first, last);
            }
            Action::SetFlags { descriptor, flags } => self.set_flags(descriptor, flags),
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
            } => self.fork(child, same_process, shares_descriptors),
            Action::Execute { program } => self.execute(program),
            Action::Seek(seek) => self.seek(seek),
            _ => self.change_files(event),
        }
    }

    fn change_files(&mut self, event: &Event<'_>) {
        match event.action {
            Action::Map {
                descriptor,
                writes_through,
            } => {
                let key = self.resolve(descriptor);
                let open_file = &mut self.kernel.open_files[key];
                if writes_through {
                    self.tallies.files.write(open_file.name(), false);
                }
                self.groups.map(open_file.group, writes_through);
                // A FIFO cannot be mapped.
                open_file.may_be_fifo = false;
            }
            Action::Sync(descriptor) => self.sync(descriptor),
            Action::Signal => self.wait(Barrier::Signal),
            Action::Wait { child } => {
                if self.awaited.len() >= AWAITED_MAX {
                    // A forgotten child counts as not waited for.
                    self.awaited.clear();
                }
                self.awaited.insert(child);
            }
            Action::Ask(ask) => self.ask(&ask),
            Action::Truncate { path } => {
                let (path, _) = self.full_path(Place::of_path(path));
                self.note_path(&path, None, false);
            }
            Action::ChangeFolder(to) => self.change_folder(to),
            Action::MakeFolder(made) => self.note_made(made.path),
            Action::Link { from, to, kind } => self.link_names(from, to, kind),
            Action::Watch { path } => self.watch(path),
            Action::SetTcpOption {
                descriptor,
                option,
                on,
            } => self.set_tcp_option(descriptor, option, on),
            Action::Fifo(named) => self.fifo(named),
            Action::Connect { descriptor } => self.connect(event, descriptor),
            Action::Poll { ready } => {
                let thread = &mut self.kernel.threads[self.thread];
                thread.polled = (self.event, ready);
                thread.polled_ns = thread.polled_ns.saturating_add(event.took_ns.unwrap_or(0));
            }
            Action::Other {
                descriptor: Some(descriptor),
            } if event.name == b"shutdown" => {
                let key = self.resolve(descriptor);
                // shutdown(2) sends the waiting bytes at once.
                self.kernel.open_files[key].exchange.writes = 0;
            }
            _ => {}
        }
    }

    fn link_names(&mut self, from: Place<'_>, to: Place<'_>, kind: LinkKind) {
        self.note_made(to.path);
        let new = self.full_path(to).0.into_owned();
        let end = new.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        let old = match kind {
            LinkKind::Symbolic => joined(&new[..end], from.path),
            _ => self.full_path(from).0,
        };
        self.tallies.files.link(&old, &new);
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
    ) {
        let from = from.map(|from| self.resolve(from));
        let from = from.map(|from| &self.kernel.open_files[from]);
        let kind = kind.unwrap_or(from.map_or(FdKind::Socket, |from| from.kind));
        let no_delay = from.map_or(Some(false), |from| from.exchange.no_delay);
        let serves = from.is_some();
        let key = self.make(descriptor, kind, close_on_exec);
        let exchange = &mut self.kernel.open_files[key].exchange;
        (exchange.no_delay, exchange.serves) = (no_delay, serves);
        if serves {
            self.wait(Barrier::Connect(Call("accept")));
        }
    }

    fn set_flags(&mut self, descriptor: Descriptor<'_>, flags: OpenFlags) {
        let open_file = self.resolve(descriptor);
        self.add_barrier(open_file, Barrier::Control(Call("fcntl")), true);
        let known = &mut self.kernel.open_files[open_file];
        // F_SETFL cannot change O_SYNC; programs repeat O_SYNC in `flags`.
        known.flags = flags;
        known.has_other_writers |= flags.append;
        known.position = None;
    }

    fn fork(&mut self, child: u32, same_process: bool, shares_descriptors: bool) {
        self.evidence |= call_effects::PROCESSES;
        // The kernel may use the number again.
        self.awaited.remove(&child);
        self.kernel
            .fork(self.process, child, same_process, shares_descriptors);
        let call = if same_process { THREAD_START } else { "fork" };
        self.wait(Barrier::Process(Call(call)));
        if !same_process {
            self.kernel.processes[self.process].forked = self.event;
        }
    }

    fn execute(&mut self, program: &[u8]) {
        if self.event == 1 {
            self.evidence |= call_effects::BEGIN;
        }
        self.wait(Barrier::Process(Call("execve")));
        let (program, _) = self.full_path(Place::of_path(program));
        let program = &*program;
        let name = self.pattern_counts.programs.number(last_part(program));
        let by_file = runtime_of_program(program).or_else(|| self.runtimes.get(program).copied());
        let runtime = runtime_of_path(program, by_file);
        for (key, is_kept) in self.kernel.open_files_of(self.process) {
            self.end_runs_of_process(key, self.process, is_kept);
            // Later calls belong to another program.
            for runs in &mut self.kernel.open_files[key].runs {
                if runs.last_caller.process == self.process {
                    runs.last_caller.thread = ThreadId::NONE;
                }
            }
        }
        self.kernel.execute(self.process, name, runtime);
        // Another program has the open files now.
        for (key, _) in self.kernel.open_files_of(self.process) {
            let open_file = &mut self.kernel.open_files[key];
            if open_file.offset_user == self.thread {
                open_file.offset_user = ThreadId::EARLIER_PROGRAM;
            }
            if open_file.kind.has_peer() && open_file.reader != ThreadId::NONE {
                self.share_reads(key, Barrier::OtherReaders);
            } else if open_file.reader == self.thread {
                open_file.reader = ThreadId::EARLIER_PROGRAM;
            }
        }
    }

    pub(super) fn submit(&mut self, unseen: bool) {
        let event = if unseen { u64::MAX } else { self.event };
        let last = self.submitted.entry(self.process).or_default();
        let is_first = *last == 0;
        *last = event.max(*last);
        if is_first {
            for (open_file, _) in self.kernel.open_files_of(self.process) {
                let known = &self.kernel.open_files[open_file];
                if known.flags.creates {
                    self.tallies.files.write(known.name(), false);
                }
                let submitted = &mut self.groups.groups[known.group].submitted;
                submitted.note(1, self.process);
            }
        }
        self.wait(Barrier::Submitted);
    }

    /// Notes a close. The peer sees the end of a stream, and processes that wait for a lock see the release of the
    /// lock.
    fn expose_by_close(&mut self, number: i32, leads_to: Option<&[u8]>) {
        let key = self.kernel.open_file_of(self.process, number);
        let key = key.unwrap_or_default();
        let thread = &mut self.kernel.threads[self.thread];
        let open_file = &mut self.kernel.open_files[key];
        let kind = match leads_to {
            Some(text) if key == DescriptorId::NONE => kind_of_text(text),
            _ => open_file.kind,
        };
        let writes = &mut open_file.runs[WRITES];
        let is_own = writes.last != 0 && writes.last_caller.process == self.process;
        // The close of a descriptor leaves the buffer of another descriptor as it is.
        if is_own && writes.number == number {
            writes.note_barrier(self.event, Barrier::Closed);
        }
        if kind.has_peer() {
            thread.note(self.event, Barrier::StreamClosed, key, false);
        } else if open_file.was_locked || self.groups.groups[open_file.group].was_locked {
            self.expose(Barrier::Lock(Call("close of a locked file")));
        }
    }

    /// Notes an event at which the thread may wait for another process.
    pub(super) fn wait(&mut self, reason: Barrier) {
        self.kernel.threads[self.thread].note(self.event, reason, DescriptorId::NONE, true);
    }

    /// Notes an event after which another process may rely on earlier writes.
    pub(super) fn expose(&mut self, reason: Barrier) {
        self.kernel.threads[self.thread].note(self.event, reason, DescriptorId::NONE, false);
    }

    pub(super) fn other(&mut self, effect: Effect, descriptor: Option<Descriptor<'_>>) {
        let known = descriptor
            .filter(|descriptor| descriptor.number >= 0)
            .and_then(|descriptor| self.kernel.open_file_of(self.process, descriptor.number));
        let observes = matches!(effect, Effect::ObservesSize(_));
        if let (None, Some(text)) = (known, descriptor.and_then(|by| by.leads_to))
            && (observes || effect != Effect::Harmless && kind_of_text(text) == FdKind::File)
        {
            // The descriptor was open before the log began, or came with a message.
            self.groups
                .note_path(text, None, self.event, self.thread, observes);
        }
        match effect {
            Effect::Harmless => {}
            Effect::ObservesSize(reason) => match known {
                Some(open_file) => self.look_at(open_file, reason),
                None => {
                    if descriptor.is_some_and(|by| by.leads_to.is_none()) {
                        self.looked_at = self.event;
                    }
                    self.expose(Barrier::Stat);
                }
            },
            Effect::ExposesWrites(reason) => {
                if let Some(open_file) = known {
                    self.add_barrier(open_file, reason, false);
                }
                self.expose(reason);
            }
            Effect::Waits(reason) => {
                if let Some(key) = known {
                    self.add_barrier(key, reason, true);
                    let open_file = &mut self.kernel.open_files[key];
                    let group = &mut self.groups.groups[open_file.group];
                    if reason == Barrier::Control(Call("ftruncate")) {
                        group.end = 0;
                    }
                    if matches!(reason, Barrier::Lock(_)) {
                        (open_file.was_locked, group.was_locked) = (true, true);
                    }
                }
                self.wait(reason);
                if reason == Barrier::Sleep {
                    self.kernel.threads[self.thread].slept = self.event;
                }
            }
        }
    }

    #[cold]
    pub(super) fn unread(&mut self, name: &[u8], descriptor: Option<Descriptor<'_>>) {
        let Some(descriptor) = descriptor.filter(|_| moves_bytes(name)) else {
            // The call may have opened or closed any descriptor.
            return self.forget_descriptors();
        };
        let key = self.resolve(descriptor);
        self.other(Effect::Waits(Barrier::Unread), Some(descriptor));
        self.note_writer(key);
        self.kernel.open_files[key].position = None;
    }

    fn add_barrier(&mut self, key: DescriptorId, reason: Barrier, reads_too: bool) {
        let open_file = &mut self.kernel.open_files[key];
        for runs in &mut open_file.runs[..1 + usize::from(reads_too)] {
            runs.cross_by(self.event, self.thread, reason);
        }
        self.groups
            .note(open_file.group, self.event, key, self.thread, false);
    }

    fn sync(&mut self, descriptor: Option<Descriptor<'_>>) {
        let Some(descriptor) = descriptor else {
            self.synced.note(self.event, self.thread);
            return self.expose(Barrier::SyncAll);
        };
        let key = self.resolve(descriptor);
        let thread = &mut self.kernel.threads[self.thread];
        let open_file = &mut self.kernel.open_files[key];
        thread.note(self.event, Barrier::SyncOther, key, false);
        let writes = &mut open_file.runs[WRITES];
        if writes.last_caller.thread == self.thread {
            writes.cross(self.event, Barrier::SyncOwn);
        }
        let group = &mut self.groups.groups[open_file.group];
        group.synced.note(self.event, self.thread);
    }

    fn seek(&mut self, seek: Seek<'_>) {
        let (position, asks_size) = (seek.position, seek.asks_size);
        let key = self.resolve(seek.descriptor);
        let open_file = &mut self.kernel.open_files[key];
        if open_file.flags.directory {
            // After the seek, the program lists the folder again.
            self.wait(Barrier::Polled);
            return;
        }
        open_file.may_be_fifo = false;
        open_file.has_shared_offset |=
            open_file.offset_user != ThreadId::NONE && open_file.offset_user != self.thread;
        if seek.relative {
            // The call uses the present offset, even if a seek set that offset.
            open_file.offset_is_used |= open_file.was_sought || open_file.is_placed;
        }
        open_file.is_placed |= !seek.relative;
        let moves = !seek.only_asked && open_file.position != Some(position);
        open_file.position = Some(position);
        if moves {
            open_file.sought = self.event;
            open_file.sought_by = self.thread;
            open_file.sought_size = asks_size;
        }
        for (direction, runs) in open_file.runs.iter_mut().enumerate() {
            if runs.last == 0 || runs.is_positional {
                continue;
            }
            if runs.last_caller.thread != self.thread {
                runs.cross(self.event, Barrier::SharedOffset);
            } else if seek.only_asked {
                runs.cross(self.event, Barrier::Position);
            } else if moves {
                runs.note_barrier(self.event, Barrier::Sought);
            } else if direction == READS || !asks_size {
                // If no buffer holds a byte, the seek moves nothing.
                runs.cross(self.event, Barrier::Sought);
            }
        }
        let (reader, group) = (open_file.reader, open_file.group);
        if asks_size {
            self.groups.groups[group].reach(position);
            self.look_at(key, Barrier::Size(Call("lseek(SEEK_END)")));
        }
        if reader != ThreadId::NONE && reader != self.thread {
            self.note_reader(key, self.thread);
        }
    }
}

const AWAITED_MAX: usize = 4096;
