//! Call sites: the line of a program that makes a call, by a sample of its stack. A line that is not certain is not told.

mod linetable;
mod modules;
mod names;
mod python;
mod symbols;
mod table;
mod unwind;

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::record::Sample;
use crate::sites::modules::{Modules, Program, mapped_now};
use crate::sites::python::Python;
use crate::sites::symbols::Symbols;
use crate::sites::unwind::frames;

pub(crate) use crate::sites::python::Pythons;

/// Stacks that are remembered. More are forgotten at once.
const STACKS_MAX: usize = 1 << 16;

/// A stack: for each frame the file that is kept open, by its place in memory, and the address in it.
type Stack = Vec<(usize, u64)>;

/// Finds call sites, with what it knows of each process.
pub(crate) struct Sites {
    python: Python,
    modules: Modules,
    programs: FxHashMap<u32, Program>,
    symbols: Symbols,
    stacks: FxHashMap<Stack, Option<Rc<[u8]>>>,
}

impl Sites {
    pub(crate) fn new(pythons: Pythons) -> Sites {
        Sites {
            python: Python::new(pythons),
            modules: Modules::default(),
            programs: FxHashMap::default(),
            symbols: Symbols::new(),
            stacks: FxHashMap::default(),
        }
    }

    /// A program begins, at an address, from a file with a path and a number.
    pub(crate) fn execute(&mut self, process: u32, path: &[u8], code: u64, inode: u64) {
        self.python.begin(process);
        let program = Program::start(path, code, inode, &mut self.modules);
        self.python.note(process, &program);
        self.programs.insert(process, program);
        self.read(process);
    }

    /// A process made another one, which has the same memory.
    pub(crate) fn fork(&mut self, process: u32, child: u32) {
        if let Some(program) = self.programs.get(&process).cloned() {
            self.programs.insert(child, program);
            self.python.fork(process, child);
        }
    }

    /// A process opened a file, which may be a library.
    pub(crate) fn open(&mut self, process: u32, descriptor: i32, path: &[u8]) {
        if memchr::memmem::find(path, b".so").is_some()
            && let Some(program) = self.programs.get_mut(&process)
        {
            program.open(descriptor, path);
        }
    }

    /// A process mapped a part of a file to run it: a library, maybe where another one was.
    pub(crate) fn map(&mut self, process: u32, descriptor: i32, memory: u64, at: u64) {
        if !self.read(process)
            && let Some(program) = self.programs.get_mut(&process)
        {
            program.map(descriptor, memory, at, &mut self.modules);
        }
    }

    /// Reads what a process has mapped now, unless it has ended: then what is known stays. The kernel may be told where its frames
    /// are.
    pub(crate) fn read(&mut self, process: u32) -> bool {
        let Some(mapped) = mapped_now(process, &mut self.modules) else {
            return false;
        };
        let program = self.programs.entry(process).or_default();
        program.mapped = mapped;
        self.python.note(process, program);
        true
    }

    /// Whether the kernel was told where frames are, since this was asked last.
    pub(crate) fn has_news(&mut self) -> bool {
        std::mem::take(&mut self.python.has_news)
    }

    /// The call site of a sample: the innermost frame outside the C library; `None` if it is unknown.
    pub(crate) fn site(&mut self, process: u32, sample: &Sample) -> Option<Rc<[u8]>> {
        if !sample.python.is_empty() {
            return self
                .python
                .site(process, sample)
                .map(|site| Rc::from(site.into_bytes()));
        }
        let find = |sites: &Sites| {
            sites
                .programs
                .get(&process)
                .map(|program| frames(program, sample))
        };
        let mut found = find(self);
        if found.as_ref().is_none_or(|found| !found.1) {
            // A library was mapped since.
            self.read(process);
            found = find(self);
        }
        let (frames, _) = found?;
        let stack: Stack = frames
            .iter()
            .map(|frame| (Rc::as_ptr(&frame.module) as usize, frame.end))
            .collect();
        if let Some(known) = self.stacks.get(&stack) {
            return known.clone();
        }
        // A sample of CPython names a line of Python or nothing. It names nothing until the kernel knows where the frames are.
        let is_python = frames
            .iter()
            .any(|frame| self.python.is_interpreter(&frame.module));
        let site = if is_python {
            None
        } else {
            self.symbols.site(self.programs.get(&process)?, &frames)
        };
        let site = site.map(|site| Rc::from(site.into_bytes()));
        if self.stacks.len() >= STACKS_MAX {
            self.stacks.clear();
        }
        self.stacks.insert(stack, site.clone());
        site
    }

    /// A process has ended.
    pub(crate) fn forget(&mut self, process: u32) {
        self.programs.remove(&process);
        self.python.forget(process);
    }
}
