//! From the options of `vectored measure` to an experiment.

mod direct;
mod ranks;
mod writers;

pub use ranks::check_alone;

use std::path::{Path, PathBuf};

use vectored_lab::measure::MAX_COLD_CALL_BYTES;
use vectored_lab::model::{
    Cache, CellSpec, Conditions, Experiment, IovecSetup, LeftOut, MAX_QUEUE_DEPTH, Operation,
    PageCache, SweptMix, SyncMode, Target, Technique, Workload,
};
use vectored_lab::report::{bytes_in_words, grouped, list_in_words};

use crate::args::MeasureArgs;
use crate::failure::Failure;
use crate::size_lists::{Counts, Mix, Sizes, segment_count, total_bytes};
use crate::target_path::ResolvedTarget;

/// Limit on the bytes of a call, unless both counts and sizes are given. Larger lists are left out.
const USUAL_CALL_BYTES: usize = 4 << 20;

/// Maximum bytes of a call.
const MAX_CALL_BYTES: usize = 64 << 20;

/// Maximum bytes of the transfers in flight. Reads need as much memory, and files have room for four times as
/// much.
const MAX_IN_FLIGHT_BYTES: usize = 128 << 20;

/// Bytes of a page of memory on Windows, on every processor that it runs on.
const PAGE_BYTES: usize = 4096;

/// Maximum segments of a list, since `iovec`s and buffers need memory, too.
const MAX_SEGMENTS: usize = 1 << 20;

const DEFAULT_COUNTS: [usize; 3] = [2, 16, 1000];
const DEFAULT_SIZES: [usize; 6] = [16, 64, 256, 1 << 10, 4 << 10, 16 << 10];

/// Sizes of `--join`. A call costs as much as copying tens of KiB, so its crossovers lie higher.
const JOIN_SIZES: [usize; 6] = [64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10];

/// The targets that are measured if none is named.
const USUAL_TARGETS: [Target; 3] = match cfg!(windows) {
    // Windows has no pairs of Unix sockets.
    true => [Target::File, Target::Pipe, Target::Tcp],
    false => Target::USUAL,
};

/// The rivals of `--join`: a call for each message, or one call.
const JOIN_RIVALS: [Technique; 2] = [Technique::WriteEach, Technique::CopyThenWrite];

/// The plan of a run of `vectored measure`.
#[derive(Clone, Debug)]
pub struct MeasurePlan {
    /// The experiment for the engine.
    pub experiment: Experiment,
    /// Cells that are left out because of their size, or because no technique works on their target.
    pub left_out: Vec<LeftOut>,
    /// If some of them would be measured if both counts and sizes were given: the option for counts.
    pub usual_limit: Option<&'static str>,
}

impl MeasurePlan {
    /// The plan for `args`.
    pub fn new(args: &MeasureArgs, seed: u64) -> Result<MeasurePlan, Failure> {
        let rivals = rivals(args)?;
        let Grid {
            cells,
            mut left_out,
            has_long_lists,
        } = grid(args, &rivals)?;
        let usual_limit = has_long_lists.then(|| counts_option(args));
        let (cells, unsuited): (Vec<_>, Vec<_>) = cells.into_iter().partition(|cell| {
            let mut rivals = rivals.iter();
            rivals.any(|technique| technique.works_on(cell.conditions.target))
        });
        left_out.extend(unsuited.into_iter().map(|cell| LeftOut {
            segment_sizes: cell.workload.runs(),
            conditions: cell.conditions,
            reason: no_technique_for(&rivals),
        }));
        // A list is reported once, not once for each state.
        left_out.dedup_by(|one, other| {
            let (here, there) = (&one.conditions, &other.conditions);
            (here.target, &here.path) == (there.target, &there.path)
                && one.segment_sizes == other.segment_sizes
                && one.reason == other.reason
        });
        let beside: &[Technique] = match args.join {
            Some(_) => &[Technique::Writev, Technique::Adaptive],
            None => &[Technique::Adaptive],
        };
        let unranked = beside
            .iter()
            .copied()
            .filter(|technique| !rivals.contains(technique))
            .collect();
        // The sizes between those of the grid are not whole pages.
        let refine = !rivals.contains(&Technique::WriteFileGather);
        Ok(MeasurePlan {
            experiment: Experiment {
                cells,
                rivals,
                unranked,
                refine,
                // A `u64` holds 584 years.
                budget_ns: u64::try_from(args.budget.as_nanos()).unwrap_or(u64::MAX),
                seed,
            },
            left_out,
            usual_limit,
        })
    }

