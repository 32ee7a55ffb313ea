//! From the options of `vectored reproduce` to plans of experiments.

use vectored_lab::model::{ExperimentName, PageCache, SyncMode};
use vectored_lab::report::{bytes_in_words, grouped};
use vectored_lab::reproduce::{
    BufferList, CopyPlan, CopyTarget, ElementPlan, PUBLISHED_FILE_BYTES, PassPlan, Plan, RecordPlan,
};

use crate::args::{CopyTo, MAX_BUFFER_BYTES, ReproduceArgs};
use crate::failure::Failure;

/// `--quick` divides the size of the copied file by this. The smallest buffers then take a second instead
/// of a minute.
const QUICK_COPY: u64 = 32;

/// `--quick` divides the number of records by this.
const QUICK_RECORDS: u32 = 16;

/// `--quick` divides the calls for each technique by this.
const QUICK_CALLS: u32 = 10;
const QUICK_PASSES: u32 = 2;

/// Limit on the memory for the buffers of `mincer`, which exist twice.
const MAX_BUFFERS_BYTES: u64 = 1 << 30;

/// Memory for each buffer besides its bytes: the allocation and its entries in the lists.
const BESIDE_A_BUFFER_BYTES: u64 = 64;

/// Default of `--min` if every write waits for the device.
const SYNCED_MIN_BYTES: u64 = 4096;

/// The plans of the experiments to run, in the order of `all`.
pub fn plans(args: &ReproduceArgs) -> Result<Vec<Plan>, Failure> {
    refuse_foreign_options(args)?;
    let wanted = ExperimentName::ALL
        .into_iter()
        .filter(|experiment| args.experiment.has(*experiment));
    wanted
        .map(|experiment| {
            Ok(match experiment {
                ExperimentName::Apue35 => Plan::Copies(copies(args)?),
                ExperimentName::Apue1428 => Plan::Records(records(args)),
                ExperimentName::Kalinin => Plan::Elements(elements(args)),
                ExperimentName::Mincer => Plan::Passes(passes(args)?),
            })
        })
        .collect()
}

/// Refuses options of another experiment, which would have no effect.
fn refuse_foreign_options(args: &ReproduceArgs) -> Result<(), Failure> {
    let copies = [
        ("--min", args.min.is_some()),
        ("--max", args.max.is_some()),
        ("--page-cache", args.page_cache.is_some()),
        ("--to", args.to.is_some()),
        ("--sync", args.sync.is_some()),
    ];
    let passes = [
        ("--size", args.size.is_some()),
        ("--count", args.count.is_some()),
        ("--repeats", args.repeats.is_some()),
        ("--iovec-setup", !args.iovec_setup.is_empty()),
    ];
    let of = |name, options: &[(&str, bool)]| {
        let foreign = options.iter().find(|(_, is_given)| *is_given);
        match foreign.filter(|_| !args.experiment.has(name)) {
            Some((option, _)) => Err(Failure::usage(format!(
                "{option} applies only to {name}: omit it, or run `vectored reproduce {name}`"
            ))),
            None => Ok(()),
        }
    };
    of(ExperimentName::Apue35, &copies)?;
    of(ExperimentName::Mincer, &passes)
}

fn copies(args: &ReproduceArgs) -> Result<CopyPlan, Failure> {
    let to = match &args.to {
        None | Some(CopyTo::Null) => CopyTarget::Null,
        Some(CopyTo::File) => CopyTarget::File(None),
        Some(CopyTo::Directory(path)) => CopyTarget::File(Some(path.clone())),
        Some(CopyTo::Pipe) => CopyTarget::Pipe,
    };
    let sync = args.sync.unwrap_or(SyncMode::None);
    if sync != SyncMode::None && !matches!(to, CopyTarget::File(_)) {
        return Err(Failure::usage(
            "--sync applies only to files: use --to file or --to DIRECTORY, or omit --sync",
        ));
    }
    let smallest = match sync {
        SyncMode::Dsync | SyncMode::Sync => SYNCED_MIN_BYTES,
        SyncMode::None | SyncMode::Fsync => 1,
    };
    let min = args.min.unwrap_or(smallest);
    let published = CopyPlan::published_buffers();
    let last = published.last().copied().unwrap_or(1);
    let max = args.max.unwrap_or(last);
    if max > MAX_BUFFER_BYTES {
        return Err(Failure::usage(
            "--max is too large: it must be at most 1GiB",
        ));
    }
    let buffer_bytes: Vec<u64> = (0..=30)
        .map(|power| 1 << power)
        .filter(|bytes| (min..=max).contains(bytes))
        .collect();
    if buffer_bytes.is_empty() {
        return Err(Failure::usage(format!(
            "no buffer size lies between --min {} and --max {}: sizes are powers of two from 1 B \
             to 1 GiB; use a smaller --min or a larger --max",
            bytes_in_words(min),
            bytes_in_words(max),
        )));
    }
    let file_bytes = match args.quick {
        true => PUBLISHED_FILE_BYTES / QUICK_COPY,
        false => PUBLISHED_FILE_BYTES,
    };
    Ok(CopyPlan {
        file_bytes,
        buffer_bytes,
        page_cache: args.page_cache.unwrap_or(PageCache::Hot),
        to,
        sync,
        // Independent of the range of sizes: its buffer belongs to the C library.
        stdio: true,
        reduced: args.quick,
    })
}

fn records(args: &ReproduceArgs) -> RecordPlan {
    let published = RecordPlan::published();
    match args.quick {
        true => RecordPlan {
            records: published.records / QUICK_RECORDS,
            reduced: true,
            ..published
        },
        false => published,
    }
}

fn elements(args: &ReproduceArgs) -> ElementPlan {
    let published = ElementPlan::published();
    match args.quick {
        true => ElementPlan {
            calls: published.calls / QUICK_CALLS,
            reduced: true,
            ..published
        },
        false => published,
    }
}

fn passes(args: &ReproduceArgs) -> Result<PassPlan, Failure> {
    let published = PassPlan::published();
    let lists = match (args.size, args.count) {
        (None, None) => published.lists,
        (Some(size), Some(count)) => {
            let bytes = size
                .saturating_add(BESIDE_A_BUFFER_BYTES)
                .checked_mul(count);
            if bytes.is_none_or(|bytes| bytes > MAX_BUFFERS_BYTES) {
                return Err(Failure::usage(format!(
                    "{} buffers of {} need more than 1 GiB, with 64 bytes of bookkeeping each: use a \
                     smaller --size or --count",
                    grouped(count),
                    bytes_in_words(size),
                )));
            }
            vec![BufferList {
                size_bytes: size as usize,
                count: count as usize,
            }]
        }
        _ => {
            return Err(Failure::usage(
                "--size and --count must be given together: give both, or neither for the \
                 published pairs",
            ));
        }
    };
    let passes = match args.repeats {
        Some(passes) => u32::try_from(passes).map_err(|_| {
            Failure::usage(
                "--repeats is too large: it must be at most 4,294,967,295, for example 10",
            )
        })?,
        None if args.quick => QUICK_PASSES,
        None => published.passes,
    };
    let setups = match args.iovec_setup.as_slice() {
        [] => published.setups,
        some => {
            let mut setups = some.to_vec();
            setups.dedup();
            setups
        }
    };
    let is_less = args.quick || args.size.is_some() || passes < published.passes;
    let plan = PassPlan {
        lists,
        passes,
        setups,
        reduced: is_less,
        ..published
    };
    Ok(plan.with_direct(&args.dir))
}
