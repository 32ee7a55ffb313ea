//! Runs a program on the kernel, as it is or with a remedy, and writes what strace would log.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;

use super::fix::{BUFFER_BYTES, Fix, How};
use super::kernel::{Cell, Kernel, Object, OpenFile, Process, Stream, path_of};
use super::program::{Call, Look, Mode, Step};

/// What came of a run.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) log: String,
    /// What each step saw, by its number.
    pub(super) seen: BTreeMap<usize, Vec<Cell>>,
    /// The steps in the order in which they ended; those that wait for ever come last.
    pub(super) order: Vec<usize>,
    /// Threads that wait for ever.
    pub(super) stuck: BTreeSet<u32>,
    /// At the end: the bytes of each file, and all bytes that came to each stream.
    pub(super) content: Vec<Vec<Cell>>,
    /// Steps by the begin of their calls, in ns.
    pub(super) begins: BTreeMap<u64, usize>,
    /// Process and open file of each transfer.
    pub(super) users: BTreeMap<usize, (u32, i32, usize)>,
}

enum Ran {
    Done(Vec<Cell>),
    Left,
    Waits,
}

/// A stream object of the program, after the remedy.
#[derive(Clone, Debug, Default)]
struct Buffer {
    out: Vec<Cell>,
    ahead: VecDeque<Cell>,
}

struct Runner<'a> {
    program: &'a [Step],
    fix: Option<&'a Fix>,
    /// What each step saw in the run without the remedy: a read goes on until it has as many bytes.
    before: Option<&'a Outcome>,
    kernel: Kernel,
    threads: BTreeMap<u32, u32>,
    queues: BTreeMap<u32, VecDeque<usize>>,
    began: BTreeMap<usize, u64>,
    buffers: BTreeMap<(u32, i32), Buffer>,
    /// The parts of joined calls.
    parts: BTreeMap<usize, VecDeque<Cell>>,
    awaited: BTreeSet<u32>,
    mapped: BTreeMap<u32, usize>,
    now_us: u64,
    out: Outcome,
}

/// Runs steps in an order; threads that wait go on when they can.
pub(super) fn run(
    program: &[Step],
    order: &[usize],
    fix: Option<(&Fix, &Outcome)>,
) -> Outcome {
    let mut runner = Runner {
        program,
        fix: fix.map(|fix| fix.0),
        before: fix.map(|fix| fix.1),
        kernel: Kernel::default(),
        threads: BTreeMap::from([(1, 1)]),
        queues: BTreeMap::new(),
        began: BTreeMap::new(),
        buffers: BTreeMap::new(),
        parts: BTreeMap::new(),
        awaited: BTreeSet::new(),
        mapped: BTreeMap::new(),
        now_us: 0,
        out: Outcome::default(),
    };
    runner.kernel.processes.insert(1, Process::default());
    for &step in order {
        let queue = runner.queues.entry(program[step].thread).or_default();
        queue.push_back(step);
        if queue.len() == 1 {
            runner.advance();
        }
    }
    runner.finish()
}

