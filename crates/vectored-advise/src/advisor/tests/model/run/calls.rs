//! The calls that move no bytes.

use super::*;

impl Runner<'_> {
    /// A look that is repeated until there is something.
    pub(super) fn look(&mut self, step: usize, process: u32, look: Look) -> Ran {
        // It is logged when it fails for the first time, and when it succeeds.
        let is_first = !self.began.contains_key(&step);
        let (call, found) = match look {
            Look::Open(fd, name) => {
                if !is_first && self.kernel.resolve(process, name).is_none() {
                    return Ran::Waits;
                }
                self.began.remove(&step);
                return self.open(step, process, fd, name, Mode::Read, true);
            }
            Look::Access(name) => {
                let found = self.kernel.resolve(process, name).is_some();
                let result = if found { "0" } else { "-1 ENOENT (No such file or directory)" };
                (format!("access(\"{}\", F_OK) = {result}", path_of(name)), found)
            }
            Look::Stat(name) => {
                let Some((file, _)) = self.kernel.resolve(process, name) else {
                    return Ran::Left;
                };
                let size = self.kernel.files[file].bytes.len();
                (stat(name, Some(size)), size > 0)
            }
            Look::List(name) => {
                let found = self.kernel.has(name);
                (LIST.to_owned(), found)
            }
            Look::Read(fd, most) => {
                let is_file = self.kernel.at(process, fd).is_some_and(|open_file| {
                    open_file.may_read && matches!(open_file.object, Object::File(_))
                });
                if !is_file {
                    return Ran::Left;
                }
                let shown = self.shown(process, fd);
                let bytes = self.bytes_of(step, process, fd, most, None).unwrap_or_default();
                let call = format!("read({shown}, \"x\"..., {most}) = {}", bytes.len());
                if !bytes.is_empty() {
                    let key = self.kernel.key_of(process, fd).unwrap_or(0);
                    self.out.users.insert(step, (process, fd, key));
                    self.say(step, &call);
                    return Ran::Done(bytes);
                }
                (call, false)
            }
        };
        if found || is_first {
            self.began.remove(&step);
            self.say(step, &call);
        }
        if found { Ran::Done(Vec::new()) } else { self.waits(step) }
    }

    pub(super) fn descriptors(&mut self, step: usize, process: u32, call: Call) -> Ran {
        match call {
            Call::Close(fd) => {
                if self.kernel.at(process, fd).is_none() {
                    return Ran::Left;
                }
                let shown = self.shown(process, fd);
                self.close(process, fd);
                self.say(step, &format!("close({shown}) = 0"));
            }
            Call::Duplicate(from, to) => {
                let Some(key) = self.kernel.key_of(process, from).filter(|_| from != to) else {
                    return Ran::Left;
                };
                self.close(process, to);
                self.kernel.install(process, to, key);
                let (from, to) = (self.shown(process, from), self.shown(process, to));
                self.say(step, &format!("dup2({from}, {}) = {to}", &to[..1]));
            }
            Call::Pipe(one, other) | Call::Pair(one, other) => {
                let is_free = |fd| self.kernel.at(process, fd).is_none();
                if !is_free(one) || !is_free(other) {
                    return Ran::Left;
                }
                let is_pair = matches!(call, Call::Pair(..));
                let first = self.kernel.streams.len();
                let ends = if is_pair {
                    [(Some(first), Some(first + 1)), (Some(first + 1), Some(first))]
                } else {
                    [(Some(first), None), (None, Some(first))]
                };
                self.kernel.streams.extend([Stream::default(), Stream::default()]);
                for (end, (fd, (read, write))) in [one, other].into_iter().zip(ends).enumerate() {
                    let text = match is_pair {
                        true => format!("UNIX-STREAM:[{}->{}]", 70 + first + end, 71 + first - end),
                        false => format!("pipe:[{first}]"),
                    };
                    let key = 2 * step + end;
                    let open_file = OpenFile {
                        object: Object::Stream(read, write),
                        offset: 0,
                        append: false,
                        may_write: write.is_some(),
                        may_read: read.is_some(),
                        text,
                    };
                    self.kernel.open_files.insert(key, open_file);
                    self.kernel.install(process, fd, key);
                }
                let (one, other) = (self.shown(process, one), self.shown(process, other));
                self.say(step, &match is_pair {
                    true => format!("socketpair(AF_UNIX, SOCK_STREAM, 0, [{one}, {other}]) = 0"),
                    false => format!("pipe2([{one}, {other}], 0) = 0"),
                });
            }
            _ => return Ran::Left,
        }
        Ran::Done(Vec::new())
    }

    fn close(&mut self, process: u32, fd: i32) {
        self.flush(process, |number| number == fd);
        self.buffers.remove(&(process, fd));
        if let Some(process) = self.kernel.processes.get_mut(&process) {
            process.descriptors.remove(&fd);
        }
    }

    /// A stream object writes its buffer before it seeks, and knows where it stands.
    pub(super) fn seek(&mut self, step: usize, process: u32, call: Call) -> Ran {
        let (Call::Seek(fd, _) | Call::Move(fd, _) | Call::Tell(fd) | Call::SeekEnd(fd)) = call else {
            return Ran::Left;
        };
        let open_file = self.kernel.at(process, fd);
        let Some(Object::File(file)) = open_file.map(|open_file| open_file.object) else {
            return Ran::Left;
        };
        let is_buffered = self.buffers.contains_key(&(process, fd));
        if is_buffered {
            self.flush(process, |number| number == fd);
            self.give_back(process, fd);
        }
        let end = self.kernel.files[file].bytes.len();
        let shown = self.shown(process, fd);
        let key = self.kernel.key_of(process, fd);
        let Some(open_file) = key.and_then(|key| self.kernel.open_files.get_mut(&key)) else {
            return Ran::Left;
        };
        let asked = match call {
            Call::Seek(_, at) => {
                open_file.offset = at;
                format!("{at}, SEEK_SET")
            }
            Call::Move(_, by) => {
                open_file.offset += by;
                format!("{by}, SEEK_CUR")
            }
            Call::SeekEnd(_) => {
                open_file.offset = end;
                "0, SEEK_END".to_owned()
            }
            _ => "0, SEEK_CUR".to_owned(),
        };
        let offset = open_file.offset;
        self.say(step, &format!("lseek({shown}, {asked}) = {offset}"));
        Ran::Done(vec![offset as Cell])
    }

    pub(super) fn processes(&mut self, step: usize, process: u32, call: Call) -> Ran {
        match call {
            Call::Fork(child) | Call::Thread(child) => {
                if self.threads.contains_key(&child) {
                    return Ran::Left;
                }
                let is_thread = matches!(call, Call::Thread(_));
                self.threads.insert(child, if is_thread { process } else { child });
                if !is_thread {
                    let mut copy = self.kernel.processes[&process].clone();
                    copy.parent = process;
                    self.kernel.processes.insert(child, copy);
                    let buffers = self.buffers.clone();
                    let own = buffers.into_iter().filter(|((owner, _), _)| *owner == process);
                    self.buffers.extend(own.map(|((_, fd), buffer)| ((child, fd), buffer)));
                }
                self.say(step, &match is_thread {
                    true => format!("clone(child_stack=0x7f00, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = {child}"),
                    false => format!("clone(child_stack=NULL, flags=SIGCHLD) = {child}"),
                });
            }
            Call::Execute => {
                if self.threads.values().filter(|&&owner| owner == process).count() > 1 {
                    return Ran::Left;
                }
                self.buffers.retain(|(owner, _), _| *owner != process);
                self.mapped.remove(&process);
                self.say(step, "execve(\"/bin/other\", [\"other\"], 0x7ffe) = 0");
            }
            Call::Exit => {
                self.say(step, "exit_group(0) = ?");
                self.end(process, true);
            }
            Call::Kill(victim) => {
                let of = self.threads.get(&victim).copied().filter(|&of| of != process);
                let Some(of) = of.filter(|of| !self.kernel.processes[of].has_ended) else {
                    return Ran::Left;
                };
                self.say(step, &format!("kill({of}, SIGKILL) = 0"));
                self.end(of, false);
            }
            Call::Wait(child) => {
                let is_child = |known: &Process| known.parent == process;
                let known = self.kernel.processes.get(&child).filter(|known| is_child(known));
                let Some(known) = known.filter(|_| !self.awaited.contains(&child)) else {
                    return Ran::Left;
                };
                if !known.has_ended {
                    return self.waits(step);
                }
                self.awaited.insert(child);
                self.say(step, &format!("wait4({child}, [{{WIFEXITED(s) && WEXITSTATUS(s) == 0}}], 0, NULL) = {child}"));
            }
            Call::Post(key) => {
                self.kernel.posted.insert(key);
                self.say(step, &format!("futex(0x7f{key}, FUTEX_WAKE_PRIVATE, 1) = 1"));
            }
            Call::Await(key) => {
                if !self.kernel.posted.remove(&key) {
                    return self.waits(step);
                }
                self.say(step, &format!("futex(0x7f{key}, FUTEX_WAIT_PRIVATE, 0, NULL) = 0"));
            }
            _ => return Ran::Left,
        }
        Ran::Done(Vec::new())
    }

    /// Ends a process; one that is killed loses what is in its buffers.
    pub(super) fn end(&mut self, process: u32, writes: bool) {
        if self.kernel.processes[&process].has_ended {
            return;
        }
        if writes || self.fix.is_some_and(Fix::tells_of_kills) {
            self.flush(process, |_| true);
        }
        if let Some(process) = self.kernel.processes.get_mut(&process) {
            process.has_ended = true;
        }
        let own = self.threads.iter().filter(|(_, owner)| **owner == process);
        for thread in own.map(|(thread, _)| *thread).collect::<Vec<_>>() {
            self.queues.remove(&thread);
            self.note(thread, if writes { "+++ exited with 0 +++" } else { "+++ killed by SIGKILL +++" });
        }
    }

    pub(super) fn files(&mut self, step: usize, process: u32, call: Call) -> Ran {
        let kernel = &mut self.kernel;
        let file_of = |fd| match kernel.at(process, fd)?.object {
            Object::File(file) | Object::Handle(file) => Some(file),
            _ => None,
        };
        let mut seen = Vec::new();
        let text = match call {
            Call::Stat(name) => {
                let size = kernel.resolve(process, name).map(|(file, _)| kernel.files[file].bytes.len());
                seen.push(size.map_or(Cell::MAX, |size| size as Cell));
                stat(name, size)
            }
            Call::StatDescriptor(fd) => {
                let Some(file) = file_of(fd) else { return Ran::Left };
                let size = kernel.files[file].bytes.len();
                seen.push(size as Cell);
                format!("fstat({}, {{st_mode=S_IFREG|0644, st_size={size}, ...}}) = 0", self.shown(process, fd))
            }
            Call::Access(name) => {
                let found = kernel.resolve(process, name).is_some();
                seen.push(found.into());
                let result = if found { "0" } else { "-1 ENOENT (No such file or directory)" };
                format!("access(\"{}\", F_OK) = {result}", path_of(name))
            }
            Call::List => {
                seen = kernel.names();
                LIST.to_owned()
            }
            Call::TruncateDescriptor(fd, length) => {
                let file = file_of(fd).filter(|_| kernel.at(process, fd).is_some_and(|known| known.may_write));
                let Some(file) = file else { return Ran::Left };
                kernel.truncate(file, length);
                format!("ftruncate({}, {length}) = 0", self.shown(process, fd))
            }
            Call::Truncate(name, length) => {
                let Some((file, _)) = kernel.resolve(process, name) else { return Ran::Left };
                kernel.truncate(file, length);
                format!("truncate(\"{}\", {length}) = 0", path_of(name))
            }
            Call::Rename(from, to) | Call::Link(from, to) | Call::Symlink(from, to) => {
                let (symbolic, renames) = (matches!(call, Call::Symlink(..)), matches!(call, Call::Rename(..)));
                if !kernel.name_again(from, to, symbolic, renames) {
                    return Ran::Left;
                }
                let name = if renames { "rename" } else if symbolic { "symlink" } else { "link" };
                format!("{name}(\"{}\", \"{}\") = 0", path_of(from), path_of(to))
            }
            Call::Unlink(name) => {
                if !kernel.unlink(name) {
                    return Ran::Left;
                }
                format!("unlink(\"{}\") = 0", path_of(name))
            }
            Call::Sync(fd) => {
                let Some(file) = file_of(fd) else { return Ran::Left };
                kernel.sync(Some(file));
                seen = kernel.durable();
                let name = if step.is_multiple_of(2) { "fsync" } else { "fdatasync" };
                format!("{name}({}) = 0", self.shown(process, fd))
            }
            Call::SyncAll => {
                kernel.sync(None);
                seen = kernel.durable();
                "sync() = 0".to_owned()
            }
            Call::SyncFileSystem(fd) => {
                if file_of(fd).is_none() { return Ran::Left };
                kernel.sync(None);
                seen = kernel.durable();
                format!("syncfs({}) = 0", self.shown(process, fd))
            }
            Call::Poll(fd) => {
                let known = kernel.at(process, fd);
                let is_stream = known.is_some_and(|known| matches!(known.object, Object::Stream(Some(_), _)));
                let Some(key) = kernel.key_of(process, fd).filter(|_| is_stream) else {
                    return Ran::Left;
                };
                let ahead = self.buffers.get(&(process, fd)).is_some_and(|buffer| !buffer.ahead.is_empty());
                if !kernel.is_readable(key) && !(ahead && self.fix.is_some_and(Fix::empties_before_poll)) {
                    return self.waits(step);
                }
                let shown = self.shown(process, fd);
                format!("poll([{{fd={shown}, events=POLLIN}}], 1, -1) = 1 ([{{fd={fd}, revents=POLLIN}}])")
            }
            Call::Watch(name) => {
                let Some((file, _)) = kernel.resolve(process, name) else { return Ran::Left };
                kernel.files[file].is_watched = true;
                format!("inotify_add_watch(9<anon_inode:inotify>, \"{}\", IN_MODIFY) = 1", path_of(name))
            }
            Call::Map(fd) => {
                let file = file_of(fd).filter(|_| kernel.at(process, fd).is_some_and(|known| known.may_read));
                let Some(file) = file else { return Ran::Left };
                self.mapped.insert(process, file);
                format!("mmap(NULL, 4096, PROT_READ, MAP_SHARED, {}, 0) = 0x7f00", self.shown(process, fd))
            }
            Call::Peek(_) => {
                let Some(&file) = self.mapped.get(&process) else { return Ran::Left };
                return Ran::Done(self.kernel.files[file].bytes.clone());
            }
            Call::Pause => {
                self.now_us += 20_000;
                return Ran::Done(Vec::new());
            }
            Call::Harmless => "brk(NULL) = 0x55".to_owned(),
            _ => return Ran::Left,
        };
        self.say(step, &text);
        Ran::Done(seen)
    }
}

const LIST: &str = "getdents64(9</d>, 0x55 /* 3 entries */, 32768) = 72";

fn stat(name: u8, size: Option<usize>) -> String {
    let path = path_of(name);
    match size {
        Some(size) => format!("stat(\"{path}\", {{st_mode=S_IFREG|0644, st_size={size}, ...}}) = 0"),
        None => format!("stat(\"{path}\", 0x7ffe) = -1 ENOENT (No such file or directory)"),
    }
}
