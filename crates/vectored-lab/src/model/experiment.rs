//! What shall be measured.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Cache, IovecSetup, Layout, Operation, PageCache, Technique, Workload};

/// Where bytes go, or come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// A file. Written, it is appended to up to 32 MiB and then truncated,
    /// outside the timed region: a log, a copy. Read, it has 32 MiB.
    File,
    /// A pipe of the default capacity.
    Pipe,
    /// A connected pair of Unix stream sockets with the default buffers.
    Unix,
    /// `/dev/null`, which moves no bytes: it shows fixed costs only.
    Null,
}

impl Target {
    /// The targets that `vectored measure` offers, in the order of the tables.
    pub const OFFERED: [Target; 3] = [Target::File, Target::Pipe, Target::Unix];

    /// The name, the same on the command line, in JSON and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Target::File => "file",
            Target::Pipe => "pipe",
            Target::Unix => "unix",
            Target::Null => "null",
        }
    }

    /// Whether it is a file, which has a place for each byte.
    pub fn is_file(self) -> bool {
        match self {
            Target::File => true,
            Target::Pipe | Target::Unix | Target::Null => false,
        }
    }

    /// Whether `send` works on it.
    pub fn is_socket(self) -> bool {
        match self {
            Target::Unix => true,
            Target::File | Target::Pipe | Target::Null => false,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One target × one workload × one operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CellSpec {
    /// Where the bytes go, or come from.
    pub target: Target,
    /// Which way they go.
    pub operation: Operation,
    /// The list of segments.
    pub workload: Workload,
    /// How they lie in memory.
    pub layout: Layout,
    /// The state of the CPU's caches.
    pub cache: Cache,
    /// When the iovec array is filled.
    pub iovec_setup: IovecSetup,
    /// The state of the page cache, of a file that is read.
    pub page_cache: Option<PageCache>,
}

impl CellSpec {
    /// A gather write with every other property at its default.
    pub fn write(target: Target, workload: Workload) -> Self {
        CellSpec {
            target,
            operation: Operation::Write,
            workload,
            layout: Layout::default(),
            cache: Cache::default(),
            iovec_setup: IovecSetup::default(),
            page_cache: None,
        }
    }

    /// A scatter read with every other property at its default. The state of
    /// the page cache matters to files only.
    pub fn read(target: Target, workload: Workload, page_cache: PageCache) -> Self {
        CellSpec {
            operation: Operation::Read,
            page_cache: (target == Target::File).then_some(page_cache),
            ..CellSpec::write(target, workload)
        }
    }
}

/// Everything that the engine needs to know before it starts.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The cells, in the order in which results list them.
    pub cells: Vec<CellSpec>,
    /// The techniques among which each cell's verdict is found.
    pub rivals: Vec<Technique>,
    /// Techniques shown beside the verdict, with their ratio to the leader.
    pub beside: Vec<Technique>,
    /// Wall time for the whole run, in ns. Each cell gets its fewest rounds
    /// first; what is left goes to the cells that are still open.
    pub budget_ns: u64,
    /// Seed of everything random: the same seed and the same samples give the
    /// same results.
    pub seed: u64,
}

impl Experiment {
    /// The techniques of one cell: those that work on its target.
    pub fn techniques_of(&self, cell: &CellSpec) -> Vec<Technique> {
        let mut techniques = self.techniques();
        techniques.retain(|technique| technique.works_on(cell.target));
        techniques
    }

    /// Rivals and beside, without repeats, in the order of the tables.
    pub fn techniques(&self) -> Vec<Technique> {
        let mut all = Technique::ALL.to_vec();
        all.retain(|technique| self.rivals.contains(technique) || self.beside.contains(technique));
        all
    }
}
