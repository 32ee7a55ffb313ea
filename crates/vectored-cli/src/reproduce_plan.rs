//! From the options of `vectored reproduce` to plans of experiments.

#[cfg(unix)]
mod unix_alone;

use vectored_measure::reproduce::{BufferList, PassPlan, Plan};
use vectored_report::words;
#[cfg(windows)]
use vectored_results::model::ExperimentName;

#[cfg(unix)]
use crate::args::CopiesArgs;
use crate::args::{Experiments, PassesArgs, ReproduceArgs};
use crate::failure::Failure;
#[cfg(unix)]
use crate::reproduce_plan::unix_alone::{copies, elements, records};

/// `--quick`: passes of each repeat.
const QUICK_PASSES: u32 = 2;

/// Limit on the memory for the buffers of `mincer`, which exist twice.
const MAX_BUFFERS_BYTES: u64 = 1 << 30;

/// Memory for each buffer besides its bytes: the allocation and its entries in the lists.
const BESIDE_A_BUFFER_BYTES: u64 = 64;

/// The plans of the experiments to run.
pub fn plans(experiments: &Experiments, args: &ReproduceArgs) -> Result<Vec<Plan>, Failure> {
    Ok(match experiments {
        Experiments::Passes(of) => vec![Plan::Passes(passes(of, args)?)],
        #[cfg(unix)]
        Experiments::Copies(of) => vec![Plan::Copies(copies(of, args)?)],
        #[cfg(unix)]
        Experiments::Records => vec![Plan::Records(records(args))],
        #[cfg(unix)]
        Experiments::Elements => vec![Plan::Elements(elements(args))],
        #[cfg(unix)]
        Experiments::All => vec![
            Plan::Copies(copies(&CopiesArgs::default(), args)?),
            Plan::Records(records(args)),
            Plan::Elements(elements(args)),
            Plan::Passes(passes(&PassesArgs::default(), args)?),
        ],
        #[cfg(windows)]
        Experiments::Copies(_) | Experiments::All => {
            return Err(unavailable(ExperimentName::Apue35));
        }
        #[cfg(windows)]
        Experiments::Records => return Err(unavailable(ExperimentName::Apue1428)),
        #[cfg(windows)]
        Experiments::Elements => return Err(unavailable(ExperimentName::Kalinin)),
    })
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

fn passes(of: &PassesArgs, args: &ReproduceArgs) -> Result<PassPlan, Failure> {
    let published = PassPlan::published();
    let lists = match of.size.zip(of.count) {
        None => published.lists,
        Some((size, count)) => {
            let bytes = size
                .saturating_add(BESIDE_A_BUFFER_BYTES)
                .checked_mul(count);
            if bytes.is_none_or(|bytes| bytes > MAX_BUFFERS_BYTES) {
                return Err(Failure::usage(format!(
                    "{} buffers of {} need more than 1 GiB, with 64 bytes of bookkeeping each: use a \
                     smaller --size or --count",
                    words::grouped(count),
                    words::bytes(size),
                )));
            }
            vec![BufferList {
                size_bytes: size as usize,
                count: count as usize,
            }]
        }
    };
    let passes = match of.repeats {
        Some(passes) => u32::try_from(passes).map_err(|_| {
            Failure::usage(
                "--repeats is too large: it must be at most 4,294,967,295, for example 10",
            )
        })?,
        None if args.quick => QUICK_PASSES,
        None => published.passes,
    };
    let setups = match of.iovec_setup.as_slice() {
        [] => published.setups,
        some => {
            let mut setups = some.to_vec();
            setups.dedup();
            setups
        }
    };
    let is_less = args.quick || of.size.is_some() || passes < published.passes;
    let plan = PassPlan {
        lists,
        passes,
        setups,
        reduced: is_less,
        ..published
    };
    Ok(plan.with_direct(&args.dir))
}
