//! Makes plans of experiments from the options of `vectored reproduce`.

#[cfg(target_os = "linux")]
mod copies;

use vectored_measure::reproduce::{ListPlan, PassPlan, Plan};
use vectored_report::words;

use crate::args::{CopiesArgs, Experiments, PassesArgs, ReproduceArgs};
use crate::failure::Failure;

const QUICK_RECORDS: u32 = 16;

const QUICK_CALLS: u32 = 10;

const QUICK_PASSES: u32 = 2;

/// The limit for one set of buffers of `mincer`. The experiment has two sets.
const MAX_BUFFERS_BYTES: u64 = 1 << 30;

/// The memory of a buffer beyond its bytes: the allocation and the list entries.
const BESIDE_A_BUFFER_BYTES: u64 = 64;

type Planned = Result<Box<dyn Plan>, Failure>;

pub fn plans(
    experiments: &Experiments,
    args: &ReproduceArgs,
) -> Result<Vec<Box<dyn Plan>>, Failure> {
    let plans = match experiments {
        Experiments::Copies(of) => vec![copies(of, args)],
        Experiments::Records => vec![records(args)],
        Experiments::Elements => vec![elements(args)],
        Experiments::Passes(of) => vec![passes(of, args)],
        Experiments::All => vec![
            copies(&CopiesArgs::default(), args),
            records(args),
            elements(args),
            passes(&PassesArgs::default(), args),
        ],
    };
    plans.into_iter().collect()
}

#[cfg(target_os = "linux")]
fn copies(of: &CopiesArgs, args: &ReproduceArgs) -> Planned {
    Ok(Box::new(copies::copies(of, args.quick)?))
}

fn records(args: &ReproduceArgs) -> Planned {
    reduced(ListPlan::records(), QUICK_RECORDS, args)
}

fn elements(args: &ReproduceArgs) -> Planned {
    reduced(ListPlan::elements(), QUICK_CALLS, args)
}

fn reduced(mut plan: ListPlan, by: u32, args: &ReproduceArgs) -> Planned {
    if args.quick {
        plan.calls /= by;
        plan.reduced = true;
    }
    Ok(Box::new(plan))
}

#[cfg(not(target_os = "linux"))]
fn copies(_: &CopiesArgs, _: &ReproduceArgs) -> Planned {
    Err(Failure::usage(
        "apue-3.5 can be repeated on Linux alone: it waits for all processes of a copy, and counts their reads",
    ))
}

fn passes(of: &PassesArgs, args: &ReproduceArgs) -> Planned {
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
            vec![(size as usize, count as usize)]
        }
    };
    let usual = if args.quick { QUICK_PASSES } else { published.passes };
    let passes = of.repeats.unwrap_or(usual);
    let mut setups = of.iovec_setup.clone();
    setups.dedup();
    if setups.is_empty() {
        setups = published.setups;
    }
    let is_less = args.quick || of.size.is_some() || passes < published.passes;
    Ok(Box::new(PassPlan {
        lists,
        passes,
        setups,
        reduced: is_less,
    }))
}
