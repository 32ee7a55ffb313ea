//! Files, pipes and sockets, and all uses of each through any open file description.

use std::collections::BTreeSet;

use crate::advisor::descriptors::latest::Latest;
use crate::advisor::descriptors::name_set::{NameSet, hash};
use crate::advisor::keys::{Arena, DescriptorId, GroupId, ProcessId, ThreadId};
use crate::advisor::runs::barriers::Barrier;
use crate::advisor::runs::tally::HeldFindings;
use crate::languages::last_part;
use rustc_hash::{FxHashMap, FxHashSet};

const LINKS_MAX: usize = 1 << 16;

/// The most threads that may write one after the other. A file with more such threads counts as a file of several
/// writers.
const WRITERS_MAX: usize = 8;

pub(crate) type Inode = (u64, u64);

#[derive(Debug, Default)]
pub(crate) struct FileGroups {
    /// Files by device and inode, if these are known.
    by_inode: FxHashMap<Inode, GroupId>,
    /// Files by the hash of the last part of their paths, since the path in a call may be relative.
    by_last_part: BTreeSet<(u64, GroupId)>,
    pub(crate) groups: Arena<3, Group>,
    /// For each further path of a file: from the hash of the path's last part to the hash of the first path's last
    /// part.
    links: FxHashMap<u64, u64>,
    /// Files and folders that inotify or fanotify watches, by the last parts of their paths.
    watched: NameSet,
    watched_inodes: FxHashSet<Inode>,
    /// Whether all files are watched, or a folder is watched whose name is not in the log.
    watches_all: bool,
    mapped: NameSet,
    mapped_to_write: NameSet,
}

/// The open file descriptions of one file, or of one end of a stream.
#[derive(Debug, Default)]
pub(crate) struct Group {
    /// Empty if the name is unknown.
    name: Vec<u8>,
    inode: Option<Inode>,
    folder: Option<Inode>,
    pub(crate) members: u32,
    pub(crate) inherited: Option<DescriptorId>,
    pub(crate) is_watched: bool,
    is_mapped: bool,
    is_mapped_to_write: bool,
    pub(crate) was_locked: bool,
    pub(crate) end: u64,
    reader: Option<DescriptorId>,
    written: Latest<DescriptorId>,
    read: Latest<DescriptorId>,
    /// The last events that read the file or looked at its size, by thread; `read` has them by open file description.
    pub(crate) looked_at: Latest<ThreadId>,
    /// The last events that wrote the file or may have changed it, by thread; `written` has them by open file
    /// description.
    changed: Latest<ThreadId>,
    pub(crate) synced: Latest<ThreadId>,
    writers: Vec<Writer>,
    /// The group of the other end, if that end has its own group.
    peer: GroupId,
    /// The process that first read the bytes written to the stream.
    drain: Option<ProcessId>,
    /// Processes that have the file open and use io_uring or AIO. Their transfers may be missing in the log.
    pub(crate) submitted: Latest<ProcessId>,
    /// Why no write to the file is counted.
    pub(crate) listed: Option<Barrier>,
    /// Findings of writes. They are counted unless the rest of the log gives a reason not to.
    pub(crate) held: HeldFindings,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer {
    pub(crate) thread: ThreadId,
    pub(crate) process: ProcessId,
    pub(crate) number: u32,
    pub(crate) last: u64,
}

impl Group {
    #[inline]
    pub(crate) fn reach(&mut self, end: u64) -> u64 {
        let before = self.end;
        self.end = before.max(end);
        before
    }

    pub(crate) fn is_written_by_others(&self, thread: ThreadId) -> bool {
        self.listed == Some(Barrier::SeveralWriters)
            || self.writers.iter().any(|writer| writer.thread != thread)
    }
}

impl FileGroups {
    pub(crate) fn forget(&mut self) {
        self.by_inode.clear();
        self.by_last_part.clear();
        self.groups.clear();
    }