    /// The same cells for each number of ranks: see [`ranks::spread`].
    pub fn on_ranks(mut self, args: &MeasureArgs, started: usize) -> Result<Self, Failure> {
        let cells = std::mem::take(&mut self.experiment.cells);
        self.experiment.cells = ranks::spread(cells, args, started)?;
        Ok(self)
    }

    /// Whether any cell is measured with cold CPU caches.
    pub fn has_cold_cells(&self) -> bool {
        let mut cells = self.experiment.cells.iter();
        cells.any(|cell| cell.conditions.cache == Cache::Cold)
    }

    /// The files to create, by directory and kind.
    pub fn files(&self, dir: &Path) -> Vec<FilePlan> {
        let mut files: Vec<FilePlan> = Vec::new();
        let cells = self.experiment.cells.iter();
        for cell in cells.filter(|cell| cell.conditions.target.is_file()) {
            let asked = &cell.conditions;
            let directory = asked.directory_or(dir);
            let call_bytes = cell.half_batch_bytes();
            let same =
                |file: &&mut FilePlan| file.directory == directory && file.target == asked.target;
            match files.iter_mut().find(same) {
                Some(file) => file.call_bytes = file.call_bytes.max(call_bytes),
                None => files.push(FilePlan {
                    directory: directory.to_owned(),
                    target: asked.target,
                    call_bytes,
                    is_cold: asked.page_cache == Some(PageCache::Cold),
                    is_target: asked.path.is_some(),
                }),
            }
        }
        files
    }

    /// The FIFOs to open.
    pub fn fifos(&self) -> Vec<&Path> {
        let cells = self.experiment.cells.iter();
        let mut fifos: Vec<&Path> = cells
            .filter(|cell| cell.conditions.target == Target::Fifo)
            .filter_map(|cell| cell.conditions.path.as_deref().map(Path::new))
            .collect();
        fifos.dedup();
        fifos
    }
}

/// A file to create.
#[derive(Debug)]
pub struct FilePlan {
    /// Its directory.
    pub directory: PathBuf,
    /// The target that it serves.
    pub target: Target,
    /// The largest [`CellSpec::half_batch_bytes`] of its cells.
    pub call_bytes: u64,
    /// Whether it is read with a cold page cache.
    pub is_cold: bool,
    /// Whether the directory was given with `--target` and not with `--dir`.
    pub is_target: bool,
}

/// The techniques that compete.
fn rivals(args: &MeasureArgs) -> Result<Vec<Technique>, Failure> {
    if let Some(counts) = &args.join {
        check_join(args, counts)?;
        return Ok(JOIN_RIVALS.to_vec());
    }
    if !args.technique.is_empty() {
        return named_techniques(args);
    }
    let mut rivals = Technique::of(args.operation).to_vec();
    rivals.retain(|technique| technique.is_pure());
    Ok(rivals)
}

/// Refuses options that make no sense with `--join`.
fn check_join(args: &MeasureArgs, Counts(counts): &Counts) -> Result<(), Failure> {
    let conflict = if args.queue_depth.is_some() {
        "--queue-depth, since both of its techniques are synchronous: omit --queue-depth"
    } else if args.segments.is_some() {
        "--segments: give the counts of messages to --join alone"
    } else if !args.mix.is_empty() {
        "--mix, since messages that are joined have one size: use --sizes for it"
    } else if !args.technique.is_empty() {
        "--technique, since it compares write-each and copy-then-write: omit one of the two options"
    } else if !args.iovec_setup.is_empty() {
        "--iovec-setup, since neither of its techniques has an iovec array: omit --iovec-setup"
    } else if args.operation == Operation::Read {
        "--operation read, since it compares writes: omit one of the two options"
    } else if counts[0] < 2 {
        return Err(Failure::usage(
            "--join 1 would join nothing: expected counts of 2 messages or more, for example 2..64",
        ));
    } else {
        return Ok(());
    };
    Err(Failure::usage(format!(
        "--join cannot be used with {conflict}"
    )))
}

