//! From what was typed to what shall be measured.

use vectored_lab::model::{
    CellSpec, Experiment, LeftOut, Operation, PageCache, Target, Technique, Workload,
};
use vectored_lab::report::bytes_in_words;

use crate::args::MeasureArgs;
use crate::failure::Failure;

/// A call that moves more than this is left out of a grid that was not asked
/// for in full.
const USUAL_CALL_BYTES: usize = 4 << 20;

/// No call moves more than this.
const MOST_CALL_BYTES: usize = 64 << 20;

/// No list has more segments: `iovec`s and buffers take memory, too.
const MOST_SEGMENTS: usize = 1 << 20;

const DEFAULT_COUNTS: [usize; 3] = [2, 16, 1000];
const DEFAULT_SIZES: [usize; 6] = [16, 64, 256, 1 << 10, 4 << 10, 16 << 10];

/// What `vectored measure` was asked to do.
#[derive(Debug)]
pub struct Plan {
    /// What the engine measures.
    pub experiment: Experiment,
    /// What it does not, by the rules of the grid.
    pub left_out: Vec<LeftOut>,
}

impl Plan {
    /// The plan that `args` describe.
    pub fn new(args: &MeasureArgs, seed: u64) -> Result<Plan, Failure> {
        let (cells, left_out) = grid(args)?;
        let mut rivals = Technique::of(args.operation).to_vec();
        if args.technique.is_empty() {
            rivals.retain(|technique| technique.is_pure());
        } else {
            let named = named_techniques(args)?;
            rivals.retain(|technique| named.contains(technique));
        }
        let beside = match rivals.contains(&Technique::Adaptive) {
            true => Vec::new(),
            false => vec![Technique::Adaptive],
        };
        Ok(Plan {
            experiment: Experiment {
                cells,
                rivals,
                beside,
                // 584 years are enough for everybody.
                budget_ns: u64::try_from(args.budget.as_nanos()).unwrap_or(u64::MAX),
                seed,
            },
            left_out,
        })
    }

    /// Whether a file is to be read that is not in the page cache.
    pub fn reads_cold_file(&self) -> bool {
        let mut cells = self.experiment.cells.iter();
        cells.any(|cell| cell.page_cache == Some(PageCache::Cold))
    }

    /// Bytes of the largest call on a file, if there is one.
    pub fn largest_file_call(&self) -> Option<u64> {
        let cells = self.experiment.cells.iter();
        cells
            .filter(|cell| cell.target == Target::File)
            .map(|cell| cell.workload.total_bytes() as u64)
            .max()
    }
}

fn named_techniques(args: &MeasureArgs) -> Result<Vec<Technique>, Failure> {
    let offered = Technique::of(args.operation);
    let technique = |name: &String| {
        let found = offered
            .into_iter()
            .find(|technique| technique.name() == name);
        found.ok_or_else(|| {
            let what = match name.parse::<Technique>() {
                Ok(_) => format!("'{name}' is no technique of --operation {}", args.operation),
                Err(_) => format!("unknown technique '{name}'"),
            };
            let names = offered.map(Technique::name).join(", ");
            Failure::usage(format!("{what}: choose from {names} with --technique"))
        })
    };
    args.technique.iter().map(technique).collect()
}

/// The cells to be measured and those that are left out.
fn grid(args: &MeasureArgs) -> Result<(Vec<CellSpec>, Vec<LeftOut>), Failure> {
    let targets = match args.target.is_empty() {
        true => Target::OFFERED.to_vec(),
        false => sorted(args.target.clone()),
    };
    if args.page_cache.is_some() {
        let remedy = match args.operation {
            Operation::Read if targets.contains(&Target::File) => None,
            Operation::Read => Some("measure --target file"),
            Operation::Write => Some("measure --operation read"),
        };
        if let Some(remedy) = remedy {
            return Err(Failure::usage(format!(
                "--page-cache is the state of a file that is read: {remedy}, or leave it away"
            )));
        }
    }
    let counts = args.segments.as_ref().map_or(&DEFAULT_COUNTS[..], |c| &c.0);
    let sizes = args.sizes.as_ref().map_or(&DEFAULT_SIZES[..], |s| &s.0);
    let asked_in_full = args.segments.is_some() && args.sizes.is_some();
    let limit = match asked_in_full {
        true => MOST_CALL_BYTES,
        false => USUAL_CALL_BYTES,
    };
    if let Some(count) = counts.iter().find(|&&count| count > MOST_SEGMENTS) {
        return Err(Failure::usage(format!(
            "cannot measure lists of {count} segments: the most is {MOST_SEGMENTS}; \
             choose fewer with --segments"
        )));
    }
    if let Some(bytes) = sizes.iter().find(|&&bytes| bytes > MOST_CALL_BYTES) {
        return Err(Failure::usage(format!(
            "cannot measure segments of {}: the most is {}; choose less with --sizes",
            bytes_in_words(*bytes as u64),
            bytes_in_words(MOST_CALL_BYTES as u64),
        )));
    }
    let mut cells = Vec::new();
    let mut left_out = Vec::new();
    for target in targets {
        for &count in counts {
            for &bytes in sizes {
                let call_bytes = count.saturating_mul(bytes);
                if call_bytes > limit && asked_in_full {
                    return Err(Failure::usage(format!(
                        "cannot measure {count} × {} on {target}: a call would move {}, \
                         and the most is {}; choose less with --segments or --sizes",
                        bytes_in_words(bytes as u64),
                        bytes_in_words(call_bytes as u64),
                        bytes_in_words(MOST_CALL_BYTES as u64),
                    )));
                }
                if call_bytes > limit {
                    left_out.push(LeftOut {
                        target,
                        segment_sizes: vec![(count, bytes)],
                        reason: format!("over {} a call", bytes_in_words(limit as u64)),
                    });
                } else {
                    let workload = Workload::uniform(count, bytes);
                    let page_cache = args.page_cache.unwrap_or_default();
                    cells.push(match args.operation {
                        Operation::Write => CellSpec::write(target, workload),
                        Operation::Read => CellSpec::read(target, workload, page_cache),
                    });
                }
            }
        }
    }
    if cells.is_empty() {
        return Err(Failure::usage(format!(
            "nothing is left to measure: every list is over {} a call; name both --segments \
             and --sizes to measure up to {}",
            bytes_in_words(limit as u64),
            bytes_in_words(MOST_CALL_BYTES as u64),
        )));
    }
    Ok((cells, left_out))
}

fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort_unstable();
    items.dedup();
    items
}
