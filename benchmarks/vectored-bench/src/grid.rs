//! The cells that are measured, and their names.

use vectored_results::model::{Cache, Cell, CellSpec, IovecSetup, LeftOut, Workload};

use crate::bench_target::BenchTarget;
use crate::mix::Mix;

/// Segment counts of the plain grid. A calibration also measures them.
pub const COUNTS: [usize; 4] = [2, 8, 64, 1000];

/// Held-out segment counts: no calibration measures them.
pub const HELD_OUT_COUNTS: [usize; 4] = [5, 24, 130, 800];

/// Segment sizes of the plain grid, in bytes.
pub const SIZES: [usize; 8] = [3, 10, 50, 100, 300, 1000, 4096, 16384];

/// Held-out segment sizes, between the sizes of the plain grid, in bytes.
pub const HELD_OUT_SIZES: [usize; 6] = [7, 30, 180, 550, 2000, 7000];

/// Segment sizes of cold cells, in bytes. Fewer, since a cold cell takes longer.
const COLD_SIZES: [usize; 5] = [10, 100, 300, 1000, 4096];

/// A list with more bytes than this is left out.
pub const MAX_CALL_BYTES: usize = 4 << 20;

/// A list of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Segments of one size.
    Uniform {
        /// The number of segments.
        count: usize,
        /// The bytes of each.
        bytes: usize,
    },
    /// Segments of several sizes.
    Mixed(Mix),
}

impl List {
    /// The list of a cell; `None` if this crate does not measure it.
    pub fn of(cell: &Cell) -> Option<List> {
        match (&cell.segment_sizes, cell.segment_bytes) {
            (Some(runs), _) => List::of_runs(runs),
            (None, bytes) => List::of_runs(&[(cell.segment_count, bytes?)]),
        }
    }

    /// The list with these runs of `(count, bytes)`.
    pub fn of_runs(runs: &[(usize, usize)]) -> Option<List> {
        match (Mix::of_runs(runs), runs) {
            (Some(mix), _) => Some(List::Mixed(mix)),
            (None, &[(count, bytes)]) => Some(List::Uniform { count, bytes }),
            (None, _) => None,
        }
    }

    /// The segment sizes of the list.
    pub fn workload(self) -> Workload {
        match self {
            List::Uniform { count, bytes } => Workload::uniform(count, bytes),
            List::Mixed(mix) => mix.workload(),
        }
    }

    /// The name, such as `64x100` or `log-lines`.
    pub fn name(self) -> String {
        match self {
            List::Uniform { count, bytes } => format!("{count}x{bytes}"),
            List::Mixed(mix) => mix.to_string(),
        }
    }

    /// Whether neither the count nor the size of the list is in the plain grid.
    pub fn is_held_out(self) -> bool {
        match self {
            List::Uniform { count, bytes } => !COUNTS.contains(&count) && !SIZES.contains(&bytes),
            List::Mixed(_) => false,
        }
    }

    /// Whether the list is in the plain grid, or is a mix.
    pub fn is_plain(self) -> bool {
        match self {
            List::Uniform { count, bytes } => COUNTS.contains(&count) && SIZES.contains(&bytes),
            List::Mixed(_) => true,
        }
    }
}

/// The cells that are asked for. `None` stands for the default.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Targets.
    pub targets: Option<Vec<BenchTarget>>,
    /// Segment counts.
    pub counts: Option<Vec<usize>>,
    /// Segment sizes, in bytes.
    pub sizes: Option<Vec<usize>>,
    /// Mixes.
    pub mixes: Option<Vec<Mix>>,
    /// Caches.
    pub caches: Option<Vec<Cache>>,
    /// Whether the array of `iovec` is filled in each call, or once before all calls (the default). A
    /// technique that changes its array, such as the standard library's loop, fills it in each call anyway.
    pub iovec_setup: Option<IovecSetup>,
    /// A cell is measured if its name contains one of these filters, or if there are no filters.
    pub filters: Vec<String>,
}

/// The cells of one target and one state of the caches.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The target of the cells.
    pub target: BenchTarget,
    /// The state of the caches.
    pub cache: Cache,
    /// Cells in which the peers are also measured.
    pub with_peers: Vec<CellSpec>,
    /// Cells in which the peers are not measured: only the library and the techniques by hand.
    pub without_peers: Vec<CellSpec>,
    /// Cells whose list has too many bytes.
    pub left_out: Vec<LeftOut>,
}

/// The cells that are asked for, by target and cache. A part without cells is left out.
pub fn parts(wanted: &Wanted) -> Vec<Part> {
    let targets = wanted.targets.as_deref().unwrap_or(&BenchTarget::ALL);
    let caches = wanted.caches.as_deref().unwrap_or(&Cache::ALL);
    let pairs = targets
        .iter()
        .flat_map(|&target| caches.iter().map(move |&cache| (target, cache)));
    pairs
        .map(|(target, cache)| part(wanted, target, cache))
        .filter(|part| !(part.with_peers.is_empty() && part.without_peers.is_empty()))
        .collect()
}