    /// Adds an open file description to the group of its name, and returns the key of the group. `shown` is the whole
    /// path or the stream, from `strace -y`. `path` is from a call and may be relative: only its last part is used.
    pub(crate) fn join(&mut self, shown: &[u8], path: &[u8]) -> GroupId {
        let name = if shown.is_empty() { last_part(path) } else { shown };
        if name.is_empty() {
            return self.groups.insert(Group {
                members: 1,
                ..Group::default()
            });
        }
        let last = self.root(name);
        let linked = || self.alike(last).next().filter(|_| !self.links.is_empty());
        let key = match self.named(name).or_else(linked) {
            Some(key) => key,
            None => {
                let key = self.groups.insert(Group {
                    name: name.to_vec(),
                    is_mapped: self.mapped.has(name),
                    is_mapped_to_write: self.mapped_to_write.has(name),
                    ..Group::default()
                });
                self.by_last_part.insert((last, key));
                key
            }
        };
        self.groups[key].members += 1;
        key
    }

    /// Notes device and inode of a file, and of the file's folder. Returns the group of the same file by another name.
    pub(crate) fn identify(
        &mut self,
        key: GroupId,
        inode: Option<Inode>,
        folder: Option<Inode>,
    ) -> Option<GroupId> {
        let group = self.groups.get_mut(key)?;
        group.folder = folder.or(group.folder);
        let inode = inode?;
        match *self.by_inode.entry(inode).or_insert(key) {
            same if same == key => {
                if let Some(before) = group.inode.replace(inode).filter(|&before| before != inode) {
                    self.by_inode.remove(&before);
                }
                None
            }
            other => Some(other),
        }
    }

    pub(crate) fn link(&mut self, from: &[u8], to: &[u8]) {
        if self.links.len() >= LINKS_MAX {
            self.links.clear();
        }
        let (from, to) = (self.root(from), hash(last_part(to)));
        if from != to {
            self.links.insert(to, from);
            for key in self.alike(to).collect::<Vec<_>>() {
                self.by_last_part.remove(&(to, key));
                self.by_last_part.insert((from, key));
            }
        }
    }

    fn alike(&self, last: u64) -> impl Iterator<Item = GroupId> + '_ {
        let alike = self.by_last_part.range((last, GroupId::NONE)..);
        alike.take_while(move |one| one.0 == last).map(|one| one.1)
    }

    fn named(&self, name: &[u8]) -> Option<GroupId> {
        let mut alike = self.alike(self.root(name));
        alike.find(|&key| self.groups[key].name == name)
    }

    /// Whether a path leads to an open file whose new name the log would not show after a rename.
    pub(crate) fn is_unnamed(&self, path: &[u8]) -> bool {
        let mut alike = self.alike(self.root(path));
        alike.any(|key| !self.groups[key].name.contains(&b'/'))
    }

    /// The hash of the last part of a file's path. All names of a file have the same hash.
    fn root(&self, path: &[u8]) -> u64 {
        let own = hash(last_part(path));
        self.links.get(&own).copied().unwrap_or(own)
    }

    /// If the last member has left, returns the held findings.
    pub(crate) fn leave(&mut self, key: GroupId) -> HeldFindings {
        let group = &mut self.groups[key];
        group.members = group.members.saturating_sub(1);
        if group.members > 0 {
            return HeldFindings::default();
        }
        let group = self.groups.try_remove(key).unwrap_or_default();
        if let Some(inode) = group.inode {
            self.by_inode.remove(&inode);
        }
        self.groups[group.peer].peer = GroupId::NONE;
        let last = self.root(&group.name);
        self.by_last_part.remove(&(last, key));
        group.held
    }

    /// Copies the facts about one group to another, when the log shows an open file description by a new name.
    pub(crate) fn carry(&mut self, from: GroupId, to: GroupId) {
        if from == to || from == GroupId::NONE || to == GroupId::NONE {
            return;
        }
        let old = &mut self.groups[from];
        let (writers, listed) = (old.writers.clone(), old.listed);
        let (reader, drain, end) = (old.reader, old.drain, old.end);
        let peer = std::mem::take(&mut old.peer);
        let held = std::mem::take(&mut old.held);
        if peer != GroupId::NONE {
            self.pair(peer, to);
        }
        let new = &mut self.groups[to];
        let first_of = |writers: &[Writer]| writers.first().map(|writer| writer.thread);
        let differ = !new.writers.is_empty() && first_of(&new.writers) != first_of(&writers);
        if differ && !writers.is_empty() {
            new.listed = Some(Barrier::SeveralWriters);
        }
        new.listed = new.listed.or(listed);
        new.end = new.end.max(end);
        new.drain = new.drain.or(drain);
        if new.writers.is_empty() {
            new.writers = writers;
        }
        new.reader = new.reader.or(reader);
        for (place, counts) in held {
            new.held.entry(place).or_default().join(counts);
        }
    }

