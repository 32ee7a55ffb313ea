//! Runs a program on the kernel, as it is or with a remedy, and writes what strace would log.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;

use super::fix::{BUFFER_BYTES, Fix};
use super::kernel::{Cell, Kernel, Object, Process, path_of};
use super::program::{Op, Step, text_of};
use crate::advisor::wording::remedy_kind::RemedyKind;

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
    /// Process, descriptor and open file of each transfer.
    pub(super) users: BTreeMap<usize, (u32, i32, usize)>,
}

/// What came of a step.
pub(super) enum Ran {
    /// What it saw, and its result as strace writes it.
    Done(Vec<Cell>, String),
    /// The call makes no sense where it stands.
    Left,
    Waits,
}

/// A stream object of the program, after the remedy.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffer {
    out: Vec<Cell>,
    pub(super) ahead: VecDeque<Cell>,
}

pub(super) struct Runner<'a> {
    program: &'a [Step],
    pub(super) fix: Option<&'a Fix>,
    /// The run without the remedy: a read goes on until it has as many bytes.
    before: Option<&'a Outcome>,
    pub(super) kernel: Kernel,
    /// The process of each thread.
    pub(super) threads: BTreeMap<u32, u32>,
    /// The next steps of each thread, if the first of them waits.
    pub(super) queues: BTreeMap<u32, VecDeque<usize>>,
    /// When the steps that wait began.
    began: BTreeMap<usize, u64>,
    pub(super) buffers: BTreeMap<(u32, i32), Buffer>,
    /// The bytes of calls that are joined.
    parts: BTreeMap<usize, VecDeque<Cell>>,
    now_us: u64,
    out: Outcome,
}

