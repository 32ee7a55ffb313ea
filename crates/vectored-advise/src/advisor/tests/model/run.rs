//! Runs a program on the kernel, with or without a remedy, and writes the log that strace would write.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::ops::Deref;

use super::fix::{BUFFER_BYTES, Fix};
use super::kernel::{Cell, Kernel, Object, path_of};
use super::program::{Op, Step, text_of};
use crate::languages::RemedyKind;

const BEGIN_NS: u64 = 1_795_312_736_000_000_000;

#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) log: String,
    pub(super) seen: BTreeMap<usize, Vec<Cell>>,
    /// The steps in the order in which they ended. Steps that wait for ever come last.
    pub(super) order: Vec<usize>,
    pub(super) stuck: BTreeSet<u32>,
    /// The content at the end: the bytes of each file, and all bytes that came to each stream.
    pub(super) content: Vec<Vec<Cell>>,
    /// By the time in ns at which the call of a step began: the step.
    pub(super) begins: BTreeMap<u64, usize>,
    pub(super) users: BTreeMap<usize, User>,
}

/// What a step saw, and the result of the step as strace writes it.
pub(super) type Done = (Vec<Cell>, String);

/// A process, a descriptor, the open file of the descriptor, and the number of programs that the process has run
/// before.
pub(super) type User = (u32, i32, usize, u32);

#[derive(Clone, Copy)]
pub(super) struct Turn {
    pub(super) number: usize,
    pub(super) process: u32,
    step: Step,
}

impl Deref for Turn {
    type Target = Step;

    fn deref(&self) -> &Step {
        &self.step
    }
}

/// A stream object that the remedy added to the program.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffer {
    out: Vec<Cell>,
    pub(super) ahead: VecDeque<Cell>,
}

pub(super) struct Runner<'a> {
    program: &'a [Step],
    pub(super) fix: Option<&'a Fix>,
    /// The run without the remedy. A read continues until it has as many bytes as in that run.
    before: Option<&'a Outcome>,
    pub(super) kernel: Kernel,
    pub(super) threads: BTreeMap<u32, u32>,
    /// The steps that each waiting thread has still to make. The first step is the step that waits.
    pub(super) queues: BTreeMap<u32, VecDeque<usize>>,
    /// By waiting step: the time at which it began.
    began: BTreeMap<usize, u64>,
    pub(super) buffers: BTreeMap<(u32, i32), Buffer>,
    /// The bytes of the calls of each group so far.
    parts: BTreeMap<usize, VecDeque<Cell>>,
    now_us: u64,
    out: Outcome,
}

