//! The description of a run: cells, techniques and budget.

use serde::{Deserialize, Serialize};
use vectored_report::each_once;

use crate::model::conditions::Conditions;
use crate::model::direct_io::DirectIo;
use crate::model::target::Target;
use crate::model::technique::TechniqueName;
use crate::model::workload::{PageCache, Workload};

/// One target × one workload × one operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CellSpec {
    pub conditions: Conditions,
    /// The list of segments. The bytes of a copy are one segment.
    pub workload: Workload,
    pub alignment: Option<DirectIo>,
}

pub const MAX_QUEUE_DEPTH: u32 = 4096;

impl CellSpec {
    pub fn new(conditions: Conditions, workload: Workload) -> Self {
        CellSpec {
            conditions,
            workload,
            alignment: None,
        }
    }

    pub fn write(target: Target, workload: Workload) -> Self {
        CellSpec::new(Conditions::write(target), workload)
    }

    pub fn read(target: Target, workload: Workload, page_cache: PageCache) -> Self {
        CellSpec::new(Conditions::read(target, page_cache), workload)
    }

    pub fn copy(from: Target, to: Target, bytes: usize) -> Self {
        CellSpec::new(Conditions::copy(from, to), Workload::uniform(1, bytes))
    }

    pub fn with(mut self, change: impl FnOnce(&mut Conditions)) -> Self {
        change(&mut self.conditions);
        self
    }

    /// The files of the cell have room for at least two times this many bytes: for two calls, or for the shortest
    /// batch that keeps `queue_depth` transfers in flight.
    pub fn half_batch_bytes(&self) -> u64 {
        let call_bytes = self.workload.total_bytes() as u64;
        match self.conditions.queue_depth {
            0 | 1 => call_bytes,
            depth => (call_bytes * u64::from(4 * depth - 1)).div_ceil(2),
        }
    }

    pub fn nearest_size(&self, bytes: usize) -> usize {
        self.alignment
            .map_or(bytes, |alignment| alignment.nearest_size(bytes))
    }
}

#[derive(Clone, Debug)]
pub struct Experiment {
    /// The cells, in the order in which results list them.
    pub cells: Vec<CellSpec>,
    pub rivals: Vec<TechniqueName>,
    /// Techniques that are measured for comparison only; they take no part in verdicts.
    pub unranked: Vec<TechniqueName>,
    /// Whether sizes between the sizes of `cells` are measured to locate crossovers.
    pub refine: bool,
    /// Wall time for the whole run, in ns. Each cell first gets the minimum of rounds; the rest goes to
    /// open cells.
    pub budget_ns: u64,
    /// Seed of all random choices. The same seed and the same samples give the same results.
    pub seed: u64,
}

impl Experiment {
    /// Rivals and techniques for comparison, without repeats, in the order of the tables.
    pub fn techniques(&self) -> Vec<TechniqueName> {
        each_once(self.rivals.iter().chain(&self.unranked).copied())
    }
}