/// Runs steps in an order; threads that wait go on when they can.
pub(super) fn run(program: &[Step], order: &[usize], fix: Option<(&Fix, &Outcome)>) -> Outcome {
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
                    self.queues.get_mut(&thread).map(VecDeque::pop_front);
                    if let Ran::Done(seen, _) = ran {
                        self.out.seen.insert(step, seen);
                        self.out.order.push(step);
                        goes_on = true;
                    }
                }
            }
        }
    }

    /// Ends each process that does not wait, after which others may go on.
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
        let files = self.kernel.files.iter();
        let files = files.map(|file| file.bytes.iter().copied().chain(file.changes).collect());
        let streams = self
            .kernel
            .streams
            .iter()
            .map(|stream| stream.history.clone());
        self.out.content = files.chain(streams).collect();
        self.out
    }

    fn log(&mut self, thread: u32, began: Option<u64>, text: &str) -> u64 {
        self.now_us += 10;
        let began = began.unwrap_or(self.now_us);
        let took = self.now_us - began + 1;
        let (s, us) = (1_795_312_736 + began / 1_000_000, began % 1_000_000);
        let _ = writeln!(self.out.log, "{thread} {s}.{us:06} {text} <0.{took:06}>");
        (s * 1_000_000 + us) * 1000
    }

    /// `3</d/a>`
    pub(super) fn shown(&self, process: u32, fd: i32) -> String {
        let text = self
            .kernel
            .at(process, fd)
            .map_or("", |open_file| &open_file.text);
        format!("{fd}<{text}>")
    }

    /// Runs a step, and logs it when it ends. A call that polls is logged when it fails for the first time, too.
    fn attempt(&mut self, number: usize) -> Ran {
        let step = self.program[number];
        let Some(&process) = self.threads.get(&step.thread) else {
            return Ran::Left;
        };
        if self.kernel.processes[&process].has_ended {
            return Ran::Left;
        }
        let is_dropped = self.fix.is_some_and(|fix| fix.dropped.contains(&number));
        if is_dropped {
            return Ran::Done(Vec::new(), String::new());
        }
        self.flush(process, |_| false);
        if let Some(fix) = self.fix {
            let own = self.buffers.keys().filter(|key| key.0 == process);
            let is_due = |fd: &i32| fix.is_written_before(&step, &self.kernel, process, *fd);
            let due: Vec<i32> = own.map(|key| key.1).filter(is_due).collect();
            self.flush(process, |fd| due.contains(&fd));
        }
        let named = [step.fd, step.other].map(|fd| self.shown(process, fd));
        let ran = self.call(number, &step, process);
        let is_first = !self.began.contains_key(&number);
        let waits = match &ran {
            Ran::Left => return ran,
            Ran::Waits => true,
            Ran::Done(seen, result) if step.polls => match step.op {
                Op::List => !seen.contains(&step.name.into()),
                _ => result.starts_with('-') || matches!(seen[..], [] | [0]),
            },
            Ran::Done(..) => false,
        };
        if waits && is_first {
            self.now_us += 10;
            self.began.insert(number, self.now_us);
        }
        if let Ran::Done(seen, result) = &ran
            && (!waits || is_first)
        {
            let moves = step.op == Op::Read && !seen.is_empty() && !step.polls;
            let began = self.began.remove(&number).filter(|_| moves || !step.polls);
            let after = [step.fd, step.other].map(|fd| self.shown(process, fd));
            let show = |place: usize| {
                if named[place].ends_with("<>") { &after[place] } else { &named[place] }
            };
            let text = text_of(step.op)
                .replace("%f", show(0))
                .replace("%g", show(1))
                .replace("%o", &step.other.to_string())
                .replace("%p", &path_of(step.name))
                .replace("%q", &path_of(step.to))
                .replace("%n", &step.bytes.to_string())
                .replace("%h", &(step.bytes / 2).to_string())
                .replace("%a", &step.at.to_string())
                .replace("%c", &step.child.to_string())
                .replace("%r", result);
            if !text.is_empty() {
                let began = self.log(step.thread, began, &text);
                self.out.begins.insert(began, number);
            }
            self.after_the_call(&step, process);
        }
        if waits { Ran::Waits } else { ran }
    }

    /// Notes the end of a process behind the call that brought it about.
    fn after_the_call(&mut self, step: &Step, process: u32) {
        match step.op {
            Op::Exit => self.end(process, true),
            Op::Kill => self.end(self.threads[&step.child], false),
            Op::Pause => self.now_us += 20_000,
            _ => {}
        }
    }

    /// Ends a process; one that is killed loses what is in its buffers, which the text may say.
    fn end(&mut self, process: u32, writes: bool) {
        if writes || self.fix.is_some_and(Fix::tells_of_kills) {
            self.flush(process, |_| true);
        }
        if let Some(process) = self.kernel.processes.get_mut(&process) {
            process.has_ended = true;
        }
        let own = self.threads.iter().filter(|(_, owner)| **owner == process);
        for thread in own.map(|(thread, _)| *thread).collect::<Vec<_>>() {
            self.queues.remove(&thread);
            let how = if writes { "exited with 0" } else { "killed by SIGKILL" };
            self.now_us += 10;
            let us = self.now_us;
            let _ = writeln!(self.out.log, "{thread} 1795312736.{us:06} +++ {how} +++");
        }
    }

    /// Whether the remedy gives a descriptor a buffer.
    fn is_buffered(&self, how: RemedyKind, process: u32, fd: i32) -> bool {
        let Some((fix, key)) = self.fix.zip(self.kernel.key_of(process, fd)) else {
            return false;
        };
        fix.how == how && fix.streams.contains(&(process, fd, key))
    }

    /// Writes the bytes in the buffers of a process.
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

    /// Writes what there is of a joined call, before a seek in the midst of it.
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

    /// Sets the offset to where the program has read to, and drops what was read ahead.
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

    pub(super) fn write(&mut self, number: usize, step: &Step, process: u32) -> Ran {
        let at = (step.op == Op::WriteAt).then_some(step.at);
        let Some(key) = self.used(number, step, process, at.is_some(), true) else {
            return Ran::Left;
        };
        let cell = |byte: usize| (number as Cell + 1) << 8 | byte as Cell & 255;
        let cells: Vec<Cell> = (0..step.bytes).map(cell).collect();
        let group = self.fix.and_then(|fix| fix.group_of(number));
        let place = self.fix.and_then(|fix| fix.places.get(&number)).copied();
        if let Some((group, steps)) = group {
            self.parts.entry(group).or_default().extend(cells);
            if steps.last() == Some(&number) {
                let parts: Vec<Cell> = self.parts.remove(&group).unwrap_or_default().into();
                let at = at.map(|at| at + step.bytes - parts.len());
                self.kernel.write(key, &parts, at);
            }
        } else if at.is_none() && self.is_buffered(RemedyKind::WriteBuffer, process, step.fd) {
            let out = &mut self.buffers.entry((process, step.fd)).or_default().out;
            out.extend(cells);
            if out.len() >= BUFFER_BYTES {
                self.flush(process, |fd| fd == step.fd);
            }
        } else {
            self.give_back(process, step.fd);
            self.kernel.write(key, &cells, at.or(place));
        }
        Ran::Done(Vec::new(), step.bytes.to_string())
    }

    /// The open file of a transfer, which is noted, if the transfer can be.
    fn used(
        &mut self,
        number: usize,
        step: &Step,
        process: u32,
        has_offset: bool,
        writes: bool,
    ) -> Option<usize> {
        let key = self.kernel.key_of(process, step.fd)?;
        let open_file = &self.kernel.open_files[&key];
        let may = if writes { open_file.may_write } else { open_file.may_read };
        let suits = !(has_offset || step.polls) || matches!(open_file.object, Object::File(_));
        self.out.users.insert(number, (process, step.fd, key));
        (may && suits).then_some(key)
    }

    pub(super) fn read(&mut self, number: usize, step: &Step, process: u32) -> Ran {
        let at = (step.op == Op::ReadAt).then_some(step.at);
        let Some(key) = self.used(number, step, process, at.is_some(), false) else {
            return Ran::Left;
        };
        match self.bytes_of(number, step, process, key, at) {
            Some(bytes) => {
                let count = bytes.len().to_string();
                Ran::Done(bytes, count)
            }
            None => Ran::Waits,
        }
    }

    /// The bytes of a read; `None` if it has to wait.
    fn bytes_of(
        &mut self,
        number: usize,
        step: &Step,
        process: u32,
        key: usize,
        at: Option<usize>,
    ) -> Option<Vec<Cell>> {
        let (Some(fix), Some(before)) = (self.fix, self.before) else {
            return self.kernel.read(key, step.bytes, at);
        };
        if let Some(&place) = fix.places.get(&number) {
            return self.kernel.read(key, step.bytes, Some(place));
        }
        let wanted = before.seen.get(&number).map_or(step.bytes, Vec::len);
        let group = fix.group_of(number);
        if group.is_none()
            && (at.is_some() || !self.is_buffered(RemedyKind::ReadAhead, process, step.fd))
        {
            return self.kernel.read(key, step.bytes, at);
        }
        loop {
            let (ahead, most) = match group {
                Some((group, steps)) => {
                    let own = steps.iter().skip_while(|one| **one != number);
                    let of = |one: &usize| before.seen.get(one).map_or(0, Vec::len);
                    let parts = self.parts.entry(group).or_default();
                    let rest: usize = own.map(of).sum();
                    let missing = rest.saturating_sub(parts.len());
                    (parts, missing)
                }
                None => {
                    let buffer = self.buffers.entry((process, step.fd)).or_default();
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
