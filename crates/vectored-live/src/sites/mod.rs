//! Call sites: a sample of the stack tells the line that makes a call. A line that is not certain is not reported.

mod linetable;
mod modules;
mod names;
mod python;
mod symbols;
mod unwind;

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::record::Sample;
use crate::sites::modules::{Modules, Program};
use crate::sites::python::Python;
use crate::sites::symbols::Symbols;
use crate::sites::unwind::frames;

pub(crate) use crate::sites::python::Pythons;

/// Stacks that are remembered. When there are more, all are forgotten.
const STACKS_MAX: usize = 1 << 16;

/// A stack. Each frame has two numbers: the address at which its `Module` is kept, and the frame's address in the
/// module.
type Stack = Vec<(usize, u64)>;

/// Finds call sites, and keeps what is known of each process.
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

    /// Notes that a process begins a program. `path` and `inode` are the program's file, `code` is the address of its
    /// first code.
    pub(crate) fn execute(&mut self, process: u32, path: &[u8], code: u64, inode: u64) {
        self.python.forget(process);
        let program = self.modules.begin(path, code, inode);
        self.programs.insert(process, program);
        self.read(process);
    }

    /// Notes that a process made a child with the same memory.
    pub(crate) fn fork(&mut self, process: u32, child: u32) {
        if let Some(program) = self.programs.get(&process).cloned() {
            self.programs.insert(child, program);
            self.python.fork(process, child);
        }
    }

    /// Notes that a process opened a file, which may be a library.
    pub(crate) fn open(&mut self, process: u32, descriptor: i32, path: &[u8]) {
        if memchr::memmem::find(path, b".so").is_some()
            && let Ok(path) = str::from_utf8(path)
            && let Some(program) = self.programs.get_mut(&process)
        {
            program.opened = Some((descriptor, path.to_owned()));
        }
    }

    /// Notes that a process mapped a part of a file as code: a library, perhaps in place of another library.
    pub(crate) fn map(&mut self, process: u32, descriptor: i32, memory: u64, page: u64) {
        if !self.read(process)
            && let Some(program) = self.programs.get_mut(&process)
        {
            self.modules.map(program, descriptor, memory, page);
        }
    }

    /// Reads the present mappings of a process, and tells the kernel where frames of CPython are. If the process has ended, the
    /// known mappings stay.
    pub(crate) fn read(&mut self, process: u32) -> bool {
        let program = self.modules.now(process);
        let program = program.map(|program| {
            self.python.note(process, &program);
            self.programs.insert(process, program);
        });
        program.is_some()
    }

    /// Whether, since the last call of this function, the kernel was told where frames are.
    pub(crate) fn has_news(&mut self) -> bool {
        std::mem::take(&mut self.python.has_news)
    }

    /// The call site of a sample: the innermost frame outside the C library. `None` if that frame is unknown.
    pub(crate) fn site(&mut self, process: u32, sample: &Sample) -> Option<Rc<[u8]>> {
        if !sample.python.is_empty() {
            return self.python.site(process, sample).map(shared);
        }
        let find = |sites: &Sites| Some(frames(sites.programs.get(&process)?, sample));
        let mut found = find(self);
        if found.as_ref().is_none_or(|found| !found.1) {
            // A library may have been mapped since the last read.
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
        // For a sample of CPython, the site is a line of Python or unknown. Until the kernel knows where the frames
        // are, the site is unknown.
        let mut modules = frames.iter().map(|frame| &frame.module);
        let is_python = modules.any(|module| self.python.is_interpreter(module));
        let program = self.programs.get(&process).filter(|_| !is_python);
        let site = program.and_then(|program| self.symbols.site(program, &frames));
        let site = site.map(shared);
        if self.stacks.len() >= STACKS_MAX {
            self.stacks.clear();
        }
        self.stacks.insert(stack, site.clone());
        site
    }

    pub(crate) fn forget(&mut self, process: u32) {
        self.programs.remove(&process);
        self.python.forget(process);
    }
}

fn shared(site: String) -> Rc<[u8]> {
    Rc::from(site.into_bytes())
}
