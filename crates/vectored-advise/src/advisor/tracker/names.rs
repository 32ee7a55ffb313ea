//! Files by the names in calls: paths that lead to descriptors, relative paths, device and inode, and the threads that
//! ask for a file.

use std::borrow::Cow;

use crate::advisor::descriptors::name_set::hash;
use crate::advisor::descriptors::same_file::Inode;
use crate::advisor::fd_kind::FdKind;
use crate::advisor::keys::{DescriptorId, ProcessId};
use crate::advisor::runs::barriers::Barrier;
use crate::advisor::tracker::{Tracker, WRITES};
use crate::languages::last_part;
use vectored_strace::event::{Ask, Descriptor, Place};

/// Files that the C library asks for again and again. No program waits for these files.
const ASKED_BY_LIBRARIES: [&[u8]; 2] = [b"/etc/localtime", b"/usr/share/zoneinfo"];

const MADE_MAX: usize = 1 << 16;

/// Bytes of the longest path that Linux takes.
const PATH_MAX: usize = 4096;

/// A path that begins in a folder, without `.`, `..` and empty parts. If the folder is unknown, the path is returned
/// unchanged.
pub(super) fn joined<'a>(folder: &[u8], path: &'a [u8]) -> Cow<'a, [u8]> {
    let is_absolute = path.starts_with(b"/");
    let is_plain = || !path.windows(2).any(|two| matches!(two, b"//" | b"/."));
    if folder.is_empty() && !is_absolute
        || folder.len() + path.len() >= PATH_MAX
        || is_absolute && is_plain()
    {
        return Cow::Borrowed(path);
    }
    let mut whole = if is_absolute || folder == b"/" { Vec::new() } else { folder.to_vec() };
    for part in path.split(|&byte| byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => whole.truncate(whole.iter().rposition(|&byte| byte == b'/').unwrap_or(0)),
            part => {
                whole.push(b'/');
                whole.extend_from_slice(part);
            }
        }
    }
    if whole.is_empty() {
        whole.push(b'/');
    }
    Cow::Owned(whole)
}

impl Tracker {
    /// Notes a call that asks for a file. The call may see the size. If the program asks again or in vain, it may wait
    /// for the file.
    pub(super) fn ask(&mut self, ask: &Ask<'_>) {
        self.note_poll(ask.file, ask.failed);
        if ask.failed {
            return;
        }
        let Some(descriptor) = ask.file.descriptor() else {
            if ask.sees_size {
                let (path, key) = self.full_path(ask.file);
                if let Some(key) = key {
                    self.look_at(key, Barrier::Stat);
                }
                self.note_path(&path, ask.inode, true);
            }
            return;
        };
        let key = self.kernel.open_file_of(self.process, descriptor.number);
        let Some(key) = key else {
            return;
        };
        let open_file = &mut self.kernel.open_files[key];
        open_file.may_be_fifo &= !ask.is_regular;
        if let Some(size) = ask.size {
            self.groups.groups[open_file.group].reach(size);
        }
        if open_file.kind == FdKind::File || open_file.flags.path_only {
            self.identify(key, ask.inode, None);
        }
    }

    /// Notes that a thread asks for a file. The call may be a wait if the thread asks again or in vain, or if another
    /// thread made the file.
    pub(super) fn note_poll(&mut self, file: Place<'_>, failed: bool) {
        let (hash, made_by) = match (file.descriptor(), file.path) {
            (Some(descriptor), _) => {
                let key = self.kernel.open_file_of(self.process, descriptor.number);
                (hash(&(key, descriptor.number)), None)
            }
            (None, path) if ASKED_BY_LIBRARIES.iter().any(|one| path.starts_with(one)) => return,
            (None, path) => (hash(&path), self.made.get(&hash(&last_part(path))).copied()),
        };
        let is_of_others = made_by.is_some_and(|made_by| made_by != self.thread);
        if self.kernel.threads[self.thread].asks_again(hash) || failed || is_of_others {
            self.wait(Barrier::Polled);
        }
    }

    pub(super) fn note_made(&mut self, path: &[u8]) {
        if self.made.len() < MADE_MAX {
            self.made.insert(hash(&last_part(path)), self.thread);
        }
    }

    pub(super) fn note_path(&mut self, path: &[u8], inode: Option<Inode>, is_read: bool) {
        let seen = || Some(self.options.look?(path)?.inode);
        let inode = inode.or_else(seen);
        let noted = self
            .groups
            .note_path(path, inode, self.event, self.thread, is_read);
        self.kernel.work += noted;
    }

    /// Notes device and inode of the file behind an open file description. They identify the file under any name.
    pub(super) fn identify(
        &mut self,
        key: DescriptorId,
        inode: Option<Inode>,
        folder: Option<Inode>,
    ) {
        let own = self.kernel.open_files[key].group;
        let Some(same) = self.groups.identify(own, inode, folder) else {
            return;
        };
        self.groups.groups[same].members += 1;
        self.groups.carry(own, same);
        let open_file = &mut self.kernel.open_files[key];
        open_file.group = same;
        self.pattern_counts.settle(self.groups.leave(own));
    }

    pub(super) fn rename(&mut self, from: &[u8], to: &[u8]) {
        if !from.starts_with(b"/") || !self.groups.rename(from, to) {
            return;
        }
        self.kernel.work += self.kernel.open_files.len() as u64;
        for open_file in self.kernel.open_files.values_mut() {
            if open_file.text == from {
                let from = std::mem::replace(&mut open_file.text, to.to_vec());
                if open_file.first_name.is_empty() {
                    open_file.first_name = from;
                }
            }
        }
    }

