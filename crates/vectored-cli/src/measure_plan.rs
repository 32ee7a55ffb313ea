//! Makes an experiment from the options of `vectored measure`.

mod lists;
mod techniques;

use std::path::{Path, PathBuf};

use vectored_measure::measure::{check_direct, unsuited};
use vectored_report::sort;
use vectored_results::model::{
    Cache, CellSpec, Conditions, DirectIo, Experiment, LeftOut, Operation, PageCache, Target,
    TechniqueName,
};

use crate::args::MeasureArgs;
use crate::failure::Failure;
pub use crate::measure_plan::lists::is_default_grid;
use crate::measure_plan::lists::{lists, too_long, workload};
use crate::measure_plan::techniques::rivals;
use crate::size_lists::List;
use crate::target_path::TargetPath;

const USUAL_TARGETS: [Target; 3] = if cfg!(windows) {
    // Windows has no socket pairs.
    [Target::File, Target::Pipe, Target::Tcp]
} else {
    Target::USUAL
};

const USUAL_COPIES: [(Target, &[Target]); 4] = [
    (
        Target::File,
        if cfg!(windows) {
            &[Target::File, Target::Pipe, Target::Tcp]
        } else {
            &Target::READABLE
        },
    ),
    (Target::Pipe, &[Target::File, Target::Pipe]),
    (Target::Tcp, &[Target::File]),
    (Target::Null, &[Target::File]),
];

/// The alignment for direct I/O on the simulated machine.
const SYNTHETIC_ALIGNMENT: DirectIo = DirectIo {
    memory_bytes: 512,
    offset_bytes: 512,
};

#[derive(Clone, Debug)]
pub struct MeasurePlan {
    pub experiment: Experiment,
    /// Lists that are omitted because of their size, or because options exclude each other. A list has an entry for
    /// each reason.
    pub left_out: Vec<LeftOut>,
    pub rate_per_s: Option<f64>,
}

impl MeasurePlan {
    pub fn new(args: &MeasureArgs, seed: u64, ranks: Option<u32>) -> Result<MeasurePlan, Failure> {
        check_ranks(args, ranks)?;
        if args.rate.is_some() && args.mix.is_empty() && args.join.is_none() {
            return Err(Failure::usage(
                "--rate is that of the lists of a program: name them with --mix or --join, for example --mix 12,3000",
            ));
        }
        let rivals = rivals(args)?;
        let lists = lists(args)?;
        let mut product = Product::default();
        for one in targets(args) {
            let alignment = alignment(args, &one)?;
            let usual = Conditions {
                path: one.path,
                ranks,
                ..Conditions::write(one.target)
            };
            for source in sources(args, usual.target) {
                for list in &lists {
                    product.add(args, &rivals, list, (&usual, source, alignment));
                }
            }
        }
        product.check()?;
        let beside: &[TechniqueName] = match args.join {
            Some(_) => &[TechniqueName::WRITEV, TechniqueName::ADAPTIVE],
            None => &[TechniqueName::ADAPTIVE],
        };
        let unranked = beside
            .iter()
            .copied()
            .filter(|technique| !rivals.contains(technique))
            .collect();
        Ok(MeasurePlan {
            experiment: Experiment {
                cells: product.cells,
                refine: true,
                rivals,
                unranked,
                // A `u64` of nanoseconds holds 584 years.
                budget_ns: u64::try_from(args.budget.as_nanos()).unwrap_or(u64::MAX),
                seed,
            },
            left_out: product.left_out,
            rate_per_s: args.rate,
        })
    }

    pub fn has_cold_cells(&self) -> bool {
        let mut cells = self.experiment.cells.iter();
        cells.any(|cell| cell.conditions.cache == Cache::Cold)
    }

    pub fn files(&self, dir: &Path) -> Vec<FilePlan> {
        let mut files: Vec<FilePlan> = Vec::new();
        let cells = self.experiment.cells.iter();
        let with_sources = cells.flat_map(|cell| {
            let source = cell.conditions.source();
            // In a copy, the option for the page cache applies to the source.
            let is_source = source.is_some();
            let target = Conditions {
                page_cache: cell.conditions.page_cache.filter(|_| !is_source),
                ..cell.conditions.clone()
            };
            let ends = [Some(target), source].into_iter().flatten();
            ends.map(move |end| (cell, end))
        });
        for (cell, asked) in with_sources.filter(|(_, end)| end.target.is_file()) {
            let directory = asked.directory_or(dir);
            let call_bytes = cell.half_batch_bytes();
            let is_cold = asked.page_cache == Some(PageCache::Cold);
            let same =
                |file: &&mut FilePlan| file.directory == directory && file.target == asked.target;
            match files.iter_mut().find(same) {
                Some(file) => {
                    file.call_bytes = file.call_bytes.max(call_bytes);
                    file.is_cold |= is_cold;
                }
                None => files.push(FilePlan {
                    directory: directory.to_owned(),
                    target: asked.target,
                    call_bytes,
                    is_cold,
                    is_target: asked.path.is_some(),
                }),
            }
        }
        files
    }
}