fn named_techniques(args: &MeasureArgs) -> Result<Vec<Technique>, Failure> {
    let usual = Technique::of(args.operation);
    let offered: Vec<Technique> = usual
        .into_iter()
        .chain(Technique::opt_in(args.operation).iter().copied())
        .collect();
    for name in &args.technique {
        if offered.iter().any(|technique| technique.name() == name) {
            continue;
        }
        let technique = name.parse::<Technique>();
        if let Ok(Some(why)) = technique.map(Technique::lacks_here) {
            return Err(Failure::usage(format!(
                "cannot measure {name} here: {why}; name another technique with --technique"
            )));
        }
        let what = match name.parse::<Technique>() {
            Ok(_) => format!(
                "technique '{name}' is not available with --operation {}",
                args.operation
            ),
            Err(_) => format!("unknown technique '{name}'"),
        };
        let names: Vec<&str> = offered.iter().map(|technique| technique.name()).collect();
        return Err(Failure::usage(format!(
            "{what}: expected --technique to be one of {}",
            names.join(", ")
        )));
    }
    let is_named =
        |technique: &Technique| args.technique.iter().any(|name| technique.name() == name);
    let is_asynchronous = Technique::ASYNCHRONOUS.iter().any(is_named);
    let has_pages = is_named(&Technique::WriteFileGather);
    let mut named = Technique::ALL.to_vec();
    named.retain(|technique| {
        // Without it, a winner could be slower than the call that every program can make.
        let is_reference = *technique == Technique::vectored_call(args.operation);
        // Windows has no such call for files.
        let is_reference_of_pages = *technique == Technique::WriteEach;
        is_named(technique)
            || (is_asynchronous && is_reference)
            || (has_pages && is_reference_of_pages)
    });
    Ok(named)
}

/// For example `mmap is for files only`.
fn no_technique_for(rivals: &[Technique]) -> String {
    let limits: Vec<String> = rivals
        .iter()
        .filter_map(|technique| Some(format!("{technique} is for {} only", technique.needs()?)))
        .collect();
    limits.join(", ")
}

/// One list of segments.
#[derive(PartialEq)]
struct List {
    /// Runs of `(count, bytes)`.
    runs: Vec<(usize, usize)>,
    /// The mix that it is a list of, and the size of the swept run.
    swept: Option<(SweptMix, usize)>,
    /// The options that would make it smaller.
    options: &'static str,
}

impl List {
    fn segment_count(&self) -> usize {
        segment_count(&self.runs)
    }

    fn call_bytes(&self) -> usize {
        total_bytes(&self.runs)
    }

    fn workload(&self) -> Workload {
        if let Some((mix, bytes)) = &self.swept {
            return Workload::swept(mix, *bytes);
        }
        let runs = self.runs.iter();
        let sizes = runs.flat_map(|&(count, bytes)| std::iter::repeat_n(bytes, count));
        Workload::from_sizes(sizes.collect())
    }
}

fn lists(args: &MeasureArgs) -> Vec<List> {
    if !args.mix.is_empty() {
        return lists_of_mixes(&args.mix);
    }
    let (counts, usual_sizes, options) = match (&args.join, &args.segments) {
        (Some(Counts(counts)), _) => (&counts[..], JOIN_SIZES, "--join or --sizes"),
        (None, Some(Counts(counts))) => (&counts[..], DEFAULT_SIZES, "--segments or --sizes"),
        (None, None) => (&DEFAULT_COUNTS[..], DEFAULT_SIZES, "--segments or --sizes"),
    };
    let sizes = args.sizes.as_ref().map_or(&usual_sizes[..], |s| &s.0);
    let pairs = counts
        .iter()
        .flat_map(|&count| sizes.iter().map(move |&bytes| (count, bytes)));
    pairs
        .map(|(count, bytes)| List {
            runs: vec![(count, bytes)],
            swept: None,
            options,
        })
        .collect()
}

