//! Resolves descriptors by the kernel's tables and by the texts in the log.

use crate::advisor::descriptors::open_file::OpenFile;
use crate::advisor::descriptors::runtime::{is_database, is_database_library};
use crate::advisor::fd_kind::{FdKind, kind_of_path, kind_of_text};
use crate::advisor::keys::DescriptorId;
use crate::advisor::options::Seen;
use crate::advisor::runs::barriers::{Barrier, Call};
use crate::advisor::runs::call_effects;
use crate::advisor::tracker::{Tracker, WRITES};
use crate::languages::{is_interpreted, last_part};
use vectored_strace::event::{Descriptor, OpenFlags, Place};

impl Tracker {
    /// Whether a database library of the process makes the transfers at offsets of a file that the process opens.
    fn is_of_library(&mut self, name: &[u8]) -> bool {
        let process = &mut self.kernel.processes[self.process];
        process.has_database |= is_database_library(name);
        process.has_database && (process.runtime.is_some_and(is_interpreted) || is_database(name))
    }

    pub(super) fn open(
        &mut self,
        descriptor: Descriptor<'_>,
        path: &[u8],
        folder: Option<Descriptor<'_>>,
        flags: OpenFlags,
    ) {
        if path.is_empty() && descriptor.leads_to.is_none() {
            return self.open_unnamed(descriptor, flags);
        }
        if let (None, Some(text)) = (folder, descriptor.leads_to)
            && !path.starts_with(b"/")
        {
            self.learn_folder(path, text);
        }
        let (path, _) = self.full_path(Place { path, folder });
        let path = &*path;
        let kind = match (flags.directory || flags.path_only, descriptor.leads_to) {
            (true, _) => FdKind::Other,
            (false, Some(text)) if kind_of_text(text) != FdKind::File => kind_of_text(text),
            _ => kind_of_path(path),
        };
        let name = descriptor.leads_to.unwrap_or(path);
        let mut parts = last_part(name).split(|&byte| byte == b'.');
        if parts.any(|part| part == b"so") {
            self.evidence |= call_effects::MISSING;
        }
        let is_file = kind == FdKind::File;
        let look = self.options.look;
        let seen = look.filter(|_| is_file || flags.path_only || flags.directory);
        let seen = seen.and_then(|look| look(name));
        let is_fifo =
            is_file && (seen.is_some_and(|seen| seen.is_fifo) || self.fifos.has(last_part(name)));
        let mut open_file = OpenFile::new(kind, flags, descriptor, self.event);
        open_file.is_of_library = self.is_of_library(name);
        open_file.position = (!flags.append && !flags.unread).then_some(0);
        if descriptor.leads_to.is_none() {
            open_file.path = path.to_vec();
        }
        // A new file cannot be a FIFO.
        let is_new = flags.creates || flags.truncates;
        open_file.may_be_fifo = is_file && look.is_some() && seen.is_none() && !is_new;
        open_file.has_other_writers = is_file && flags.append && !flags.exclusive;
        let is_looked_at = flags.path_only && kind_of_path(name) == FdKind::File;
        if kind.is_shared_object() || is_looked_at {
            open_file.group = self.groups.join(&open_file.text, &open_file.path);
        }
        if flags.truncates {
            self.groups.groups[open_file.group].end = 0;
        }
        if open_file.kind.has_peer() {
            // The path is a name such as `/dev/stdin`: another descriptor leads to the same stream.
            open_file.shared_reads = Some(Barrier::OtherReaders);
        }
        if is_fifo {
            turn_to_fifo(&mut open_file);
            // Opening a FIFO waits for the other end.
            self.wait(Barrier::Connect(Call("open of a FIFO")));
        }
        if !flags.creates && !flags.append {
            self.note_poll(Place::of_path(path), false);
        }
        if flags.creates {
            self.note_made(path);
        }
        if flags.creates || flags.truncates {
            // Another process may wait for the file.
            self.expose(Barrier::Created);
        }
        if kind == FdKind::File && flags.append {
            self.reopen(&mut open_file);
        }
        let close_on_exec = flags.close_on_exec;
        let key = self.kernel.open(self.process, open_file, close_on_exec);
        if !is_fifo {
            let folder = name.iter().rposition(|&byte| byte == b'/');
            let folder = folder.filter(|_| seen.is_some()).zip(look);
            let folder = folder.and_then(|(end, look)| look(&name[..end.max(1)]));
            let inode = |seen: Option<Seen>| seen.map(|seen| seen.inode);
            self.identify(key, inode(seen), inode(folder));
        }
        // If the file also has another name, the open file description is now in the group of that name.
        let group = self.kernel.open_files[key].group;
        if flags.truncates {
            self.groups.note(group, self.event, key, self.thread, false);
        }
        if self.submitted.contains_key(&self.process) {
            if flags.creates {
                self.tallies.files.write(name, false);
            }
            let submitted = &mut self.groups.groups[group].submitted;
            submitted.note(1, self.process);
        }
    }

