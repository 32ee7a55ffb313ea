//! The description of a run: cells, techniques and budget.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::model::direct_io::DirectIo;
use crate::model::sync::SyncMode;
use crate::model::target::Target;
use crate::model::technique::Technique;
use crate::model::workload::{Cache, IovecSetup, Layout, Operation, PageCache, Workload};

/// One target × one workload × one operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CellSpec {
    /// Where the bytes go, or come from.
    pub target: Target,
    /// The path, if a user named one: the directory of a file, a FIFO, a socket or a device.
    pub path: Option<PathBuf>,
    /// Whether the bytes are written or read.
    pub operation: Operation,
    /// The list of segments.
    pub workload: Workload,
    /// How the segments lie in memory.
    pub layout: Layout,
    /// The state of the CPU's caches.
    pub cache: Cache,
    /// When the iovec array is filled.
    pub iovec_setup: IovecSetup,
    /// The state of the page cache, for a file that is read.
    pub page_cache: Option<PageCache>,
    /// How durable each write to a file must be before the next call.
    pub sync: SyncMode,
    /// Past the page cache, with this alignment (files). `None`: through it.
    pub direct: Option<DirectIo>,
    /// Transfers that asynchronous techniques keep in flight: 1 to [`MAX_QUEUE_DEPTH`]. Synchronous ones
    /// have one at a time.
    pub queue_depth: u32,
    /// Writers that start each sample together. `None`: the measuring thread writes.
    pub writers: Option<u32>,
    /// Ranks of a cluster that start each sample together, each on a target of its own. `None`: this process alone,
    /// or with a [`RankedSampler`](crate::measure::RankedSampler) all ranks.
    pub ranks: Option<u32>,
}

/// The most transfers in flight.
pub const MAX_QUEUE_DEPTH: u32 = 4096;

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
            direct: None,
            queue_depth: 1,
            writers: None,
            ranks: None,
        }
    }

    /// A scatter read with every other property at its default. `page_cache` matters for files only.
    pub fn read(target: Target, workload: Workload, page_cache: PageCache) -> Self {
        CellSpec {
            operation: Operation::Read,
            page_cache: (target == Target::File).then_some(page_cache),
            ..CellSpec::write(target, workload)
        }
    }

    /// Its files have room for at least two times this many bytes: for two calls, or for the shortest batch
    /// that keeps `queue_depth` transfers in flight.
    pub fn half_batch_bytes(&self) -> u64 {
        let writers = u64::from(self.writers.unwrap_or(1));
        let call_bytes = self.workload.total_bytes() as u64 * writers;
        match self.queue_depth {
            0 | 1 => call_bytes,
            depth => (call_bytes * u64::from(4 * depth - 1)).div_ceil(2),
        }
    }

    /// The size nearest to `bytes` that segments of such a cell can have.
    pub fn nearest_size(&self, bytes: usize) -> usize {
        self.direct
            .map_or(bytes, |direct| direct.nearest_size(bytes))
    }

    /// The target in words, with its path if it has one.
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

/// Everything that the engine is given before it starts.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The cells, in the order in which results list them.
    pub cells: Vec<CellSpec>,
    /// The techniques that compete in each cell.
    pub rivals: Vec<Technique>,
    /// Techniques that are measured for comparison only; they take no part in verdicts.
    pub unranked: Vec<Technique>,
    /// Whether sizes between those of `cells` are measured to locate crossovers.
    pub refine: bool,
    /// Wall time for the whole run, in ns. Each cell first gets the minimum of rounds; the rest goes to
    /// open cells.
    pub budget_ns: u64,
    /// Seed of all random choices. The same seed and the same samples give the same results.
    pub seed: u64,
}

impl Experiment {
    /// The techniques of one cell: those that support its target.
    pub fn techniques_of(&self, cell: &CellSpec) -> Vec<Technique> {
        let mut techniques = self.techniques();
        techniques.retain(|technique| technique.works_on(cell.target));
        techniques
    }

    /// Rivals and techniques for comparison, without repeats, in the order of the tables.
    pub fn techniques(&self) -> Vec<Technique> {
        let mut all = [&Technique::ALL[..], &Technique::GUESTS].concat();
        all.retain(|technique| {
            self.rivals.contains(technique) || self.unranked.contains(technique)
        });
        all
    }
}
