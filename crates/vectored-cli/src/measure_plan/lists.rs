//! The lists of segments.

use vectored_report::words;
use vectored_results::model::{Operation, SweptMix, Workload};

use crate::args::MeasureArgs;
use crate::failure::Failure;
use crate::size_lists::{Mix, Numbers, segment_count, total_bytes};

/// Limit on the bytes of a call of the default grid. Larger lists are left out.
const GRID_CALL_BYTES: usize = 4 << 20;

const MAX_CALL_BYTES: usize = 64 << 20;

/// Maximum segments of a list: `iovec`s and buffers need memory.
const MAX_SEGMENTS: usize = 1 << 20;

const DEFAULT_COUNTS: [usize; 3] = [2, 16, 1000];
const DEFAULT_SIZES: [usize; 6] = [16, 64, 256, 1 << 10, 4 << 10, 16 << 10];

/// Sizes of `--join`. A call costs as much as copying tens of KiB, so the crossovers of `--join` lie higher.
const JOIN_SIZES: [usize; 6] = [64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10];

const COPY_SIZES: [usize; 5] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];

#[derive(PartialEq)]
pub struct List {
    pub runs: Vec<(usize, usize)>,
    /// The mix that the list belongs to, and the size of the swept run.
    swept: Option<(SweptMix, usize)>,
    /// The options that would make the list shorter.
    options: &'static str,
}

impl List {
    /// Why the list is left out, if it is too long.
    pub fn too_long(&self, args: &MeasureArgs) -> Option<String> {
        let most = if is_default_grid(args) { GRID_CALL_BYTES } else { MAX_CALL_BYTES };
        (total_bytes(&self.runs) > most)
            .then(|| format!("more than {} in one call", words::bytes(most as u64)))
    }

    pub fn workload(&self) -> Workload {
        if let Some((mix, bytes)) = &self.swept {
            return Workload::swept(mix, *bytes);
        }
        let runs = self.runs.iter();
        let sizes = runs.flat_map(|&(count, bytes)| std::iter::repeat_n(bytes, count));
        Workload::from_sizes(sizes.collect())
    }
}

pub fn lists(args: &MeasureArgs) -> Result<Vec<List>, Failure> {
    check_copy(args)?;
    let lists = all_lists(args);
    let too_many = |list: &&List| segment_count(&list.runs) > MAX_SEGMENTS;
    if let Some(list) = lists.iter().find(too_many) {
        return Err(Failure::usage(format!(
            "cannot measure lists of {} segments: the maximum is {}; use fewer with {}",
            words::grouped(segment_count(&list.runs) as u64),
            words::grouped(MAX_SEGMENTS as u64),
            list.options,
        )));
    }
    Ok(lists)
}

fn check_copy(args: &MeasureArgs) -> Result<(), Failure> {
    let lists = [
        (args.segments.is_some(), "--segments"),
        (!args.mix.is_empty(), "--mix"),
        (args.join.is_some(), "--join"),
    ];
    let given = lists.into_iter().find(|(is_given, _)| *is_given);
    match given {
        Some((_, option)) if args.operation() == Operation::Copy => Err(Failure::usage(format!(
            "{option} is for lists of segments, and --operation copy has none: give the bytes of a copy with --sizes, for \
             example --sizes 64KiB,1MiB"
        ))),
        _ => Ok(()),
    }
}

pub fn is_default_grid(args: &MeasureArgs) -> bool {
    args.mix.is_empty() && args.join.is_none() && args.segments.is_none() && args.sizes.is_none()
}

fn all_lists(args: &MeasureArgs) -> Vec<List> {
    if !args.mix.is_empty() {
        return lists_of_mixes(&args.mix);
    }
    let (counts, usual_sizes, options) = match (&args.join, &args.segments) {
        _ if args.operation() == Operation::Copy => (&[1][..], &COPY_SIZES[..], "--sizes"),
        (Some(Numbers(counts)), _) => (&counts[..], &JOIN_SIZES[..], "--join"),
        (None, Some(Numbers(counts))) => (&counts[..], &DEFAULT_SIZES[..], "--segments"),
        (None, None) => (&DEFAULT_COUNTS[..], &DEFAULT_SIZES[..], "--segments"),
    };
    let sizes = args.sizes.as_ref().map_or(usual_sizes, |s| &s.0);
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