/// The lists in the order of the mixes, each once.
fn lists_of_mixes(mixes: &[Mix]) -> Vec<List> {
    let mut lists: Vec<List> = Vec::new();
    for mix in mixes {
        let of_mix: Vec<_> = match mix {
            Mix::Fixed(runs) => vec![(runs.clone(), None)],
            Mix::Swept(mix, sizes) => sizes
                .iter()
                .map(|&bytes| (mix.at(bytes), Some((mix.clone(), bytes))))
                .collect(),
        };
        for (runs, swept) in of_mix {
            let list = List {
                runs,
                swept,
                options: "--mix",
            };
            if !lists.contains(&list) {
                lists.push(list);
            }
        }
    }
    lists
}

/// The named states, sorted, or the default if none is named.
fn states<T: Ord + Copy + Default>(named: &[T]) -> Vec<T> {
    match named {
        [] => vec![T::default()],
        named => sorted(named.to_vec()),
    }
}

/// The targets, in the order of the tables.
fn resolve_targets(args: &MeasureArgs) -> Result<Vec<ResolvedTarget>, Failure> {
    let resolved = match args.target.is_empty() {
        true => USUAL_TARGETS.map(ResolvedTarget::from).to_vec(),
        false => {
            // Reading does no harm to a device; that it is not supported is reported below.
            let force = args.force || args.operation == Operation::Read;
            let find = |name| ResolvedTarget::resolve(name, force);
            sorted(args.target.iter().map(find).collect::<Result<_, _>>()?)
        }
    };
    let readable = |one: &ResolvedTarget| Target::READABLE.contains(&one.target);
    match resolved.iter().find(|one| !readable(one)) {
        Some(one) if args.operation == Operation::Read => Err(Failure::usage(format!(
            "cannot read from {}: reads are measured from files and streams that vectored fills itself; use --target {} \
             or a directory",
            one.target,
            Target::READABLE.map(Target::name).join(", ")
        ))),
        _ => Ok(resolved),
    }
}

/// The queue depths. Refuses more than one transfer in flight where it has no effect, or where no target or
/// state of the caches supports it.
fn queue_depths(
    args: &MeasureArgs,
    targets: &[Target],
    rivals: &[Technique],
) -> Result<Vec<u32>, Failure> {
    let Some(Counts(depths)) = &args.queue_depth else {
        return Ok(vec![1]);
    };
    let most = MAX_QUEUE_DEPTH as usize;
    if let Some(depth) = depths.iter().find(|&&depth| depth > most) {
        return Err(Failure::usage(format!(
            "cannot keep {} transfers in flight: expected --queue-depth to be at most {}",
            grouped(*depth as u64),
            grouped(most as u64)
        )));
    }
    let is_deep = depths.iter().any(|&depth| depth > 1);
    let refused = |why: &str| Err(Failure::usage(format!("--queue-depth above 1 {why}")));
    if is_deep && !rivals.iter().any(|rival| rival.is_asynchronous()) {
        let names: Vec<&str> = Technique::opt_in(args.operation)
            .iter()
            .filter(|technique| technique.is_asynchronous())
            .map(|technique| technique.name())
            .collect();
        let remedy = match &names[..] {
            [] => "this system has no asynchronous technique: omit --queue-depth".to_owned(),
            names => format!(
                "name one of {} with --technique, or omit --queue-depth",
                names.join(", ")
            ),
        };
        return refused(&format!(
            "has no effect on synchronous techniques: {remedy}"
        ));
    }
    if is_deep && args.cache.contains(&Cache::Cold) {
        return refused("cannot be measured with --cache cold: omit one of the two options");
    }
    if is_deep && args.page_cache == Some(PageCache::Cold) {
        return refused(
            "cannot be measured with --page-cache cold, since the kernel would read ahead of the \
             transfers: omit one of the two options",
        );
    }
    if !depths.contains(&1) && !targets.iter().any(|target| target.keeps_order_in_flight()) {
        return refused(&format!(
            "is for files and null only, since {NO_ORDER}: {USE_FILE}"
        ));
    }
    Ok(depths.iter().map(|&depth| depth as u32).collect())
}