    fn open_unnamed(&mut self, descriptor: Descriptor<'_>, flags: OpenFlags) {
        self.lose();
        let kind = if flags.directory || flags.path_only { FdKind::Other } else { FdKind::Unknown };
        let open_file = OpenFile::new(kind, flags, descriptor, self.event);
        self.kernel
            .open(self.process, open_file, flags.close_on_exec);
    }

    pub(super) fn make(
        &mut self,
        descriptor: Descriptor<'_>,
        kind: FdKind,
        close_on_exec: bool,
    ) -> DescriptorId {
        let mut open_file = OpenFile::new(kind, OpenFlags::default(), descriptor, self.event);
        if let Some(text) = descriptor.leads_to {
            open_file.kind = refined(kind, kind_of_text(text));
        }
        if open_file.kind.is_shared_object() {
            open_file.group = self.groups.join(&open_file.text, b"");
        }
        self.kernel.open(self.process, open_file, close_on_exec)
    }

    /// Resolves a descriptor. If the tables and the text in the log differ, the text is right.
    #[inline]
    pub(super) fn resolve(&mut self, descriptor: Descriptor<'_>) -> DescriptorId {
        let known = self.kernel.open_file_of(self.process, descriptor.number);
        if let Some(key) = known {
            let open_file = &self.kernel.open_files[key];
            let is_it = match descriptor.leads_to {
                Some(text) => open_file.text == text,
                None => open_file.since >= self.forgot,
            };
            if is_it {
                return key;
            }
        }
        match (known, descriptor.leads_to) {
            (Some(key), Some(text)) if self.takes_name(key, text) => key,
            _ => self.inherit(descriptor),
        }
    }

    /// Gives an open file description a new text, if that is possible. For example, a socket has a new text after it
    /// was connected. False if the text is of another file.
    pub(super) fn takes_name(&mut self, key: DescriptorId, text: &[u8]) -> bool {
        let kind = kind_of_text(text);
        let open_file = &self.kernel.open_files[key];
        let is_first = open_file.text.is_empty();
        let both_sockets = open_file.kind.is_socket() && kind.is_socket();
        let is_other = matches!(
            open_file.kind,
            FdKind::Other | FdKind::Datagram | FdKind::Nothing
        );
        let fits = match open_file.kind {
            FdKind::Unknown => is_first,
            known => known == kind || is_other && is_first,
        };
        let is_same =
            kind == FdKind::Socket && socket_number(&open_file.text) == socket_number(text);
        if !(both_sockets || is_same || is_first && fits || is_other && kind == open_file.kind) {
            return false;
        }
        self.end_all_runs(key);
        self.flush_both(key);
        let open_file = &mut self.kernel.open_files[key];
        open_file.text.clear();
        open_file.text.extend_from_slice(text);
        open_file.kind = refined(open_file.kind, kind);
        open_file.has_other_writers &= !open_file.kind.is_socket();
        let old = std::mem::take(&mut open_file.group);
        if open_file.kind.is_shared_object() {
            open_file.group = self.groups.join(&open_file.text, b"");
            self.groups.carry(old, open_file.group);
        }
        self.pattern_counts.settle(self.groups.leave(old));
        true
    }