    /// Notes that a stream is read through an open file description. If the stream was first read through another
    /// description, returns that description.
    pub(crate) fn note_reader(
        &mut self,
        key: GroupId,
        open_file: DescriptorId,
    ) -> Option<DescriptorId> {
        let group = self.groups.get_mut(key)?;
        let first = *group.reader.get_or_insert(open_file);
        (first != open_file).then_some(first)
    }

    pub(crate) fn list(&mut self, key: GroupId, reason: Barrier) -> Option<HeldFindings> {
        let group = self.groups.get_mut(key)?;
        group.listed.get_or_insert(reason);
        Some(std::mem::take(&mut group.held))
    }

    /// Notes that bytes written to one end come out of the other end.
    pub(crate) fn pair(&mut self, one: GroupId, other: GroupId) {
        if one != other && one != GroupId::NONE && other != GroupId::NONE {
            self.groups[one].peer = other;
            self.groups[other].peer = one;
        }
    }

    /// Notes that a process reads a pipe or socket. If the process also wrote the bytes that it reads, returns the
    /// group of the writes: the pipe itself, or the peer of the socket.
    pub(crate) fn note_drain(
        &mut self,
        key: GroupId,
        is_pipe: bool,
        process: ProcessId,
    ) -> Option<GroupId> {
        let written = match self.groups.get(key)?.peer {
            GroupId::NONE if is_pipe => key,
            GroupId::NONE => return None,
            peer => peer,
        };
        let group = self.groups.get_mut(written)?;
        group.drain.get_or_insert(process);
        let mut writers = group.writers.iter();
        let is_own = writers.any(|writer| writer.process == process);
        is_own.then_some(written)
    }

    pub(crate) fn watch(&mut self, path: &[u8], inode: Option<Inode>) {
        self.watched_inodes.extend(inode);
        match last_part(path.strip_suffix(b"/").unwrap_or(path)) {
            b"" | b"." | b".." => self.watches_all = true,
            name => self.watched.insert(name),
        }
    }

    /// Gives an open file another name. Returns false if no file named `from` is open.
    pub(crate) fn rename(&mut self, from: &[u8], to: &[u8]) -> bool {
        let Some(key) = self.named(from) else {
            return false;
        };
        let (before, after) = (self.root(from), self.root(to));
        // The file that had the new name can no longer be found by that name.
        let gone = self.named(to).unwrap_or_default();
        self.by_last_part.remove(&(before, key));
        self.by_last_part.remove(&(after, gone));
        self.by_last_part.insert((after, key));
        self.groups[key].name = to.to_vec();
        true
    }

    /// Notes a write. Returns false if [`add_writer`](FileGroups::add_writer) has to be called for the write.
    #[inline]
    pub(crate) fn note_write(&mut self, key: GroupId, event: u64, thread: ThreadId) -> bool {
        let Some(group) = self.groups.get_mut(key) else {
            return true;
        };
        match group.writers.last_mut() {
            Some(writer) if writer.thread == thread => {
                writer.last = event;
                true
            }
            _ => group.listed.is_some(),
        }
    }

    /// Notes a write by another thread than the last writer. `is_over` is true for a writer that ended earlier and was
    /// waited for. `has_flushed` is true for a writer whose process has forked since the writer's last write: before a
    /// fork, a buffer is empty. Returns why no further write to the file is counted.
    pub(crate) fn add_writer(
        &mut self,
        key: GroupId,
        new: Writer,
        is_over: impl Fn(&Writer) -> bool,
        has_flushed: impl Fn(&Writer) -> bool,
    ) -> Option<Barrier> {
        let group = self.groups.get_mut(key)?;
        group.writers.retain(|writer| !is_over(writer));
        let comes_after = match group.writers.last_mut() {
            Some(writer) if writer.thread == new.thread => {
                writer.last = new.last;
                return None;
            }
            Some(writer) => has_flushed(writer),
            None => true,
        };
        let is_known = group.writers.iter().any(|one| one.thread == new.thread);
        if !comes_after || is_known || group.writers.len() >= WRITERS_MAX {
            return group.listed.or(Some(Barrier::SeveralWriters));
        }
        group.writers.push(new);
        let wakes = group.drain == Some(new.process);
        wakes.then(|| group.listed.unwrap_or(Barrier::WakeUp))
    }