impl Runner<'_> {
    /// Runs all that can run.
    fn advance(&mut self) {
        let mut goes_on = true;
        while std::mem::take(&mut goes_on) {
            for thread in self.queues.keys().copied().collect::<Vec<_>>() {
                while let Some(&step) = self.queues.get(&thread).and_then(VecDeque::front) {
                    let ran = self.attempt(step);
                    if matches!(ran, Ran::Waits) {
                        break;
                    }
                    if let Some(queue) = self.queues.get_mut(&thread) {
                        queue.pop_front();
                    }
                    if let Ran::Done(seen) = ran {
                        self.out.seen.insert(step, seen);
                        self.out.order.push(step);
                        goes_on = true;
                    }
                }
            }
        }
    }

    /// Each process that does not wait ends, after which others may go on.
    fn finish(mut self) -> Outcome {
        loop {
            self.advance();
            let waits = |thread: &u32| self.queues.get(thread).is_some_and(|queue| !queue.is_empty());
            let is_free = |process: &u32| {
                let mut own = self.threads.iter().filter(|(_, owner)| *owner == process);
                !self.kernel.processes[process].has_ended && !own.any(|(thread, _)| waits(thread))
            };
            match self.kernel.processes.keys().copied().find(is_free) {
                Some(process) => self.end(process, true),
                None => break,
            }
        }
        for (&thread, queue) in &self.queues {
            if !queue.is_empty() {
                self.out.stuck.insert(thread);
                self.out.order.extend(queue);
            }
        }
        for process in self.kernel.processes.keys().copied().collect::<Vec<_>>() {
            self.flush(process, |_| true);
        }
        let files = self.kernel.files.iter().map(|file| {
            let changes = if file.is_watched { file.changes as u16 } else { 0 };
            file.bytes.iter().copied().chain([changes]).collect()
        });
        let streams = self.kernel.streams.iter().map(|stream| stream.history.clone());
        self.out.content = files.chain(streams).collect();
        self.out
    }

    /// Logs a call of a step, which began when the step was first tried.
    fn say(&mut self, step: usize, call: &str) {
        self.now_us += 10;
        let (now, thread) = (self.now_us, self.program[step].thread);
        let began = self.began.remove(&step).unwrap_or(now);
        self.out.begins.insert(1_795_312_736_000_000_000 + began * 1000, step);
        let (s, us, took) = (1_795_312_736 + began / 1_000_000, began % 1_000_000, now - began + 1);
        let _ = writeln!(self.out.log, "{thread} {s}.{us:06} {call} <0.{took:06}>");
    }

    fn note(&mut self, thread: u32, text: &str) {
        self.now_us += 10;
        let us = self.now_us;
        let (s, us) = (1_795_312_736 + us / 1_000_000, us % 1_000_000);
        let _ = writeln!(self.out.log, "{thread} {s}.{us:06} {text}");
    }

    fn waits(&mut self, step: usize) -> Ran {
        if !self.began.contains_key(&step) {
            self.now_us += 10;
            self.began.insert(step, self.now_us);
        }
        Ran::Waits
    }

    /// `3</d/a>`
    fn shown(&self, process: u32, fd: i32) -> String {
        let text = self.kernel.at(process, fd).map_or("", |open_file| &open_file.text);
        format!("{fd}<{text}>")
    }

    fn attempt(&mut self, step: usize) -> Ran {
        let Step { thread, call } = self.program[step];
        let Some(&process) = self.threads.get(&thread) else {
            return Ran::Left;
        };
        if self.kernel.processes[&process].has_ended {
            return Ran::Left;
        }
        if let Some(fix) = self.fix {
            if fix.dropped.contains(&step) {
                return Ran::Done(Vec::new());
            }
            for (owner, fd) in self.buffers.keys().copied().collect::<Vec<_>>() {
                if owner == process && fix.is_written_before(call, &self.kernel, process, fd) {
                    self.flush(process, |number| number == fd);
                }
            }
        }
        match call {
            Call::Write(fd, bytes) => self.write(step, process, fd, None, &[bytes]),
            Call::WriteAt(fd, bytes, at) => self.write(step, process, fd, Some(at), &[bytes]),
            Call::WriteList(fd, count, bytes) => {
                self.write(step, process, fd, None, &vec![bytes; count])
            }
            Call::Read(fd, most) => self.read(step, process, fd, most, None),
            Call::ReadAt(fd, most, at) => self.read(step, process, fd, most, Some(at)),
            Call::Copy(to, from, bytes) => self.copy(step, process, (to, from), bytes),
            Call::Open(fd, name, mode) => self.open(step, process, fd, name, mode, false),
            Call::Until(look) => self.look(step, process, look),
            Call::Close(_) | Call::Duplicate(..) | Call::Pipe(..) | Call::Pair(..) => {
                self.descriptors(step, process, call)
            }
            Call::Seek(..) | Call::Move(..) | Call::Tell(_) | Call::SeekEnd(_) => {
                self.seek(step, process, call)
            }
            Call::Fork(_) | Call::Thread(_) | Call::Execute | Call::Exit | Call::Kill(_)
            | Call::Wait(_) | Call::Post(_) | Call::Await(_) => self.processes(step, process, call),
            _ => self.files(step, process, call),
        }
    }

    /// Whether the remedy gives a descriptor a buffer.
    fn is_buffered(&self, how: How, process: u32, fd: i32) -> bool {
        let key = self.kernel.key_of(process, fd);
        let fix = self.fix.filter(|fix| fix.how == how);
        fix.is_some_and(|fix| key.is_some_and(|key| fix.streams.contains(&(process, fd, key))))
    }

    fn write(
        &mut self,
        step: usize,
        process: u32,
        fd: i32,
        at: Option<usize>,
        segments: &[usize],
    ) -> Ran {
        let open_file = self.kernel.at(process, fd).filter(|open_file| open_file.may_write);
        let (Some(open_file), Some(key)) = (open_file, self.kernel.key_of(process, fd)) else {
            return Ran::Left;
        };
        if at.is_some() && !matches!(open_file.object, Object::File(_)) {
            return Ran::Left;
        }
        let count: usize = segments.iter().sum();
        let cells: Vec<Cell> = (0..count).map(|byte| ((step as u16 + 1) << 8) | byte as u16 & 255).collect();
        self.out.users.insert(step, (process, fd, key));
        let (call, list) = (self.shown(process, fd), self.fix.and_then(|fix| fix.group_of(step)));
        match (self.fix, list) {
            (Some(fix), Some((group, steps))) if matches!(fix.how, How::Join | How::JoinAt) => {
                self.parts.entry(group).or_default().extend(cells);
                if steps.last() == Some(&step) {
                    let parts: Vec<Cell> = self.parts.remove(&group).unwrap_or_default().into();
                    let at = at.map(|at| at + count - parts.len());
                    self.kernel.write(key, &parts, at);
                }
            }
            (Some(fix), _) if fix.places.contains_key(&step) => {
                self.kernel.write(key, &cells, Some(fix.places[&step]));
            }
            (Some(_), _) if at.is_none() && self.is_buffered(How::Buffer, process, fd) => {
                let out = &mut self.buffers.entry((process, fd)).or_default().out;
                out.extend(cells);
                if out.len() >= BUFFER_BYTES {
                    self.flush(process, |number| number == fd);
                }
            }
            _ => {
                self.give_back(process, fd);
                self.kernel.write(key, &cells, at);
            }
        }
        let shown = match (at, segments) {
            (Some(at), _) => format!("pwrite64({call}, \"x\"..., {count}, {at}) = {count}"),
            (None, [_]) => format!("write({call}, \"x\"..., {count}) = {count}"),
            _ => {
                let segments: Vec<String> = segments
                    .iter()
                    .map(|bytes| format!("{{iov_base=\"x\"..., iov_len={bytes}}}"))
                    .collect();
                format!("writev({call}, [{}], {}) = {count}", segments.join(", "), segments.len())
            }
        };
        self.say(step, &shown);
        Ran::Done(Vec::new())
    }

    /// Writes the bytes in the buffers of a process.
    fn flush(&mut self, process: u32, which: impl Fn(i32) -> bool) {
        for (&(owner, fd), buffer) in &mut self.buffers {
            if owner == process && which(fd)
                && let Some(key) = self.kernel.key_of(process, fd)
                && !buffer.out.is_empty()
            {
                self.kernel.write(key, &std::mem::take(&mut buffer.out), None);
            }
        }
    }

    /// Sets the offset to where the program has read to, and drops what was read ahead.
    fn give_back(&mut self, process: u32, fd: i32) {
        let Some(buffer) = self.buffers.get_mut(&(process, fd)) else {
            return;
        };
        if let Some(key) = self.kernel.key_of(process, fd)
            && let Some(open_file) = self.kernel.open_files.get_mut(&key)
            && matches!(open_file.object, Object::File(_))
        {
            open_file.offset = open_file.offset.saturating_sub(buffer.ahead.len());
            buffer.ahead.clear();
        }
    }

    /// The bytes of a read; `None` if it has to wait.
    fn bytes_of(
        &mut self,
        step: usize,
        process: u32,
        fd: i32,
        most: usize,
        at: Option<usize>,
    ) -> Option<Vec<Cell>> {
        let key = self.kernel.key_of(process, fd)?;
        let (Some(fix), Some(before)) = (self.fix, self.before) else {
            return self.kernel.read(key, most, at);
        };
        if let Some(&place) = fix.places.get(&step) {
            return self.kernel.read(key, most, Some(place));
        }
        let wanted = before.seen.get(&step).map(Vec::len).unwrap_or(most);
        if let Some((group, steps)) = fix.group_of(step)
            && matches!(fix.how, How::JoinAt | How::ReadRun)
        {
            if steps.first() == Some(&step) {
                let of = |step: &usize| before.seen.get(step).map_or(0, Vec::len);
                let bytes = self.kernel.read(key, steps.iter().map(of).sum(), at)?;
                self.parts.insert(group, bytes.into());
            }
            let parts = self.parts.entry(group).or_default();
            return Some(parts.drain(..wanted.min(parts.len())).collect());
        }
        if at.is_some() || !self.is_buffered(How::ReadAhead, process, fd) {
            return self.kernel.read(key, most, at);
        }
        loop {
            let ahead = &mut self.buffers.entry((process, fd)).or_default().ahead;
            if !ahead.is_empty() && ahead.len() >= wanted {
                return Some(ahead.drain(..wanted.max(1)).collect());
            }
            let more = self.kernel.read(key, BUFFER_BYTES, None)?;
            if more.is_empty() {
                return Some(ahead.drain(..).collect());
            }
            ahead.extend(more);
        }
    }

    fn read(&mut self, step: usize, process: u32, fd: i32, most: usize, at: Option<usize>) -> Ran {
        let open_file = self.kernel.at(process, fd).filter(|open_file| open_file.may_read);
        let (Some(open_file), Some(key)) = (open_file, self.kernel.key_of(process, fd)) else {
            return Ran::Left;
        };
        if at.is_some() && !matches!(open_file.object, Object::File(_)) {
            return Ran::Left;
        }
        self.out.users.insert(step, (process, fd, key));
        let shown = self.shown(process, fd);
        let Some(bytes) = self.bytes_of(step, process, fd, most, at) else {
            return self.waits(step);
        };
        let count = bytes.len();
        self.say(step, &match at {
            Some(at) => format!("pread64({shown}, \"x\"..., {most}, {at}) = {count}"),
            None => format!("read({shown}, \"x\"..., {most}) = {count}"),
        });
        Ran::Done(bytes)
    }

    fn copy(&mut self, step: usize, process: u32, (to, from): (i32, i32), most: usize) -> Ran {
        let (one, other) = (self.kernel.at(process, to), self.kernel.at(process, from));
        let (Some(one), Some(other)) = (one, other) else {
            return Ran::Left;
        };
        if !one.may_write || !other.may_read || to == from {
            return Ran::Left;
        }
        let reads_file = matches!(other.object, Object::File(_));
        let (Some(one), Some(other)) = (self.kernel.key_of(process, to), self.kernel.key_of(process, from)) else {
            return Ran::Left;
        };
        let Some(bytes) = self.kernel.read(other, most, None) else {
            return self.waits(step);
        };
        self.kernel.write(one, &bytes, None);
        let (to, from, count) = (self.shown(process, to), self.shown(process, from), bytes.len());
        self.say(step, &match reads_file {
            true => format!("sendfile({to}, {from}, NULL, {most}) = {count}"),
            false => format!("splice({from}, NULL, {to}, NULL, {most}, 0) = {count}"),
        });
        Ran::Done(bytes)
    }

    fn open(&mut self, step: usize, process: u32, fd: i32, name: u8, mode: Mode, polls: bool) -> Ran {
        if self.kernel.at(process, fd).is_some() {
            return Ran::Left;
        }
        let flags = match mode {
            Mode::Read => "O_RDONLY",
            Mode::Write => "O_WRONLY|O_CREAT|O_TRUNC, 0666",
            Mode::Both => "O_RDWR|O_CREAT, 0666",
            Mode::Append => "O_WRONLY|O_CREAT|O_APPEND, 0666",
            Mode::Path => "O_RDONLY|O_PATH",
        };
        let call = format!("openat(AT_FDCWD</d>, \"{}\", {flags})", path_of(name));
        let creates = !matches!(mode, Mode::Read | Mode::Path);
        let text = self.kernel.resolve(process, name).and_then(|(_, own)| match own {
            super::kernel::OWN_DESCRIPTOR.. => {
                let of = i32::from(own - super::kernel::OWN_DESCRIPTOR);
                self.kernel.at(process, of).map(|open_file| open_file.text.clone())
            }
            _ => Some(path_of(own)),
        });
        let file = match (self.kernel.resolve(process, name), creates) {
            (Some((file, _)), _) => file,
            (None, true) if name < super::kernel::OWN_DESCRIPTOR => self.kernel.create(name),
            _ => {
                self.say(step, &format!("{call} = -1 ENOENT (No such file or directory)"));
                if polls {
                    return self.waits(step);
                }
                return Ran::Done(vec![0]);
            }
        };
        if mode == Mode::Write {
            self.kernel.truncate(file, 0);
        }
        let text = text.unwrap_or_else(|| path_of(name));
        let open_file = OpenFile {
            object: if mode == Mode::Path { Object::Handle(file) } else { Object::File(file) },
            offset: 0,
            append: mode == Mode::Append,
            may_write: creates,
            may_read: matches!(mode, Mode::Read | Mode::Both),
            text: text.clone(),
        };
        self.kernel.open_files.insert(2 * step, open_file);
        self.kernel.install(process, fd, 2 * step);
        self.say(step, &format!("{call} = {fd}<{text}>"));
        Ran::Done(vec![1])
    }
}

mod calls;