#[derive(Debug)]
pub struct FilePlan {
    pub directory: PathBuf,
    pub target: Target,
    /// The maximum of [`CellSpec::half_batch_bytes`] over the cells of this target.
    pub call_bytes: u64,
    pub is_cold: bool,
    /// Whether `--target` names the directory. If false, `--dir` names the directory.
    pub is_target: bool,
}

fn targets(args: &MeasureArgs) -> Vec<TargetPath> {
    if args.target.is_empty() {
        return match args.operation() {
            Operation::Copy => USUAL_COPIES.map(|(to, _)| to.into()).to_vec(),
            Operation::Write | Operation::Read => USUAL_TARGETS.map(TargetPath::from).to_vec(),
        };
    }
    let mut targets = args.target.clone();
    sort::sort(&mut targets);
    targets.dedup();
    targets
}

/// Returns the default sources for a target. The source `None` means that the axes decide.
fn sources(args: &MeasureArgs, target: Target) -> Vec<Option<Target>> {
    let is_given = |axis| !args.axes.of(axis).is_empty();
    if args.operation() != Operation::Copy || is_given("from") || is_given("page_cache") {
        return vec![None];
    }
    let usual = USUAL_COPIES.iter().find(|(to, _)| *to == target);
    let sources = usual.map_or(&[Target::File][..], |(_, sources)| sources);
    sources.iter().copied().map(Some).collect()
}

/// Returns `None` without `--direct`, on Windows, and for targets other than files.
fn alignment(args: &MeasureArgs, one: &TargetPath) -> Result<Option<DirectIo>, Failure> {
    let is_asked = !args.axes.of("direct").is_empty();
    if !is_asked || !one.target.is_file() || cfg!(windows) {
        return Ok(None);
    }
    if args.synthetic.is_some() {
        return Ok(Some(SYNTHETIC_ALIGNMENT));
    }
    let directory = one.path.as_ref().map_or(&*args.dir, Path::new);
    let checked = check_direct(directory).map_err(|error| {
        Failure::of_directory(error).for_directory_of_target(one.path.is_some())
    })?;
    Ok(Some(checked))
}

/// Refuses `--ranks` without a launcher, and more ranks than the launcher started.
fn check_ranks(args: &MeasureArgs, started: Option<u32>) -> Result<(), Failure> {
    let numbers = args.axes.of("ranks").iter();
    let most = numbers
        .filter_map(|number| number.parse::<u32>().ok())
        .max();
    match (most, started) {
        (Some(_), None) => Err(Failure::usage(
            "--ranks needs several ranks: start vectored with mpirun or srun, for example mpirun -n 4 vectored measure",
        )),
        (Some(most), Some(started)) if most > started => Err(Failure::usage(format!(
            "--ranks {most} needs as many ranks, and {started} were started: start {most}, or measure fewer"
        ))),
        _ => Ok(()),
    }
}

/// The product of targets, lists and axes. Combinations that exclude each other are omitted.
#[derive(Default)]
struct Product {
    cells: Vec<CellSpec>,
    left_out: Vec<LeftOut>,
}

impl Product {
    fn add(
        &mut self,
        args: &MeasureArgs,
        rivals: &[TechniqueName],
        list: &List,
        (usual, source, alignment): (&Conditions, Option<Target>, Option<DirectIo>),
    ) {
        if let Some(reason) = too_long(list, args) {
            self.leave_out(usual, list, reason);
            return;
        }
        let workload = workload(list);
        for mut conditions in args.axes.product(usual.clone()) {
            if let Some(source) = source {
                conditions.copy_from(source);
            }
            let spec = CellSpec {
                alignment: alignment.filter(|_| conditions.direct),
                ..CellSpec::new(conditions, workload.clone())
            };
            match unsuited(&spec, rivals) {
                None => self.cells.push(spec),
                Some(reason) => self.leave_out(&spec.conditions, list, reason),
            }
        }
    }

    fn leave_out(&mut self, conditions: &Conditions, list: &List, reason: String) {
        let is_known = |known: &LeftOut| {
            let there = &known.conditions;
            (there.target, there.from, &there.path)
                == (conditions.target, conditions.from, &conditions.path)
                && known.segment_sizes == list.runs
                && known.reason == reason
        };
        if !self.left_out.iter().any(is_known) {
            self.left_out.push(LeftOut {
                conditions: conditions.clone(),
                segment_sizes: list.runs.clone(),
                reason,
            });
        }
    }

    /// Refuses a plan without cells. The message prefers a reason other than the length of a list.
    fn check(&self) -> Result<(), Failure> {
        if !self.cells.is_empty() {
            return Ok(());
        }
        let reasons = || self.left_out.iter().map(|left_out| &left_out.reason);
        let mut others = reasons().filter(|reason| !reason.ends_with(" in one call"));
        let why = others.next().or(reasons().next());
        let why = why.map_or("no list", |reason| reason);
        Err(Failure::usage(format!("nothing to measure: {why}")))
    }
}