    /// Notes a use of a file by a thread through the open file description `by`: a read or a look at the size if
    /// `is_read`, otherwise a write or a possible change.
    #[inline]
    pub(crate) fn note(
        &mut self,
        key: GroupId,
        event: u64,
        by: DescriptorId,
        thread: ThreadId,
        is_read: bool,
    ) {
        if let Some(group) = self.groups.get_mut(key) {
            if is_read {
                group.read.note(event, by);
                group.looked_at.note(event, thread);
            } else {
                group.written.note(event, by);
                group.changed.note(event, thread);
            }
        }
    }

    /// Notes a read or a write of each file that a path may lead to, and of the file with the inode. Returns the number
    /// of these files.
    pub(crate) fn note_path(
        &mut self,
        path: &[u8],
        inode: Option<Inode>,
        event: u64,
        thread: ThreadId,
        is_read: bool,
    ) -> u64 {
        let mut alike: BTreeSet<GroupId> = self.alike(self.root(path)).collect();
        alike.extend(inode.and_then(|inode| self.by_inode.get(&inode)));
        for &key in &alike {
            self.note(key, event, DescriptorId::NONE, thread, is_read);
        }
        alike.len() as u64
    }

    /// Notes a mapping into memory. The mapping counts until the log ends, since `munmap` names no file.
    pub(crate) fn map(&mut self, key: GroupId, writes_through: bool) {
        let Some(group) = self.groups.get_mut(key) else {
            return;
        };
        group.is_mapped = true;
        self.mapped.insert(&group.name);
        if writes_through {
            group.is_mapped_to_write = true;
            self.mapped_to_write.insert(&group.name);
        }
    }

    /// The barrier between two transfers of a thread through the open file description `by`: any use of the file since
    /// `event`, the first transfer.
    #[inline]
    pub(crate) fn barrier_since(
        &self,
        key: GroupId,
        event: u64,
        by: DescriptorId,
        (process, thread): (ProcessId, ThreadId),
        is_read: bool,
    ) -> Option<Barrier> {
        let group = self.groups.get(key)?;
        if is_read {
            let used = group.written.by_others(by) > event;
            let reason = if group.is_mapped_to_write { Barrier::Mapped } else { Barrier::SameFile };
            return (group.is_mapped_to_write || used).then_some(reason);
        }
        if group.looked_at.by_others(thread) > event {
            return Some(Barrier::Observed);
        }
        if group.submitted.by_others(process) > 0 {
            return Some(Barrier::Submitted);
        }
        let may_be_watched = self.watches_all || !self.watched.is_empty();
        if group.is_watched || may_be_watched && self.is_watched(group) {
            return Some(Barrier::Watched);
        }
        if group.synced.by_others(thread) > event {
            return Some(Barrier::SyncElsewhere);
        }
        // If a file has several writers, all writes to it are listed anyway.
        if group.listed.is_none() && group.changed.by_others(thread) > event {
            return Some(Barrier::Elsewhere);
        }
        if group.is_mapped {
            return Some(Barrier::Mapped);
        }
        let used = group.written.by_others(by).max(group.read.by_others(by));
        (used > event).then_some(Barrier::SameFile)
    }

    #[cold]
    fn is_watched(&self, group: &Group) -> bool {
        let mut parts = group.name.rsplit(|&byte| byte == b'/');
        let name = parts.next().unwrap_or_default();
        // If only the last part of the file's path is known, the file may be in any folder.
        let is_in_watched = parts.next().is_none_or(|folder| self.watched.has(folder));
        let mut inodes = group.inode.iter().chain(&group.folder);
        let is_by_inode = inodes.any(|inode| self.watched_inodes.contains(inode));
        self.watches_all || self.watched.has(name) || is_in_watched || is_by_inode
    }
}