    pub(super) fn watch(&mut self, path: &[u8]) {
        let (path, key) = self.full_path(Place::of_path(path));
        if let Some(key) = key {
            self.groups.groups[self.kernel.open_files[key].group].is_watched = true;
        }
        let seen = self
            .options
            .look
            .map(|look| look(&path).map(|seen| seen.inode));
        match seen {
            // The name may be a link to any folder.
            Some(None) => self.groups.watch(b"", None),
            seen => self.groups.watch(&path, seen.flatten()),
        }
    }

    pub(super) fn change_folder(&mut self, to: Place<'_>) {
        let folder = match to.descriptor() {
            None => self.full_path(to).0.into_owned(),
            Some(descriptor) => self.named(descriptor).to_vec(),
        };
        self.kernel.processes[self.process].folder = folder;
    }

    /// The full path of a file in a call, and the open file description, if the path leads to one. A relative path is
    /// put after its folder. The begin `/proc/self/fd/3` of a path is replaced by the path of the descriptor. A path of
    /// more than `PATH_MAX` bytes stays relative: each `chdir("x")` makes the path of the folder longer.
    pub(super) fn full_path<'a>(
        &mut self,
        Place { path, folder }: Place<'a>,
    ) -> (Cow<'a, [u8]>, Option<DescriptorId>) {
        if let Some((process, number, rest)) = self.descriptor_of(path)
            && let Some(key) = self.kernel.open_file_of(process, number)
        {
            let path = [self.kernel.open_files[key].name(), rest].concat();
            return (Cow::Owned(path), rest.is_empty().then_some(key));
        }
        let folder = match folder {
            Some(folder) if folder.number != Descriptor::WORKING_FOLDER => self.named(folder),
            shown => {
                let known = &mut self.kernel.processes[self.process].folder;
                if let Some(text) = shown.and_then(|shown| shown.leads_to)
                    && known.as_slice() != text
                {
                    *known = text.to_vec();
                }
                self.working_folder()
            }
        };
        (joined(folder, path), None)
    }

    fn named<'a>(&'a self, descriptor: Descriptor<'a>) -> &'a [u8] {
        let key = self.kernel.open_file_of(self.process, descriptor.number);
        let name = key.map_or(&b""[..], |key| self.kernel.open_files[key].name());
        descriptor.leads_to.unwrap_or(name)
    }

    fn working_folder(&self) -> &[u8] {
        let own = &self.kernel.processes[self.process].folder;
        if own.is_empty() { &self.folder } else { own }
    }

    /// Learns the working folder from an open of a relative path: `open("a/b") = 3</home/a/b>`. If the known name of
    /// the folder goes through a link, the new name replaces it.
    pub(super) fn learn_folder(&mut self, path: &[u8], text: &[u8]) {
        let path = path.strip_prefix(b"./").unwrap_or(path);
        let folder = text.strip_suffix(path);
        let Some(folder) = folder.and_then(|folder| folder.strip_suffix(b"/")) else {
            return;
        };
        let known = self.working_folder();
        let inode = |of: &[u8]| Some(self.options.look.and_then(|look| look(of))?.inode);
        let is_it = !known.starts_with(b"/")
            || known != folder && inode(known).is_some() && inode(known) == inode(folder);
        if is_it {
            let folder = if folder.is_empty() { &b"/"[..] } else { folder };
            self.kernel.processes[self.process].folder = folder.to_vec();
        }
    }

    /// The process and the descriptor in `/proc/self/fd/3`, `/proc/12/fd/3`, `/dev/fd/3` or `/dev/stdout`, and the rest
    /// of the path.
    fn descriptor_of<'a>(&self, path: &'a [u8]) -> Option<(ProcessId, i32, &'a [u8])> {
        let mut process = self.process;
        let number = match path {
            b"/dev/stdin" => b"0",
            b"/dev/stdout" => b"1",
            b"/dev/stderr" => b"2",
            _ => match path.strip_prefix(b"/dev/fd/") {
                Some(number) => number,
                None => {
                    let path = path.strip_prefix(b"/proc/")?;
                    let at = path.windows(4).position(|part| part == b"/fd/")?;
                    // The owner is `self`, `thread-self`, `12` or `self/task/12`.
                    let owner = path[..at].rsplit(|&byte| byte == b'/').next()?;
                    if let Ok(number) = str::from_utf8(owner).ok()?.parse() {
                        process = self.kernel.thread_of_number(number)?.1;
                    }
                    &path[at + 4..]
                }
            },
        };
        let end = number.iter().position(|byte| !byte.is_ascii_digit());
        let (number, rest) = number.split_at(end.unwrap_or(number.len()));
        Some((process, str::from_utf8(number).ok()?.parse().ok()?, rest))
    }

    pub(in crate::advisor) fn path_of(&mut self, thread: u32, path: &[u8]) -> Vec<u8> {
        self.enter(thread);
        let (path, _) = self.full_path(Place::of_path(path));
        path.into_owned()
    }

    pub(super) fn look_at(&mut self, key: DescriptorId, reason: Barrier) {
        let open_file = &mut self.kernel.open_files[key];
        if open_file.kind == FdKind::File || open_file.flags.path_only {
            open_file.runs[WRITES].cross_by(self.event, self.thread, reason);
            self.groups
                .note(open_file.group, self.event, key, self.thread, true);
        }
    }
}
