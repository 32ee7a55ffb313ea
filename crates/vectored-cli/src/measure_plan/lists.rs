//! The lists of segments.

use vectored_report::words;
use vectored_results::model::{Operation, Workload};

use crate::args::MeasureArgs;
use crate::failure::Failure;
use crate::size_lists::{List, Numbers};

/// The largest number of bytes of a call in the default grid.
const GRID_CALL_BYTES: usize = 4 << 20;

const MAX_CALL_BYTES: usize = 64 << 20;

/// The limit bounds the memory for `iovec`s and buffers.
const MAX_SEGMENTS: usize = 1 << 20;

const DEFAULT_COUNTS: [usize; 3] = [2, 16, 1000];
const DEFAULT_SIZES: [usize; 6] = [16, 64, 256, 1 << 10, 4 << 10, 16 << 10];

/// A system call costs as much as a copy of tens of KiB. The crossovers of `--join` are therefore at larger sizes.
const JOIN_SIZES: [usize; 6] = [64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10];

const COPY_SIZES: [usize; 5] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];

/// Returns the reason if the list is too long.
pub fn too_long(list: &List, args: &MeasureArgs) -> Option<String> {
    let most = if is_default_grid(args) { GRID_CALL_BYTES } else { MAX_CALL_BYTES };
    (list.bytes() > most).then(|| format!("more than {} in one call", words::bytes(most as u64)))
}

pub fn workload(list: &List) -> Workload {
    if let Some((mix, bytes)) = &list.swept {
        return Workload::swept(mix, *bytes);
    }
    let runs = list.runs.iter();
    let sizes = runs.flat_map(|&(count, bytes)| std::iter::repeat_n(bytes, count));
    Workload::from_sizes(sizes.collect())
}

pub fn lists(args: &MeasureArgs) -> Result<Vec<List>, Failure> {
    let (option, lists) = all_lists(args);
    if args.operation() == Operation::Copy && option != "--sizes" {
        return Err(Failure::usage(format!(
            "{option} is for lists of segments, and --operation copy has none: give the bytes of a copy with --sizes, for \
             example --sizes 64KiB,1MiB"
        )));
    }
    if let Some(list) = lists.iter().find(|list| list.segments() > MAX_SEGMENTS) {
        return Err(Failure::usage(format!(
            "cannot measure lists of {} segments: the maximum is {}; use fewer with {option}",
            words::grouped(list.segments() as u64),
            words::grouped(MAX_SEGMENTS as u64),
        )));
    }
    Ok(lists)
}

pub fn is_default_grid(args: &MeasureArgs) -> bool {
    args.mix.is_empty() && args.join.is_none() && args.segments.is_none() && args.sizes.is_none()
}

/// Returns each list once, and the option that determines the length of the lists.
fn all_lists(args: &MeasureArgs) -> (&'static str, Vec<List>) {
    let mut lists: Vec<List> = Vec::new();
    for list in args.mix.iter().flat_map(|mix| &mix.0) {
        if !lists.contains(list) {
            lists.push(list.clone());
        }
    }
    if !lists.is_empty() {
        return ("--mix", lists);
    }
    let (option, counts, usual_sizes) = match (&args.join, &args.segments) {
        (Some(Numbers(counts)), _) => ("--join", &counts[..], &JOIN_SIZES[..]),
        (None, Some(Numbers(counts))) => ("--segments", &counts[..], &DEFAULT_SIZES[..]),
        _ if args.operation() == Operation::Copy => ("--sizes", &[1][..], &COPY_SIZES[..]),
        (None, None) => ("--segments", &DEFAULT_COUNTS[..], &DEFAULT_SIZES[..]),
    };
    let sizes = args.sizes.as_ref().map_or(usual_sizes, |sizes| &sizes.0);
    let of_count = |&count: &usize| {
        sizes.iter().map(move |&bytes| List {
            runs: vec![(count, bytes)],
            swept: None,
        })
    };
    (option, counts.iter().flat_map(of_count).collect())
}