/// The limit of several transfers in flight, and the remedy.
const NO_ORDER: &str = "a stream or device does not keep their order";
const USE_FILE: &str = "use --target file, null or a directory, or --queue-depth 1";

/// The reason why a list cannot be passed to `WriteFileGather`; `None` if it can, or if nothing is.
fn not_pages(target: Target, list: &List, rivals: &[Technique]) -> Option<String> {
    let applies = rivals.contains(&Technique::WriteFileGather) && target.is_file();
    let mut sizes = list.runs.iter().map(|(_, bytes)| *bytes);
    let odd = sizes.find(|bytes| !bytes.is_multiple_of(PAGE_BYTES))?;
    applies.then(|| {
        format!(
            "segments of {} for write-file-gather, which takes whole pages of {}: use --sizes 4KiB or multiples of it",
            bytes_in_words(odd as u64),
            bytes_in_words(PAGE_BYTES as u64)
        )
    })
}

/// The reason why a cell is not measured with this many transfers in flight; `None` if it is.
fn too_deep(target: Target, list: &List, depth: u32) -> Option<String> {
    if depth <= 1 {
        None
    } else if !target.keeps_order_in_flight() {
        Some(format!(
            "more than one transfer in flight: {NO_ORDER}; {USE_FILE}"
        ))
    } else if list.call_bytes().saturating_mul(depth as usize) > MAX_IN_FLIGHT_BYTES {
        Some(format!(
            "more than {} in flight at queue depth {depth}",
            bytes_in_words(MAX_IN_FLIGHT_BYTES as u64)
        ))
    } else {
        None
    }
}

/// Refuses `--sync` for reads, for targets that are not files, and for techniques that it does not
/// affect.
fn check_sync(args: &MeasureArgs, targets: &[Target], rivals: &[Technique]) -> Result<(), Failure> {
    let remedy = match args.operation {
        _ if args.sync == SyncMode::None => return Ok(()),
        Operation::Write if targets.iter().all(|target| target.is_file()) => {
            return match rivals.iter().find(|rival| !rival.heeds(args.sync)) {
                None => Ok(()),
                Some(rival) if rival.is_asynchronous() && args.sync == SyncMode::Fsync => {
                    Err(Failure::usage(format!(
                        "--sync {} cannot be measured with {rival}, since fsync(2) would wait for every \
                     transfer in flight: use --sync dsync, or another --technique",
                        args.sync
                    )))
                }
                Some(rival) => Err(Failure::usage(format!(
                    "--sync {} has no effect on what {rival} writes: use --sync fsync, or another \
                     --technique",
                    args.sync
                ))),
            };
        }
        Operation::Write => "use --target file or file-overwrite",
        Operation::Read => "use --operation write",
    };
    Err(Failure::usage(format!(
        "--sync {} applies only to files that are written: {remedy}, or omit --sync",
        args.sync
    )))
}

/// Refuses states that do not apply to the operation or to any target.
fn check_states(
    args: &MeasureArgs,
    targets: &[Target],
    rivals: &[Technique],
) -> Result<(), Failure> {
    if args.page_cache.is_some() {
        let remedy = match args.operation {
            Operation::Read if targets.contains(&Target::File) => None,
            Operation::Read => Some("use --target file"),
            Operation::Write => Some("use --operation read"),
        };
        if let Some(remedy) = remedy {
            return Err(Failure::usage(format!(
                "--page-cache applies only to files that are read: {remedy}, or omit --page-cache"
            )));
        }
    }
    check_sync(args, targets, rivals)?;
    if args.operation == Operation::Read && args.cache.contains(&Cache::Cold) {
        return Err(Failure::usage(
            "--cache cold applies only to writes: use --operation write, or omit --cache (to read \
             a file that is not in memory, use --page-cache cold)",
        ));
    }
    if rivals.contains(&Technique::WriteFileGather) && args.cache.contains(&Cache::Cold) {
        return Err(Failure::usage(
            "--cache cold cannot be measured with write-file-gather, whose segments lie in pages of its own: omit one of \
             the two options",
        ));
    }
    let works = |target: &Target| rivals.iter().any(|technique| technique.works_on(*target));
    if !targets.iter().any(works) {
        let offered: &[Target] = match args.operation {
            Operation::Write => &Target::NAMED,
            Operation::Read => &Target::READABLE,
        };
        let offered = offered.iter().copied().filter(works);
        let names: Vec<&str> = offered.map(Target::name).collect();
        return Err(Failure::usage(format!(
            "{}: use --target {}, or another --technique",
            no_technique_for(rivals),
            names.join(" or ")
        )));
    }
    Ok(())
}

