//! What shall be measured.

use std::path::PathBuf;

use crate::model::sync::SyncMode;
use crate::model::target::Target;
use crate::model::technique::Technique;
use crate::model::workload::{Cache, IovecSetup, Layout, Operation, PageCache, Workload};

/// One target × one workload × one operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CellSpec {
    /// Where the bytes go, or come from.
    pub target: Target,
    /// Which one, where a user named it: the directory of a file, a FIFO, a
    /// socket or a device. `None` where we choose it.
    pub path: Option<PathBuf>,
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
    /// What has to be on the device of a file that is written, and when.
    pub sync: SyncMode,
}

impl CellSpec {
    /// A gather write with every other property at its default.
    pub fn write(target: Target, workload: Workload) -> Self {
        CellSpec {
            target,
            path: None,
            operation: Operation::Write,
            workload,
            layout: Layout::default(),
            cache: Cache::default(),
            iovec_setup: IovecSetup::default(),
            page_cache: None,
            sync: SyncMode::None,
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

    /// The target in words, with its path where it was named by one.
    pub fn place(&self) -> String {
        match &self.path {
            None => self.target.to_string(),
            Some(path) if self.target.is_file() => {
                format!("{} in '{}'", self.target, path.display())
            }
            Some(path) => format!("{} '{}'", self.target, path.display()),
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
    /// Whether sizes between those of `cells` are measured, to find where the
    /// better of two techniques changes.
    pub refine: bool,
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
        let mut all = [&Technique::ALL[..], &Technique::GUESTS].concat();
        all.retain(|technique| self.rivals.contains(technique) || self.beside.contains(technique));
        all
    }
}
