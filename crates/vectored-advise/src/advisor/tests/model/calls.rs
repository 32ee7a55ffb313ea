//! What calls do that are no plain transfer.

use super::fix::Fix;
use super::kernel::{Cell, Object, OpenFile, Stream};
use super::program::{Op, Step};
use super::run::{Ran, Runner};

/// A call that saw nothing.
fn done(result: impl ToString) -> Option<(Vec<Cell>, String)> {
    Some((Vec::new(), result.to_string()))
}

fn found(is_there: bool) -> Option<(Vec<Cell>, String)> {
    let result = if is_there { "0" } else { "-1 ENOENT (No such file or directory)" };
    Some((vec![is_there.into()], result.to_owned()))
}

impl Runner<'_> {
    pub(super) fn call(&mut self, number: usize, step: &Step, process: u32) -> Ran {
        if self.has_to_wait(step, process) {
            return Ran::Waits;
        }
        let ran = match step.op {
            Op::Write | Op::WriteList | Op::WriteAt => return self.write(number, step, process),
            Op::Read | Op::ReadAt => return self.read(number, step, process),
            Op::OpenToRead | Op::OpenNew | Op::OpenBoth | Op::OpenToAppend | Op::OpenPath => {
                self.open(number, step, process)
            }
            Op::Close | Op::Duplicate | Op::Pipe | Op::Pair => {
                self.descriptors(number, step, process)
            }
            Op::SendFile | Op::Splice => self.copy(step, process),
            Op::Seek | Op::SeekOn | Op::SeekEnd | Op::Tell => self.seek(step, process),
            Op::Stat | Op::Access | Op::List | Op::Rename | Op::Unlink | Op::Link | Op::Symlink => {
                self.names(step, process)
            }
            Op::Await | Op::Wake | Op::Fork | Op::Thread | Op::Execute | Op::Kill | Op::Wait => {
                self.processes(step, process)
            }
            Op::Exit | Op::Harmless | Op::Pause => done(0),
            _ => self.files(step, process),
        };
        ran.map_or(Ran::Left, |(seen, result)| Ran::Done(seen, result))
    }

    fn has_to_wait(&self, step: &Step, process: u32) -> bool {
        let kernel = &self.kernel;
        match step.op {
            Op::Poll | Op::Splice => {
                let Some(Object::Stream(Some(stream), _)) = kernel.object(process, step.fd) else {
                    return false;
                };
                let buffer = self.buffers.get(&(process, step.fd));
                let is_ahead = buffer.is_some_and(|buffer| !buffer.ahead.is_empty())
                    && step.op == Op::Poll
                    && self.fix.is_some_and(Fix::empties_before_poll);
                !kernel.is_readable(stream) && !is_ahead
            }
            Op::Await => !kernel.is_awake,
            Op::Wait => kernel.processes.get(&step.child).is_some_and(|child| {
                child.parent == process && !child.is_awaited && !child.has_ended
            }),
            _ => false,
        }
    }

    fn open(&mut self, number: usize, step: &Step, process: u32) -> Option<(Vec<Cell>, String)> {
        if self.kernel.at(process, step.fd).is_some() {
            return None;
        }
        let may_write = matches!(step.op, Op::OpenNew | Op::OpenBoth | Op::OpenToAppend);
        let is_own = step.name >= super::program::OWN_DESCRIPTOR;
        let (file, text) = match self.kernel.resolve(process, step.name) {
            Some(known) => known,
            None if may_write && !is_own => self.kernel.create(step.name),
            None => return found(false),
        };
        if step.op == Op::OpenNew {
            self.kernel.truncate(file, 0);
        }
        let is_path = step.op == Op::OpenPath;
        let object = if is_path { Object::Handle(file) } else { Object::File(file) };
        let open_file = OpenFile {
            object,
            offset: 0,
            append: step.op == Op::OpenToAppend,
            may_read: matches!(step.op, Op::OpenToRead | Op::OpenBoth),
            may_write,
            text,
        };
        self.kernel.open_files.insert(2 * number, open_file);
        self.kernel.install(process, step.fd, 2 * number);
        Some((vec![1], self.shown(process, step.fd)))
    }

    fn close(&mut self, process: u32, fd: i32) {
        self.flush(process, |number| number == fd);
        self.buffers.remove(&(process, fd));
        let process = self.kernel.processes.get_mut(&process);
        process.map(|process| process.descriptors.remove(&fd));
    }

    fn descriptors(
        &mut self,
        number: usize,
        step: &Step,
        process: u32,
    ) -> Option<(Vec<Cell>, String)> {
        let key = self.kernel.key_of(process, step.fd);
        let is_free = self.kernel.at(process, step.other).is_none();
        let first = self.kernel.streams.len();
        let ends = match step.op {
            Op::Close => {
                key?;
                self.close(process, step.fd);
                return done(0);
            }
            Op::Duplicate => {
                let key = key.filter(|_| step.fd != step.other)?;
                self.close(process, step.other);
                self.kernel.install(process, step.other, key);
                return done(self.shown(process, step.other));
            }
            _ if key.is_some() || !is_free || step.fd == step.other => return None,
            Op::Pipe => [(Some(first), None), (None, Some(first))],
            _ => [
                (Some(first), Some(first + 1)),
                (Some(first + 1), Some(first)),
            ],
        };
        self.kernel
            .streams
            .extend([Stream::default(), Stream::default()]);
        for (end, (may_read, may_write)) in ends.into_iter().enumerate() {
            let text = match step.op {
                Op::Pipe => format!("pipe:[{first}]"),
                _ => format!("UNIX-STREAM:[{}->{}]", 70 + first + end, 71 + first - end),
            };
            let open_file = OpenFile {
                object: Object::Stream(may_read, may_write),
                offset: 0,
                append: false,
                may_read: may_read.is_some(),
                may_write: may_write.is_some(),
                text,
            };
            let key = 2 * number + end;
            self.kernel.open_files.insert(key, open_file);
            self.kernel
                .install(process, [step.fd, step.other][end], key);
        }
        done(0)
    }

    /// Moves bytes in the kernel, past all buffers.
    fn copy(&mut self, step: &Step, process: u32) -> Option<(Vec<Cell>, String)> {
        let from = self
            .kernel
            .at(process, step.fd)
            .filter(|from| from.may_read)?;
        let is_file = matches!(from.object, Object::File(_));
        self.kernel
            .at(process, step.other)
            .filter(|to| to.may_write)?;
        let keys = [step.fd, step.other].map(|fd| self.kernel.key_of(process, fd));
        let [Some(from), Some(to)] = keys else {
            return None;
        };
        if from == to || is_file != (step.op == Op::SendFile) {
            return None;
        }
        let bytes = self.kernel.read(from, step.bytes, None)?;
        self.kernel.write(to, &bytes, None);
        let count = bytes.len().to_string();
        Some((bytes, count))
    }

    /// A stream object writes its buffer before it seeks, and knows where it stands.
    fn seek(&mut self, step: &Step, process: u32) -> Option<(Vec<Cell>, String)> {
        let key = self.kernel.key_of(process, step.fd)?;
        let Object::File(file) = self.kernel.object(process, step.fd)? else {
            return None;
        };
        self.flush(process, |fd| fd == step.fd);
        self.write_parts(key);
        self.give_back(process, step.fd);
        let end = self.kernel.files[file].bytes.len();
        let offset = &mut self.kernel.open_files.get_mut(&key)?.offset;
        match step.op {
            Op::Seek => *offset = step.at,
            Op::SeekOn => *offset += step.at,
            Op::SeekEnd => *offset = end,
            _ => {}
        }
        Some((vec![*offset as Cell], offset.to_string()))
    }

    fn names(&mut self, step: &Step, process: u32) -> Option<(Vec<Cell>, String)> {
        let kernel = &mut self.kernel;
        let known = kernel.resolve(process, step.name).map(|known| known.0);
        let is_own = step.name >= super::program::OWN_DESCRIPTOR;
        match step.op {
            Op::Access => found(known.is_some()),
            Op::Stat => match known {
                Some(file) => Some((vec![kernel.files[file].bytes.len() as Cell], "0".to_owned())),
                None => found(false),
            },
            Op::List => Some((
                kernel.names.keys().map(|&name| name.into()).collect(),
                String::new(),
            )),
            Op::Unlink => {
                let _ = kernel.names.remove(&step.name)?;
                done(0)
            }
            _ if is_own => None,
            op => {
                let (symbolic, renames) = (op == Op::Symlink, op == Op::Rename);
                kernel
                    .name_again(step.name, step.to, symbolic, renames)
                    .then(|| done(0))?
            }
        }
    }

    fn files(&mut self, step: &Step, process: u32) -> Option<(Vec<Cell>, String)> {
        let kernel = &mut self.kernel;
        let named = kernel.resolve(process, step.name).map(|known| known.0);
        let file = kernel.file_of(process, step.fd);
        let may_read = kernel
            .at(process, step.fd)
            .is_some_and(|known| known.may_read);
        let may_write = kernel
            .at(process, step.fd)
            .is_some_and(|known| known.may_write);
        let seen = match step.op {
            Op::StatDescriptor => vec![kernel.files[file?].bytes.len() as Cell],
            Op::Sync => kernel.sync(Some(file?)),
            Op::SyncAll => kernel.sync(None),
            Op::SyncFileSystem => {
                file?;
                kernel.sync(None)
            }
            Op::TruncateDescriptor => {
                kernel.truncate(file.filter(|_| may_write)?, 8);
                Vec::new()
            }
            Op::Truncate => {
                kernel.truncate(named?, 8);
                Vec::new()
            }
            Op::Watch => {
                kernel.files[named?].changes.get_or_insert(0);
                Vec::new()
            }
            Op::Map => {
                let file = file.filter(|_| may_read)?;
                kernel.processes.get_mut(&process)?.mapped = Some(file);
                Vec::new()
            }
            Op::Peek => kernel.files[kernel.processes[&process].mapped?]
                .bytes
                .clone(),
            // `poll` of a stream that can be read.
            _ => {
                let object = kernel.object(process, step.fd);
                matches!(object, Some(Object::Stream(Some(_), _))).then(Vec::new)?
            }
        };
        Some((seen, "0".to_owned()))
    }

    fn processes(&mut self, step: &Step, process: u32) -> Option<(Vec<Cell>, String)> {
        let known = self.threads.get(&step.child).copied();
        match step.op {
            Op::Fork => {
                if known.is_some() {
                    return None;
                }
                self.threads.insert(step.child, step.child);
                let mut copy = self.kernel.processes[&process].clone();
                copy.parent = process;
                self.kernel.processes.insert(step.child, copy);
                let buffers = self.buffers.clone().into_iter();
                let own = buffers.filter(|(key, _)| key.0 == process);
                self.buffers
                    .extend(own.map(|(key, buffer)| ((step.child, key.1), buffer)));
            }
            Op::Thread => {
                if known.is_some() {
                    return None;
                }
                self.threads.insert(step.child, process);
            }
            Op::Execute => {
                let own = self.threads.values().filter(|&&owner| owner == process);
                (own.count() == 1).then_some(())?;
                self.buffers.retain(|key, _| key.0 != process);
                self.kernel.processes.get_mut(&process)?.mapped = None;
            }
            Op::Kill => {
                let of = known.filter(|&of| of != process)?;
                (!self.kernel.processes[&of].has_ended).then_some(())?;
            }
            Op::Wait => {
                let child = self.kernel.processes.get_mut(&step.child)?;
                (child.parent == process && !child.is_awaited).then_some(())?;
                child.is_awaited = true;
            }
            op => self.kernel.is_awake = op == Op::Wake,
        }
        done(0)
    }
}