/// The cells to measure, and those left out because of their size or their queue depth.
struct Grid {
    cells: Vec<CellSpec>,
    left_out: Vec<LeftOut>,
    /// Whether lists are left out that would be measured if both counts and sizes were given.
    has_long_lists: bool,
}

fn grid(args: &MeasureArgs, rivals: &[Technique]) -> Result<Grid, Failure> {
    let resolved = resolve_targets(args)?;
    let targets: Vec<Target> = resolved.iter().map(|one| one.target).collect();
    check_states(args, &targets, rivals)?;
    let depths = queue_depths(args, &targets, rivals)?;
    writers::check(args, &targets, rivals)?;
    direct::check(args, &targets, rivals)?;
    let lists = lists(args);
    let caches = states(&args.cache);
    let (max, max_with) = match caches.contains(&Cache::Cold) {
        true => (MAX_COLD_CALL_BYTES, " with --cache cold"),
        false => (MAX_CALL_BYTES, ""),
    };
    let has_counts = args.segments.is_some() || args.join.is_some();
    let asked_in_full = !args.mix.is_empty() || (has_counts && args.sizes.is_some());
    let limit = match asked_in_full {
        true => max,
        false => USUAL_CALL_BYTES,
    };
    if let Some(list) = lists
        .iter()
        .find(|list| list.segment_count() > MAX_SEGMENTS)
    {
        let remedy = match args.mix.is_empty() {
            true => counts_option(args),
            false => "--mix",
        };
        return Err(Failure::usage(format!(
            "cannot measure lists of {} segments: the maximum is {}; use fewer with {remedy}",
            grouped(list.segment_count() as u64),
            grouped(MAX_SEGMENTS as u64),
        )));
    }
    if let Some(Sizes(sizes)) = &args.sizes
        && let Some(bytes) = sizes.iter().find(|&&bytes| bytes > max)
    {
        return Err(Failure::usage(format!(
            "cannot measure segments of {}: the maximum{max_with} is {}; reduce --sizes",
            bytes_in_words(*bytes as u64),
            bytes_in_words(max as u64),
        )));
    }
    let mut cells = Vec::new();
    let mut left_out = Vec::new();
    let mut has_long_lists = false;
    for one in &resolved {
        let target = one.target;
        let alignment = direct::alignment(args, one)?;
        let usual = match args.operation {
            Operation::Write => Conditions::write(target),
            Operation::Read => Conditions::read(target, args.page_cache.unwrap_or_default()),
        };
        let asked = Conditions {
            path: one.path.clone(),
            sync: args.sync,
            direct: args.direct,
            // A cache that is bypassed has no state.
            page_cache: usual.page_cache.filter(|_| !args.direct),
            ..usual
        };
        for list in &lists {
            if list.call_bytes() > limit && asked_in_full {
                return Err(Failure::usage(format!(
                    "cannot measure {} on {target}: a call would move {}, and the \
                     maximum{max_with} is {}; reduce {}",
                    list_in_words(&list.runs),
                    bytes_in_words(list.call_bytes() as u64),
                    bytes_in_words(max as u64),
                    list.options,
                )));
            }
            if list.call_bytes() > limit {
                has_long_lists = true;
                left_out.push(LeftOut {
                    conditions: asked.clone(),
                    segment_sizes: list.runs.clone(),
                    reason: format!("more than {} in one call", bytes_in_words(limit as u64)),
                });
                continue;
            }
            let misfit = direct::misfit(alignment, &list.runs);
            if let Some(reason) = misfit.or_else(|| not_pages(target, list, rivals)) {
                left_out.push(LeftOut {
                    conditions: asked.clone(),
                    segment_sizes: list.runs.clone(),
                    reason,
                });
                continue;
            }
            let workload = list.workload();
            let (mut shallow, mut too_deep_here) = (Vec::new(), Vec::new());
            for &depth in &depths {
                match too_deep(target, list, depth) {
                    None => shallow.push(depth),
                    Some(reason) => too_deep_here.push(reason),
                }
            }
            let (crews, unwritten) = writers::crews(args, target, list.call_bytes());
            too_deep_here.extend(unwritten);
            let (setups, without_array) = setups(args, rivals);
            too_deep_here.extend(without_array);
            left_out.extend(too_deep_here.into_iter().map(|reason| LeftOut {
                conditions: asked.clone(),
                segment_sizes: list.runs.clone(),
                reason,
            }));
            for &cache in &caches {
                for layout in states(&args.layout) {
                    let states = setups
                        .iter()
                        .flat_map(|setup| shallow.iter().map(move |depth| (*setup, *depth)));
                    for (iovec_setup, queue_depth) in states {
                        cells.extend(crews.iter().map(|&writers| CellSpec {
                            conditions: Conditions {
                                cache,
                                layout,
                                iovec_setup,
                                queue_depth,
                                writers,
                                ..asked.clone()
                            },
                            workload: workload.clone(),
                            alignment,
                        }));
                    }
                }
            }
        }
    }
    let only_odd = rivals.contains(&Technique::WriteFileGather) && !has_long_lists;
    let has_no_setup = setups(args, rivals).0.is_empty();
    let explains = args.writers.is_some() || args.direct || only_odd || has_no_setup;
    if cells.is_empty() && explains && !left_out.is_empty() {
        return Err(Failure::usage(format!(
            "nothing to measure: {}",
            left_out[0].reason
        )));
    }
    if cells.is_empty() && !has_long_lists {
        return Err(Failure::usage(format!(
            "nothing to measure: every list has more than {} in flight; use a smaller --queue-depth, or shorter \
             lists",
            bytes_in_words(MAX_IN_FLIGHT_BYTES as u64),
        )));
    }
    if cells.is_empty() {
        return Err(Failure::usage(format!(
            "nothing to measure: every list has more than {}; to measure lists of up to {}, give \
             both {} and --sizes",
            bytes_in_words(limit as u64),
            bytes_in_words(max as u64),
            counts_option(args),
        )));
    }
    Ok(Grid {
        cells,
        left_out,
        has_long_lists,
    })
}

