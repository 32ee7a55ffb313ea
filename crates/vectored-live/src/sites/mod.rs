//! Call sites: the line of a program that makes a call, by a sample of its stack. A line that is not certain is not told.

mod modules;
mod symbols;
mod table;
mod unwind;

use std::rc::Rc;

use aya::maps::{HashMap, MapData};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::record::Sample;
use crate::sites::modules::{Modules, Program};
use crate::sites::symbols::Symbols;
use crate::sites::unwind::{Frame, frames};

/// Where CPython keeps the running frame: `struct python` of `bpf/live.bpf.c`, by process.
pub(crate) type Pythons = HashMap<MapData, u32, [u64; 5]>;

/// Stacks that are remembered. More are forgotten at once.
const STACKS_MAX: usize = 1 << 16;

/// A stack: for each frame the file that is kept open, by its place in memory, and the address in it.
type Stack = Vec<(usize, u64)>;

/// Finds call sites, with what it knows of each process.
pub(crate) struct Sites {
    _pythons: Pythons,
    modules: Modules,
    programs: FxHashMap<u32, Program>,
    /// Processes that have mapped files since they were read.
    changed: FxHashSet<u32>,
    symbols: Symbols,
    stacks: FxHashMap<Stack, Option<Rc<[u8]>>>,
}

impl Sites {
    pub(crate) fn new(pythons: Pythons) -> Sites {
        Sites {
            _pythons: pythons,
            modules: Modules::default(),
            programs: FxHashMap::default(),
            changed: FxHashSet::default(),
            symbols: Symbols::new(),
            stacks: FxHashMap::default(),
        }
    }

    /// A process runs, or another program runs in it: the kernel may be told where its frames are.
    pub(crate) fn begin(&mut self, process: u32) {
        self.read(process);
    }

    /// A process made another one, which has the same memory.
    pub(crate) fn fork(&mut self, process: u32, child: u32) {
        if let Some(program) = self.programs.get(&process).cloned() {
            self.programs.insert(child, program);
        }
    }

    /// A process mapped a file into memory: it may be a library, where another one was.
    pub(crate) fn map(&mut self, process: u32) {
        self.changed.insert(process);
    }

    /// What a process has mapped now, unless it has ended: then what is known stays.
    fn read(&mut self, process: u32) {
        if let Some(program) = Program::read(process, &mut self.modules) {
            self.programs.insert(process, program);
        }
    }

    /// The call site of a sample: the innermost frame outside the C library; `None` if it is unknown.
    pub(crate) fn site(&mut self, process: u32, sample: &Sample) -> Option<Rc<[u8]>> {
        if self.changed.remove(&process) {
            self.read(process);
        }
        let mut found = self.frames(process, sample);
        if found.as_ref().is_none_or(|found| !found.1) {
            // A library was mapped since.
            self.read(process);
            found = self.frames(process, sample);
        }
        let (frames, _) = found?;
        let stack: Stack = frames.iter().map(|frame| (Rc::as_ptr(&frame.module) as usize, frame.end)).collect();
        if let Some(known) = self.stacks.get(&stack) {
            return known.clone();
        }
        let site = self.symbols.site(self.programs.get(&process)?, &frames).map(|site| Rc::from(site.into_bytes()));
        if self.stacks.len() >= STACKS_MAX {
            self.stacks.clear();
        }
        self.stacks.insert(stack, site.clone());
        site
    }

    /// The frames, and whether all addresses were in known modules.
    fn frames(&self, process: u32, sample: &Sample) -> Option<(Vec<Frame>, bool)> {
        let program = self.programs.get(&process)?;
        Some(frames(program, sample))
    }

    /// A process has ended.
    pub(crate) fn forget(&mut self, process: u32) {
        self.programs.remove(&process);
        self.changed.remove(&process);
    }
}
