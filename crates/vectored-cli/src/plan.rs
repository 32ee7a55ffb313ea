//! From what was typed to what shall be measured.

use std::path::{Path, PathBuf};

use vectored_lab::model::{
    CellSpec, Experiment, LeftOut, Operation, PageCache, SyncMode, Target, Technique, Workload,
};
use vectored_lab::report::bytes_in_words;

use crate::args::MeasureArgs;
use crate::failure::Failure;
use crate::place::Place;

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

    /// The files that will be made, by directory and kind, those in `dir` first.
    pub fn files(&self, dir: &Path) -> Vec<FilePlan> {
        let mut files: Vec<FilePlan> = Vec::new();
        let cells = self.experiment.cells.iter();
        for cell in cells.filter(|cell| cell.target.is_file()) {
            let directory = cell.path.as_deref().unwrap_or(dir);
            let call_bytes = cell.workload.total_bytes() as u64;
            let is_cold = cell.page_cache == Some(PageCache::Cold);
            let same =
                |file: &&mut FilePlan| (file.directory == directory) && file.target == cell.target;
            match files.iter_mut().find(same) {
                Some(file) => file.call_bytes = file.call_bytes.max(call_bytes),
                None => files.push(FilePlan {
                    directory: directory.to_owned(),
                    target: cell.target,
                    call_bytes,
                    is_cold,
                }),
            }
        }
        files
    }

    /// The FIFOs that will be opened.
    pub fn fifos(&self) -> Vec<&Path> {
        let cells = self.experiment.cells.iter();
        let mut fifos: Vec<&Path> = cells
            .filter(|cell| cell.target == Target::Fifo)
            .filter_map(|cell| cell.path.as_deref())
            .collect();
        fifos.dedup();
        fifos
    }
}

/// A file that will be made.
#[derive(Debug)]
pub struct FilePlan {
    /// Where.
    pub directory: PathBuf,
    /// How it is used.
    pub target: Target,
    /// Bytes of its largest call.
    pub call_bytes: u64,
    /// Whether it is read from outside the page cache.
    pub is_cold: bool,
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

/// What the targets are, in the order of the tables.
fn places(args: &MeasureArgs) -> Result<Vec<Place>, Failure> {
    let places = match args.target.is_empty() {
        true => Target::USUAL.map(Place::from).to_vec(),
        false => {
            let find = |name| Place::find(name, args.force);
            sorted(args.target.iter().map(find).collect::<Result<_, _>>()?)
        }
    };
    let readable = |place: &Place| Target::READABLE.contains(&place.target);
    match places.iter().find(|place| !readable(place)) {
        Some(place) if args.operation == Operation::Read => Err(Failure::usage(format!(
            "cannot read from {}: choose --target from {}, or name a folder",
            place.target,
            Target::READABLE.map(Target::name).join(", ")
        ))),
        _ => Ok(places),
    }
}

/// Only what is written to a file can be synced.
fn check_sync(args: &MeasureArgs, targets: &[Target]) -> Result<(), Failure> {
    let remedy = match args.operation {
        _ if args.sync == SyncMode::None => return Ok(()),
        Operation::Write if targets.iter().all(|target| target.is_file()) => return Ok(()),
        Operation::Write => "measure --target file or file-overwrite",
        Operation::Read => "measure --operation write",
    };
    Err(Failure::usage(format!(
        "--sync {} is for files that are written: {remedy}, or leave it away",
        args.sync
    )))
}

/// The cells to be measured and those that are left out.
fn grid(args: &MeasureArgs) -> Result<(Vec<CellSpec>, Vec<LeftOut>), Failure> {
    let places = places(args)?;
    let targets: Vec<Target> = places.iter().map(|place| place.target).collect();
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
    check_sync(args, &targets)?;
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
    for place in &places {
        let target = place.target;
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
                        path: place
                            .path
                            .as_ref()
                            .map(|p| p.to_string_lossy().into_owned()),
                        segment_sizes: vec![(count, bytes)],
                        reason: format!("over {} a call", bytes_in_words(limit as u64)),
                    });
                } else {
                    let workload = Workload::uniform(count, bytes);
                    let page_cache = args.page_cache.unwrap_or_default();
                    let cell = match args.operation {
                        Operation::Write => CellSpec::write(target, workload),
                        Operation::Read => CellSpec::read(target, workload, page_cache),
                    };
                    cells.push(CellSpec {
                        path: place.path.clone(),
                        sync: args.sync,
                        ..cell
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