/// The setups of the array that are measured, and the reasons why others are not.
fn setups(args: &MeasureArgs, rivals: &[Technique]) -> (Vec<IovecSetup>, Vec<String>) {
    let (mut measured, mut reasons) = (Vec::new(), Vec::new());
    for setup in states(&args.iovec_setup) {
        match rivals.iter().find(|rival| !rival.heeds_setup(setup)) {
            None => measured.push(setup),
            Some(rival) => reasons.push(format!(
                "--iovec-setup {} with {rival}, whose transfers fill their array themselves: omit one of the two",
                setup.name()
            )),
        }
    }
    (measured, reasons)
}

/// The option that gives the counts.
fn counts_option(args: &MeasureArgs) -> &'static str {
    match args.join {
        Some(_) => "--join",
        None => "--segments",
    }
}

fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort_unstable();
    items.dedup();
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_are_not_whole_pages_are_left_out_for_write_file_gather_on_files() {
        let list = |runs: &[(usize, usize)]| List {
            runs: runs.to_vec(),
            swept: None,
            options: "--sizes",
        };
        let pages = [Technique::WriteEach, Technique::WriteFileGather];
        let (whole, odd) = (list(&[(2, 8192), (1, 4096)]), list(&[(2, 4096), (1, 100)]));
        assert_eq!(not_pages(Target::File, &whole, &pages), None);
        let reason = not_pages(Target::File, &odd, &pages).unwrap();
        assert!(
            reason.contains("100 B") && reason.contains("4 KiB"),
            "{reason}"
        );
        assert_eq!(not_pages(Target::Pipe, &odd, &pages), None);
        assert_eq!(not_pages(Target::File, &odd, &pages[..1]), None);
    }
}
