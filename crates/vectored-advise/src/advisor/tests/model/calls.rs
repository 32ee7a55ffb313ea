//! The effects of all calls but plain transfers.

use super::fix::Fix;
use super::kernel::{Object, OpenFile, Stream};
use super::program::{OWN_DESCRIPTOR, Op};
use super::run::{Done, Runner, Turn};

fn done(result: impl ToString) -> Option<Done> {
    Some((Vec::new(), result.to_string()))
}

fn found(is_there: bool) -> Option<Done> {
    let result = if is_there { "0" } else { "-1 ENOENT (No such file or directory)" };
    Some((vec![is_there.into()], result.to_owned()))
}

impl Runner<'_> {
    pub(super) fn call(&mut self, turn: Turn) -> Option<Done> {
        match turn.op {
            Op::OpenToRead | Op::OpenNew | Op::OpenBoth | Op::OpenToAppend => self.open(turn),
            Op::Close | Op::Duplicate | Op::Pipe | Op::Pair => self.descriptors(turn),
            Op::SendFile => self.copy(turn),
            Op::Seek | Op::SeekOn | Op::SeekEnd | Op::Tell => self.seek(turn),
            Op::Access | Op::Rename | Op::Unlink | Op::Link => self.names(turn),
            Op::Await | Op::Wake | Op::Fork | Op::Thread | Op::Execute | Op::Kill | Op::Wait => {
                self.processes(turn)
            }
            Op::Exit | Op::Harmless | Op::Pause => done(0),
            _ => self.files(turn),
        }
    }

    pub(super) fn has_to_wait(&self, turn: Turn) -> bool {
        let (kernel, process) = (&self.kernel, turn.process);
        match turn.op {
            Op::Poll => {
                let Some(Object::Stream(Some(stream), _)) = kernel.object(process, turn.fd) else {
                    return false;
                };
                let buffer = self.buffers.get(&(process, turn.fd));
                let is_ahead = buffer.is_some_and(|buffer| !buffer.ahead.is_empty())
                    && self.fix.is_some_and(Fix::empties_before_poll);
                !kernel.is_readable(stream) && !is_ahead
            }
            Op::Await => !kernel.is_awake,
            Op::Wait => kernel.processes.get(&turn.child).is_some_and(|child| {
                child.parent == process && !child.is_awaited && !child.has_ended
            }),
            _ => false,
        }
    }

    fn open(&mut self, turn: Turn) -> Option<Done> {
        if self.kernel.at(turn.process, turn.fd).is_some() {
            return None;
        }
        let writes = matches!(turn.op, Op::OpenNew | Op::OpenBoth | Op::OpenToAppend);
        let (file, text) = match self.kernel.resolve(turn.process, turn.name) {
            Some(known) => known,
            None if writes && turn.name < OWN_DESCRIPTOR => self.kernel.create(turn.name),
            None => return found(false),
        };
        if turn.op == Op::OpenNew {
            self.kernel.truncate(file, 0);
        }
        let mut open_file = OpenFile::new(Object::File(file), text);
        open_file.append = turn.op == Op::OpenToAppend;
        open_file.may_read &= matches!(turn.op, Op::OpenToRead | Op::OpenBoth);
        open_file.may_write &= writes;
        self.kernel.open_files.insert(2 * turn.number, open_file);
        self.kernel.install(turn.process, turn.fd, 2 * turn.number);
        Some((vec![1], self.shown(turn.process, turn.fd)))
    }

    fn close(&mut self, process: u32, fd: i32) {
        self.buffers.remove(&(process, fd));
        let process = self.kernel.processes.get_mut(&process);
        process.map(|process| process.descriptors.remove(&fd));
    }

    fn descriptors(&mut self, turn: Turn) -> Option<Done> {
        let Turn {
            number, process, ..
        } = turn;
        let key = self.kernel.key_of(process, turn.fd);
        let is_free = key.is_none() && self.kernel.at(process, turn.other).is_none();
        let first = self.kernel.streams.len();
        let ends = match turn.op {
            Op::Close => {
                key?;
                self.close(process, turn.fd);
                return done(0);
            }
            Op::Duplicate => {
                let key = key.filter(|_| turn.fd != turn.other)?;
                self.close(process, turn.other);
                self.kernel.install(process, turn.other, key);
                return done(self.shown(process, turn.other));
            }
            _ if !is_free || turn.fd == turn.other => return None,
            Op::Pipe => [(Some(first), None), (None, Some(first))],
            _ => [
                (Some(first), Some(first + 1)),
                (Some(first + 1), Some(first)),
            ],
        };
        self.kernel.streams.resize_with(first + 2, Stream::default);
        for (end, (from, to)) in ends.into_iter().enumerate() {
            let text = match turn.op {
                Op::Pipe => format!("pipe:[{first}]"),
                _ => format!("UNIX-STREAM:[{}->{}]", 70 + first + end, 71 + first - end),
            };
            let (key, fd) = (2 * number + end, [turn.fd, turn.other][end]);
            let open_file = OpenFile::new(Object::Stream(from, to), text);
            self.kernel.open_files.insert(key, open_file);
            self.kernel.install(process, fd, key);
        }
        done(0)
    }

    fn copy(&mut self, turn: Turn) -> Option<Done> {
        let kernel = &mut self.kernel;
        let [from, to] = [turn.fd, turn.other].map(|fd| kernel.key_of(turn.process, fd));
        let (from, to) = (from?, to?);
        let is_file = matches!(kernel.open_files[&from].object, Object::File(_));
        let may = kernel.open_files[&from].may_read && kernel.open_files[&to].may_write;
        if from == to || !may || !is_file {
            return None;
        }
        let bytes = kernel.read(from, turn.bytes, None)?;
        kernel.write(to, &bytes, None);
        let count = bytes.len().to_string();
        Some((bytes, count))
    }

    /// Before the seek, a stream object gives back what was read ahead. The offset is then where the program has read
    /// to.
    fn seek(&mut self, turn: Turn) -> Option<Done> {
        let key = self.kernel.key_of(turn.process, turn.fd)?;
        let Object::File(file) = self.kernel.object(turn.process, turn.fd)? else {
            return None;
        };
        self.write_parts(key);
        self.give_back(turn.process, turn.fd);
        let end = self.kernel.files[file].bytes.len();
        let offset = &mut self.kernel.open_files.get_mut(&key)?.offset;
        match turn.op {
            Op::Seek => *offset = turn.at,
            Op::SeekOn => *offset += turn.at,
            Op::SeekEnd => *offset = end,
            _ => {}
        }
        Some((vec![*offset as u16], offset.to_string()))
    }

    fn names(&mut self, turn: Turn) -> Option<Done> {
        let kernel = &mut self.kernel;
        match turn.op {
            Op::Access => found(kernel.resolve(turn.process, turn.name).is_some()),
            Op::Unlink => kernel.names.remove(&turn.name).and_then(|_| done(0)),
            op => {
                let is_done = kernel.name_again(turn.name, turn.to, op == Op::Rename);
                is_done.then(|| done(0))?
            }
        }
    }

    fn files(&mut self, turn: Turn) -> Option<Done> {
        let kernel = &mut self.kernel;
        let named = kernel.resolve(turn.process, turn.name).map(|known| known.0);
        let file = kernel.file_of(turn.process, turn.fd);
        let open_file = kernel.at(turn.process, turn.fd);
        let may_write = open_file.is_some_and(|known| known.may_write);
        let mut seen = Vec::new();
        match turn.op {
            Op::Stat => match named {
                Some(file) => seen.push(kernel.files[file].bytes.len() as u16),
                None => return found(false),
            },
            Op::StatDescriptor => seen.push(kernel.files[file?].bytes.len() as u16),
            Op::Sync => seen = kernel.sync(Some(file?)),
            Op::SyncAll => seen = kernel.sync(None),
            Op::TruncateDescriptor => kernel.truncate(file.filter(|_| may_write)?, 8),
            Op::Truncate => kernel.truncate(named?, 8),
            // A `poll` of a stream that can be read.
            _ => {
                let object = kernel.object(turn.process, turn.fd);
                matches!(object, Some(Object::Stream(Some(_), _))).then_some(())?;
            }
        }
        Some((seen, "0".to_owned()))
    }

    fn processes(&mut self, turn: Turn) -> Option<Done> {
        let (process, child) = (turn.process, turn.child);
        let known = self.threads.get(&child).copied();
        match turn.op {
            Op::Fork | Op::Thread if known.is_some() => return None,
            Op::Fork => {
                self.threads.insert(child, child);
                let mut copy = self.kernel.processes[&process].clone();
                copy.parent = process;
                self.kernel.processes.insert(child, copy);
                let buffers = self.buffers.clone().into_iter();
                let own = buffers.filter(|(key, _)| key.0 == process);
                self.buffers
                    .extend(own.map(|(key, buffer)| ((child, key.1), buffer)));
            }
            Op::Thread => {
                self.threads.insert(child, process);
            }
            Op::Execute => {
                let own = self.threads.values().filter(|&&owner| owner == process);
                (own.count() == 1).then_some(())?;
                self.buffers.retain(|key, _| key.0 != process);
                let process = self.kernel.processes.get_mut(&process)?;
                process.programs += 1;
            }
            Op::Kill => {
                let of = known.filter(|&of| of != process)?;
                (!self.kernel.processes[&of].has_ended).then_some(())?;
            }
            Op::Wait => {
                let child = self.kernel.processes.get_mut(&child)?;
                (child.parent == process && !child.is_awaited).then_some(())?;
                child.is_awaited = true;
            }
            op => self.kernel.is_awake = op == Op::Wake,
        }
        done(0)
    }
}