fn part(wanted: &Wanted, target: BenchTarget, cache: Cache) -> Part {
    let mut part = Part {
        target,
        cache,
        with_peers: Vec::new(),
        without_peers: Vec::new(),
        left_out: Vec::new(),
    };
    for list in lists(wanted, cache) {
        let spec = CellSpec::write(target.measured_target(), list.workload()).with(|asked| {
            asked.path = target.path().map(str::to_owned);
            asked.cache = cache;
            asked.iovec_setup = wanted.iovec_setup.unwrap_or(IovecSetup::Once);
        });
        let name = name(target, list, cache);
        let filters = &wanted.filters;
        if !filters.is_empty() && !filters.iter().any(|filter| name.contains(filter.as_str())) {
            continue;
        }
        if spec.workload.total_bytes() > MAX_CALL_BYTES {
            part.left_out.push(LeftOut {
                segment_sizes: spec.workload.runs(),
                conditions: spec.conditions,
                reason: format!("a call has more than {} MiB", MAX_CALL_BYTES >> 20),
            });
        } else if list.is_plain() && cache == Cache::Hot {
            part.with_peers.push(spec);
        } else {
            part.without_peers.push(spec);
        }
    }
    part
}

fn lists(wanted: &Wanted, cache: Cache) -> Vec<List> {
    let (usual_counts, usual_sizes) = match cache {
        Cache::Hot => (
            merged(&COUNTS, &HELD_OUT_COUNTS),
            merged(&SIZES, &HELD_OUT_SIZES),
        ),
        Cache::Cold => (COUNTS.to_vec(), COLD_SIZES.to_vec()),
    };
    // Given counts or sizes exclude the mixes, unless mixes are given as well. Given mixes exclude the lists of one size in the
    // same way.
    let names_uniform = wanted.counts.is_some() || wanted.sizes.is_some();
    let counts = wanted.counts.clone().unwrap_or(usual_counts);
    let sizes = wanted.sizes.clone().unwrap_or(usual_sizes);
    let uniform = counts.iter().flat_map(|&count| {
        let sizes = sizes.iter();
        sizes.map(move |&bytes| List::Uniform { count, bytes })
    });
    let mixes = match &wanted.mixes {
        Some(mixes) => mixes.clone(),
        None if names_uniform => Vec::new(),
        None => Mix::ALL.to_vec(),
    };
    let mut lists = Vec::new();
    if names_uniform || wanted.mixes.is_none() {
        lists.extend(uniform);
    }
    lists.extend(mixes.into_iter().map(List::Mixed));
    lists
}

fn merged(one: &[usize], other: &[usize]) -> Vec<usize> {
    let mut all = [one, other].concat();
    all.sort_unstable();
    all
}

/// The name of a cell, such as `pipe 64x100 hot`. Filters are compared with it.
pub fn name(target: BenchTarget, list: List, cache: Cache) -> String {
    format!("{target} {} {}", list.name(), cache.name())
}

/// The name of a measured cell.
pub fn name_of(cell: &Cell) -> String {
    match (BenchTarget::of(cell), List::of(cell)) {
        (Some(target), Some(list)) => name(target, list, cell.conditions.cache),
        _ => format!(
            "{} of {} segments",
            cell.conditions.target, cell.segment_count
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_cells_are_the_whole_grid() {
        let all = parts(&Wanted::default());
        assert_eq!(all.len(), 2 * BenchTarget::ALL.len());
        let hot = &all[0];
        // 8 counts × 14 sizes and 9 mixes, less what is too large.
        assert_eq!(hot.with_peers.len(), 31 + 9);
        assert_eq!(hot.without_peers.len(), 31 + 23 + 23);
        let large: Vec<_> = hot.left_out.iter().map(|l| l.segment_sizes[0]).collect();
        let expected = [(800, 7000), (800, 16384), (1000, 7000), (1000, 16384)];
        assert_eq!(large, expected);
        let cold = &all[1];
        assert_eq!(cold.with_peers.len(), 0);
        assert_eq!(cold.without_peers.len(), 4 * 5 + 9);
    }

    #[test]
    fn held_out_lists_have_neither_a_count_nor_a_size_of_the_grid() {
        let held_out = |count, bytes| List::Uniform { count, bytes }.is_held_out();
        assert!(held_out(5, 7) && !held_out(5, 10) && !held_out(8, 7));
        let part = &parts(&Wanted::default())[0];
        let lists = part.without_peers.iter().map(|cell| &cell.workload);
        let lists = lists.filter(|list| {
            list.uniform_bytes()
                .is_some_and(|bytes| held_out(list.segment_count(), bytes))
        });
        assert_eq!(lists.count(), 23);
    }

    #[test]
    fn options_narrow_the_grid() {
        let wanted = Wanted {
            targets: Some(vec![BenchTarget::Pipe, BenchTarget::Null]),
            counts: Some(vec![2, 64]),
            filters: vec!["pipe".to_owned(), "64x10 ".to_owned()],
            caches: Some(vec![Cache::Hot]),
            ..Wanted::default()
        };
        let parts = parts(&wanted);
        let counts: Vec<usize> = parts
            .iter()
            .map(|part| part.with_peers.len() + part.without_peers.len())
            .collect();
        assert_eq!(counts, [2 * 14, 1]);
        let mixes = Wanted {
            mixes: Some(vec![Mix::Pages]),
            ..Wanted::default()
        };
        assert!(
            super::parts(&mixes)
                .iter()
                .all(|part| part.left_out.is_empty()
                    && part.with_peers.len() + part.without_peers.len() == 1)
        );
    }
}
