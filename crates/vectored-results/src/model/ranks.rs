//! Ranks of a cluster: processes on one or several nodes that sample the same cell at the same time.

use serde::{Deserialize, Serialize};

pub const MAX_RANKS: u32 = 1 << 20;

/// The limit for stragglers: the median time of the rank ÷ the time of the median rank is above this (as for tasks in
/// Ananthanarayanan et al., "Reining in the outliers in Map-Reduce clusters using Mantri", OSDI 2010).
pub const STRAGGLER: f64 = 1.5;

/// One rank of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rank {
    /// The number of the rank, from 0.
    pub rank: u32,
    /// The name of the node of the rank.
    pub host: String,
    /// Kernel release and version of the node.
    pub kernel: String,
    /// Processor of the node.
    pub cpu: String,
    /// The CPU that the rank was pinned to.
    pub pinned_cpu: Option<usize>,
    /// The median time of the rank ÷ the median time of the median rank: median over all cells and techniques that this rank
    /// sampled with other ranks. `None` without such cells.
    pub slowdown: Option<f64>,
    /// The share of its samples with other ranks in which this rank was the last to end.
    pub last_share: Option<f64>,
    /// The number of `figures` in which this rank is a straggler.
    pub straggles: u32,
    /// The cells × techniques that this rank sampled with other ranks.
    pub figures: u32,
}

/// The figures of the ranks of a cell with one technique.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankFigures {
    /// For each rank the time of a call, from the start to the end of this rank: median over its samples.
    pub rank_median_ns: Vec<f64>,
    /// For each rank the time of a call: minimum over its samples.
    pub rank_min_ns: Vec<f64>,
    /// For each rank the share of the samples in which this rank was the last to end.
    pub rank_last_share: Vec<f64>,
    /// Calls of all ranks together in a second, by the time of the slowest rank: ranks ÷ `median_ns`.
    pub calls_per_s: f64,
    /// Bytes of all ranks together in a second, by the time of the slowest rank.
    pub bytes_per_s: f64,
    /// The ranks whose median is more than [`STRAGGLER`] times the median of all ranks.
    pub stragglers: Vec<u32>,
}
