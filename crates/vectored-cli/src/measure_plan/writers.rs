//! The cells of several writers: `--writers`.

use vectored_lab::model::{Cache, MAX_WRITERS, Operation, RECORD_HEAD_BYTES, Target, Technique};
use vectored_lab::report::{bytes_in_words, grouped};

use crate::args::MeasureArgs;
use crate::failure::Failure;
use crate::size_lists::Counts;

/// Maximum bytes of one record of each writer. Each writer keeps them in memory, and they are read back at once.
const MAX_BYTES: usize = 128 << 20;

/// Targets that can have several writers.
const TARGETS: &[Target] = if cfg!(windows) {
    &[Target::Pipe, Target::Tcp]
} else {
    &[
        Target::File,
        Target::Pipe,
        Target::Unix,
        Target::Tcp,
        Target::Socket,
        Target::Remote,
    ]
};

/// The remedy for other targets.
const USE_TARGET: &str = if cfg!(windows) {
    "use --target pipe or tcp"
} else {
    "use --target file, pipe, unix, tcp, a directory or a socket of another program"
};

/// Refuses options that `--writers` does not go with.
pub fn check(args: &MeasureArgs, targets: &[Target], rivals: &[Technique]) -> Result<(), Failure> {
    let Some(Counts(counts)) = &args.writers else {
        return Ok(());
    };
    if let Some(count) = counts.iter().find(|&&count| count > MAX_WRITERS as usize) {
        return Err(Failure::usage(format!(
            "cannot measure {} writers: expected --writers to be at most {MAX_WRITERS}",
            grouped(*count as u64)
        )));
    }
    let single = rivals
        .iter()
        .find(|rival| rival.is_asynchronous() || **rival == Technique::Mmap);
    let conflict = if rivals.contains(&Technique::SendZerocopy) {
        "--technique send-zerocopy, whose notifications are counted for one writer only: omit one of the two options"
            .to_owned()
    } else if args.operation == Operation::Read {
        "--operation read, since writers write: omit one of the two options".to_owned()
    } else if args.cache.contains(&Cache::Cold) {
        "--cache cold, since each record needs memory of its own for its head: omit one of the two options"
            .to_owned()
    } else if let Some(technique) = single {
        format!(
            "--technique {technique}, which writes to offsets that other writers do not know: omit \
             {technique}"
        )
    } else if !targets.iter().any(|target| TARGETS.contains(target)) {
        format!("these targets: {USE_TARGET}")
    } else {
        return Ok(());
    };
    Err(Failure::usage(format!(
        "--writers cannot be used with {conflict}"
    )))
}

/// The writers of the cells of a list, and for each number that is not measured the reason. Without `--writers`,
/// one cell without writers.
pub fn crews(
    args: &MeasureArgs,
    target: Target,
    record_bytes: usize,
) -> (Vec<Option<u32>>, Vec<String>) {
    let Some(Counts(counts)) = &args.writers else {
        return (vec![None], Vec::new());
    };
    let (mut crews, mut reasons) = (Vec::new(), Vec::new());
    for &count in counts {
        match reason(target, record_bytes, count) {
            Some(reason) => reasons.push(reason),
            None => crews.push(Some(count as u32)),
        }
    }
    reasons.dedup();
    (crews, reasons)
}

fn reason(target: Target, record_bytes: usize, count: usize) -> Option<String> {
    if !TARGETS.contains(&target) {
        Some(format!(
            "{target} has one writer: with --writers, {USE_TARGET}"
        ))
    } else if record_bytes < RECORD_HEAD_BYTES {
        Some(format!(
            "a record of several writers has at least {RECORD_HEAD_BYTES} bytes, which name its writer and its \
             number; use longer lists"
        ))
    } else if record_bytes.saturating_mul(count) > MAX_BYTES {
        Some(format!(
            "more than {} in one record of each of {count} writers",
            bytes_in_words(MAX_BYTES as u64)
        ))
    } else {
        None
    }
}
