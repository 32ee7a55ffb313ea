//! From the options of `vectored reproduce` to plans of experiments.

#[cfg(unix)]
mod unix_alone;

use vectored_measure::model::ExperimentName;
use vectored_measure::report::{bytes_in_words, grouped};
use vectored_measure::reproduce::{BufferList, PassPlan, Plan};

use crate::args::ReproduceArgs;
use crate::failure::Failure;
#[cfg(unix)]
use crate::reproduce_plan::unix_alone::{copies, elements, records};

/// `--quick`: passes of each repeat.
const QUICK_PASSES: u32 = 2;

/// Limit on the memory for the buffers of `mincer`, which exist twice.
const MAX_BUFFERS_BYTES: u64 = 1 << 30;

/// Memory for each buffer besides its bytes: the allocation and its entries in the lists.
const BESIDE_A_BUFFER_BYTES: u64 = 64;

/// The plans of the experiments to run, in the order of `all`.
pub fn plans(args: &ReproduceArgs) -> Result<Vec<Plan>, Failure> {
    refuse_foreign_options(args)?;
    let wanted = ExperimentName::ALL
        .into_iter()
        .filter(|experiment| args.experiment.has(*experiment));
    wanted
        .map(|experiment| {
            Ok(match experiment {
                #[cfg(unix)]
                ExperimentName::Apue35 => Plan::Copies(copies(args)?),
                #[cfg(unix)]
                ExperimentName::Apue1428 => Plan::Records(records(args)),
                #[cfg(unix)]
                ExperimentName::Kalinin => Plan::Elements(elements(args)),
                #[cfg(windows)]
                ExperimentName::Apue35 | ExperimentName::Apue1428 | ExperimentName::Kalinin => {
                    return Err(unavailable(experiment));
                }
                ExperimentName::Mincer => Plan::Passes(passes(args)?),
            })
        })
        .collect()
}

/// The refusal of an experiment whose techniques Windows does not have.
#[cfg(windows)]
fn unavailable(experiment: ExperimentName) -> Failure {
    let why = match experiment {
        ExperimentName::Apue35 => {
            "it needs the usage of a child by wait4(2), and descriptors that a child inherits"
        }
        _ => "it compares writev(2) on files, and WriteFile takes one buffer",
    };
    Failure::usage(format!(
        "{experiment} cannot be repeated on Windows: {why}; 'vectored reproduce mincer' can"
    ))
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