    /// Adds a descriptor that was open before the log began, or whose `open` is not in the log.
    pub(super) fn inherit(&mut self, descriptor: Descriptor<'_>) -> DescriptorId {
        let kind = descriptor.leads_to.map_or(FdKind::Unknown, kind_of_text);
        let mut open_file = OpenFile::new(kind, OpenFlags::default(), descriptor, self.event);
        open_file.is_inherited = true;
        if descriptor.number > 2 {
            self.evidence |= call_effects::MISSING;
        }
        let standard = usize::try_from(descriptor.number).ok();
        let is_own = standard.and_then(|number| self.own_standard.get(number).copied());
        open_file.has_other_writers = match kind {
            FdKind::File => !is_own.unwrap_or(false),
            kind => matches!(kind, FdKind::Pipe | FdKind::Unknown),
        };
        if kind.is_shared_object() {
            open_file.group = self.groups.join(&open_file.text, b"");
            if let Some(key) = self.shared_with(&open_file) {
                return key;
            }
            if kind == FdKind::File && self.fifos.has(last_part(&open_file.text)) {
                turn_to_fifo(&mut open_file);
            }
        }
        let group = open_file.group;
        let key = self.kernel.open(self.process, open_file, false);
        self.groups.groups[group].inherited = Some(key);
        self.settle_dropped();
        key
    }
}

impl Tracker {
    /// Shares an open file description between two processes, if both had the same number and text before the log
    /// began. The two may be threads of one process to which strace was attached, or may have inherited the open file
    /// description from one parent.
    fn shared_with(&mut self, new: &OpenFile) -> Option<DescriptorId> {
        let key = self.groups.groups[new.group].inherited?;
        let known = &self.kernel.open_files[key];
        let is_same = known.is_inherited && known.first_number == new.number;
        if !is_same || known.text != new.text {
            return None;
        }
        // The known open file description remains in the group.
        self.groups.leave(new.group);
        self.kernel.count_with_another(self.process);
        self.kernel.share(self.process, new.number, key);
        self.settle_dropped();
        Some(key)
    }

    /// Takes over the writes of a file that the thread closed a moment ago, after one write, and now opens again to
    /// append. Only the close and the second open keep the writes apart.
    fn reopen(&mut self, open_file: &mut OpenFile) {
        let is_before = |key: &DescriptorId| {
            let before = &self.kernel.open_files[*key];
            let last_caller = before.runs[WRITES].last_caller;
            before.group == open_file.group && last_caller.thread == self.thread
        };
        let Some(index) = self.closed.iter().position(is_before) else {
            return;
        };
        let Some(key) = self.closed.remove(index) else {
            return;
        };
        let before = &mut self.kernel.open_files[key];
        open_file.runs[WRITES] = std::mem::take(&mut before.runs[WRITES]);
        open_file.runs[WRITES].cross(self.event, Barrier::Reopened);
        self.forget(key);
    }

    pub(super) fn fifo(&mut self, file: Place<'_>) {
        let Some(descriptor) = file.descriptor() else {
            return self.fifos.insert(last_part(file.path));
        };
        let key = self.resolve(descriptor);
        let open_file = &self.kernel.open_files[key];
        if open_file.kind != FdKind::File {
            return;
        }
        self.end_all_runs(key);
        self.flush_both(key);
        let open_file = &mut self.kernel.open_files[key];
        self.fifos.insert(last_part(open_file.name()));
        turn_to_fifo(open_file);
    }
}

/// Turns a file into a FIFO. Processes outside of the log may write to the FIFO.
fn turn_to_fifo(open_file: &mut OpenFile) {
    open_file.kind = FdKind::Pipe;
    open_file.may_be_fifo = false;
    open_file.has_other_writers = true;
}

/// The begin of the text of a socket, up to its number: `UNIX:[7` of `UNIX:[7->8]`.
fn socket_number(text: &[u8]) -> Option<&[u8]> {
    text.split(|&byte| matches!(byte, b'-' | b']')).next()
}

/// The more exact of a known kind and the kind that the log shows.
fn refined(known: FdKind, shown: FdKind) -> FdKind {
    match (known, shown) {
        (FdKind::Unknown | FdKind::Socket, shown) => shown,
        (known, FdKind::Socket | FdKind::Unknown) => known,
        // In the log, a packet pipe looks like any other pipe.
        (FdKind::Other | FdKind::Datagram | FdKind::Nothing, _) => known,
        (_, shown) => shown,
    }
}