/// Runs steps in an order. Waiting threads continue when they can.
pub(super) fn run(program: &[Step], order: &[usize], fix: Option<(&Fix, &Outcome)>) -> Outcome {
    let mut runner = Runner {
        program,
        fix: fix.map(|fix| fix.0),
        before: fix.map(|fix| fix.1),
        kernel: Kernel::new(),
        threads: BTreeMap::from([(1, 1)]),
        queues: BTreeMap::new(),
        began: BTreeMap::new(),
        buffers: BTreeMap::new(),
        parts: BTreeMap::new(),
        now_us: 0,
        out: Outcome::default(),
    };
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
    fn advance(&mut self) {
        let mut goes_on = true;
        while std::mem::take(&mut goes_on) {
            for thread in self.queues.keys().copied().collect::<Vec<_>>() {
                while let Some(&number) = self.queues.get(&thread).and_then(VecDeque::front)
                    && let Some(seen) = self.attempt(number)
                {
                    self.queues.get_mut(&thread).map(VecDeque::pop_front);
                    if let Some(seen) = seen {
                        self.out.seen.insert(number, seen);
                        self.out.order.push(number);
                        goes_on = true;
                    }
                }
            }
        }
    }

    /// Ends each process that does not wait, so that other processes may continue.
    fn finish(mut self) -> Outcome {
        loop {
            self.advance();
            self.queues.retain(|_, queue| !queue.is_empty());
            let waiting: Vec<u32> = self
                .queues
                .keys()
                .map(|thread| self.threads[thread])
                .collect();
            let mut processes = self.kernel.processes.iter();
            let ends =
                processes.find(|(process, known)| !known.has_ended && !waiting.contains(process));
            match ends.map(|(process, _)| *process) {
                Some(process) => self.end(process, true),
                None => break,
            }
        }
        for (thread, queue) in std::mem::take(&mut self.queues) {
            self.out.stuck.insert(thread);
            self.out.order.extend(queue);
            self.flush(self.threads[&thread], |_| true);
        }
        let files = self.kernel.files.iter().map(|file| file.bytes.clone());
        let streams = self
            .kernel
            .streams
            .iter()
            .map(|stream| stream.history.clone());
        self.out.content = files.chain(streams).collect();
        self.out
    }

    fn tick(&mut self) -> u64 {
        self.now_us += 10;
        self.now_us
    }

    fn log(&mut self, thread: u32, began: u64, text: &str) {
        let s = BEGIN_NS / 1_000_000_000;
        let _ = writeln!(self.out.log, "{thread} {s}.{began:06} {text}");
    }

    /// `3</d/a>`
    pub(super) fn shown(&self, process: u32, fd: i32) -> String {
        let text = self
            .kernel
            .at(process, fd)
            .map_or("", |open_file| &open_file.text);
        format!("{fd}<{text}>")
    }

    /// Runs a step, and logs the step when it ends. `None`: the step has to wait. `Some(None)`: the step is impossible.
    fn attempt(&mut self, number: usize) -> Option<Option<Vec<Cell>>> {
        let step = self.program[number];
        let process = self.threads.get(&step.thread).copied();
        let Some(process) = process.filter(|process| !self.kernel.processes[process].has_ended)
        else {
            return Some(None);
        };
        let turn = Turn {
            number,
            process,
            step,
        };
        if let Some(fix) = self.fix {
            if fix.dropped.contains(&number) {
                return Some(Some(Vec::new()));
            }
            let own = self.buffers.keys().filter(|key| key.0 == process);
            let is_due = |fd: &i32| fix.is_written_before(turn, &self.kernel, *fd);
            let due: Vec<i32> = own.map(|key| key.1).filter(is_due).collect();
            self.flush(process, |fd| due.contains(&fd));
        }
        let named = [step.fd, step.other].map(|fd| self.shown(process, fd));
        let done = match step.op {
            _ if self.has_to_wait(turn) => None,
            Op::Write | Op::WriteList | Op::WriteAt => Some(self.write(turn)),
            Op::Read | Op::ReadAt => self.read(turn),
            _ => Some(self.call(turn)),
        };
        let Some(Some(done)) = done else {
            let now = self.tick();
            self.began.entry(number).or_insert(now);
            return done.map(|_| None);
        };
        let began = self.began.remove(&number);
        self.log_call(turn, began, named, &done.1);
        self.after_the_call(turn);
        Some(Some(done.0))
    }

    fn log_call(&mut self, turn: Turn, began: Option<u64>, named: [String; 2], result: &str) {
        // A new descriptor has its text only after the call.
        let after = [turn.fd, turn.other].map(|fd| self.shown(turn.process, fd));
        let shown = |place: usize| {
            if named[place].ends_with("<>") { &after[place] } else { &named[place] }
        };
        let text = text_of(turn.op)
            .replace("%f", shown(0))
            .replace("%g", shown(1))
            .replace("%o", &turn.other.to_string())
            .replace("%p", &path_of(turn.name))
            .replace("%q", &path_of(turn.to))
            .replace("%n", &turn.bytes.to_string())
            .replace("%h", &(turn.bytes / 2).to_string())
            .replace("%a", &turn.at.to_string())
            .replace("%c", &turn.child.to_string())
            .replace("%r", result);
        if !text.is_empty() {
            let now = self.tick();
            let began = began.unwrap_or(now);
            let text = format!("{text} <0.{:06}>", now - began + 1);
            self.log(turn.thread, began, &text);
            self.out.begins.insert(BEGIN_NS + began * 1000, turn.number);
        }
    }

    /// Ends a process after the call that caused the end.
    fn after_the_call(&mut self, turn: Turn) {
        match turn.op {
            Op::Exit => self.end(turn.process, true),
            Op::Kill => self.end(self.threads[&turn.child], false),
            Op::Pause => self.now_us += 20_000,
            _ => {}
        }
    }

    /// Ends a process. A kill loses the bytes in the buffers of the process. If the remedy warns of that loss, the
    /// bytes are written here: the loss is then no fault.
    fn end(&mut self, process: u32, writes: bool) {
        let is_flushed = if writes { Fix::flushes_at_ends } else { Fix::tells_of_kills };
        if self.fix.is_some_and(is_flushed) {
            self.flush(process, |_| true);
        }
        let known = self.kernel.processes.get_mut(&process);
        known.into_iter().for_each(|known| known.has_ended = true);
        let own = self.threads.iter().filter(|(_, owner)| **owner == process);
        for thread in own.map(|(thread, _)| *thread).collect::<Vec<_>>() {
            self.queues.remove(&thread);
            let how = if writes { "+++ exited with 0 +++" } else { "+++ killed by SIGKILL +++" };
            let now = self.tick();
            self.log(thread, now, how);
        }
    }

    fn is_buffered(&self, how: RemedyKind, turn: Turn) -> bool {
        let user = self
            .kernel
            .key_of(turn.process, turn.fd)
            .map(|key| self.user(turn, key));
        let fix = self.fix.filter(|fix| fix.how == how);
        fix.zip(user)
            .is_some_and(|(fix, user)| fix.streams.contains(&user))
    }

    pub(super) fn flush(&mut self, process: u32, which: impl Fn(i32) -> bool) {
        for (&(owner, fd), buffer) in &mut self.buffers {
            if owner == process
                && which(fd)
                && let Some(key) = self.kernel.key_of(process, fd)
                && !buffer.out.is_empty()
            {
                let out = std::mem::take(&mut buffer.out);
                self.kernel.write(key, &out, None);
            }
        }
    }

    /// Writes the parts of joined calls so far, before a seek between the parts.
    pub(super) fn write_parts(&mut self, key: usize) {
        let Some((fix, before)) = self.fix.zip(self.before) else {
            return;
        };
        let is_of = |group: &usize| {
            let first = fix.steps_of(*group)[0];
            before.users[&first].2 == key && self.program[first].op != Op::WriteAt
        };
        let joins = fix.how == RemedyKind::Join;
        let groups = self
            .parts
            .keys()
            .copied()
            .filter(|group| joins && is_of(group));
        for group in groups.collect::<Vec<_>>() {
            let parts: Vec<Cell> = self.parts.remove(&group).unwrap_or_default().into();
            self.kernel.write(key, &parts, None);
        }
    }

    /// Sets the offset to where the program has read to, and drops the bytes that were read ahead.
    pub(super) fn give_back(&mut self, process: u32, fd: i32) {
        if let Some(buffer) = self.buffers.get_mut(&(process, fd))
            && let Some(key) = self.kernel.key_of(process, fd)
            && let Some(open_file) = self.kernel.open_files.get_mut(&key)
            && matches!(open_file.object, Object::File(_))
        {
            open_file.offset = open_file.offset.saturating_sub(buffer.ahead.len());
            buffer.ahead.clear();
        }
    }

    fn write(&mut self, turn: Turn) -> Option<Done> {
        let at = (turn.op == Op::WriteAt).then_some(turn.at);
        let key = self.used(turn, at.is_some(), true)?;
        let cell = |byte: usize| (turn.number as Cell + 1) << 8 | byte as Cell & 255;
        let cells: Vec<Cell> = (0..turn.bytes).map(cell).collect();
        let group = self.fix.and_then(|fix| fix.group_of(turn.number));
        let place = self
            .fix
            .and_then(|fix| fix.places.get(&turn.number))
            .copied();
        if let Some((group, steps)) = group {
            self.parts.entry(group).or_default().extend(cells);
            if steps.last() == Some(&turn.number) {
                let parts: Vec<Cell> = self.parts.remove(&group).unwrap_or_default().into();
                let at = at.map(|at| at + turn.bytes - parts.len());
                self.kernel.write(key, &parts, at);
            }
        } else if at.is_none() && self.is_buffered(RemedyKind::WriteBuffer, turn) {
            let place = (turn.process, turn.fd);
            let used = self
                .buffers
                .get(&place)
                .map_or(0, |buffer| buffer.out.len());
            if self.fix.is_some_and(Fix::keeps_records) && used + cells.len() > BUFFER_BYTES {
                self.flush(turn.process, |fd| fd == turn.fd);
            }
            let buffer = self.buffers.entry(place).or_default();
            buffer.out.extend(cells);
            while buffer.out.len() >= BUFFER_BYTES {
                let full: Vec<Cell> = buffer.out.drain(..BUFFER_BYTES).collect();
                self.kernel.write(key, &full, None);
            }
        } else {
            self.give_back(turn.process, turn.fd);
            self.kernel.write(key, &cells, at.or(place));
        }
        Some((Vec::new(), turn.bytes.to_string()))
    }

    fn user(&self, turn: Turn, key: usize) -> User {
        let programs = self.kernel.processes[&turn.process].programs;
        (turn.process, turn.fd, key, programs)
    }

    /// Notes the user of a transfer, and returns the open file; `None` if the transfer is impossible.
    fn used(&mut self, turn: Turn, has_offset: bool, writes: bool) -> Option<usize> {
        let key = self.kernel.key_of(turn.process, turn.fd)?;
        let open_file = &self.kernel.open_files[&key];
        let may = if writes { open_file.may_write } else { open_file.may_read };
        let suits = !has_offset || matches!(open_file.object, Object::File(_));
        let user = self.user(turn, key);
        self.out.users.insert(turn.number, user);
        (may && suits).then_some(key)
    }

    fn read(&mut self, turn: Turn) -> Option<Option<Done>> {
        let at = (turn.op == Op::ReadAt).then_some(turn.at);
        let Some(key) = self.used(turn, at.is_some(), false) else {
            return Some(None);
        };
        let bytes = self.bytes_of(turn, key, at)?;
        let count = bytes.len().to_string();
        Some(Some((bytes, count)))
    }

    /// The bytes of a read; `None` if the read has to wait.
    fn bytes_of(&mut self, turn: Turn, key: usize, at: Option<usize>) -> Option<Vec<Cell>> {
        let place = self
            .fix
            .and_then(|fix| fix.places.get(&turn.number))
            .copied();
        let group = self.fix.and_then(|fix| fix.group_of(turn.number));
        let is_buffered = at.is_none() && self.is_buffered(RemedyKind::ReadAhead, turn);
        let Some(before) = self.before.filter(|_| group.is_some() || is_buffered) else {
            return self.kernel.read(key, turn.bytes, at.or(place));
        };
        let count_of = |step: &usize| before.seen.get(step).map_or(0, Vec::len);
        let wanted = before.seen.get(&turn.number).map_or(turn.bytes, Vec::len);
        loop {
            let (ahead, most) = match group {
                Some((group, steps)) => {
                    let own = steps.iter().skip_while(|one| **one != turn.number);
                    let parts = self.parts.entry(group).or_default();
                    let missing = own.map(count_of).sum::<usize>().saturating_sub(parts.len());
                    (parts, missing)
                }
                None => {
                    let buffer = self.buffers.entry((turn.process, turn.fd)).or_default();
                    (&mut buffer.ahead, BUFFER_BYTES)
                }
            };
            if !ahead.is_empty() && ahead.len() >= wanted {
                return Some(ahead.drain(..wanted.max(1)).collect());
            }
            let more = self.kernel.read(key, most, at.map(|at| at + ahead.len()))?;
            if more.is_empty() {
                return Some(ahead.drain(..).collect());
            }
            ahead.extend(more);
        }
    }
}
