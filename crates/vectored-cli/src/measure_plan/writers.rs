//! The cells of several writers: `--writers`, `--processes` and `--own-targets`.

use vectored_lab::model::{
    Cache, MAX_WRITERS, Operation, RECORD_HEAD_BYTES, Target, Technique, WriterKind, WriterTargets,
    Writers,
};
use vectored_lab::report::{bytes_in_words, grouped};

use crate::args::MeasureArgs;
use crate::failure::Failure;
use crate::size_lists::Counts;

/// Maximum bytes of one record of each writer. Each writer keeps them in memory, and they are read back at once.
const MAX_BYTES: usize = 128 << 20;

/// Targets that can have several writers.
const TARGETS: [Target; 4] = [Target::File, Target::Pipe, Target::Unix, Target::Tcp];

/// Refuses options that `--writers` does not go with.
pub fn check(args: &MeasureArgs, targets: &[Target], rivals: &[Technique]) -> Result<(), Failure> {
    let Some(Counts(counts)) = &args.writers else {
        let alone = match (args.processes, args.own_targets) {
            (true, _) => "--processes",
            (_, true) => "--own-targets",
            _ => return Ok(()),
        };
        return Err(Failure::usage(format!(
            "{alone} needs several writers: add --writers, for example --writers 1,2,4"
        )));
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
    let zerocopy = [Technique::SendZerocopy, Technique::UringSendZerocopy];
    let zerocopy = rivals.iter().find(|rival| zerocopy.contains(rival));
    let conflict = if let Some(technique) = zerocopy {
        format!(
            "--technique {technique}, whose notifications are counted for one writer only: omit one of the two \
             options"
        )
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
        let names = TARGETS.map(Target::name).join(", ");
        format!("these targets: use --target {names} or a directory")
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
) -> (Vec<Option<Writers>>, Vec<String>) {
    let Some(Counts(counts)) = &args.writers else {
        return (vec![None], Vec::new());
    };
    let kind = match args.processes {
        true => WriterKind::Processes,
        false => WriterKind::Threads,
    };
    let targets = match target {
        Target::File | Target::Pipe if !args.own_targets => WriterTargets::Shared,
        _ => WriterTargets::Own,
    };
    let (mut crews, mut reasons) = (Vec::new(), Vec::new());
    for &count in counts {
        match reason(target, record_bytes, count) {
            Some(reason) => reasons.push(reason),
            None => crews.push(Some(Writers {
                count: count as u32,
                kind,
                targets,
            })),
        }
    }
    reasons.dedup();
    (crews, reasons)
}

fn reason(target: Target, record_bytes: usize, count: usize) -> Option<String> {
    if !TARGETS.contains(&target) {
        Some(format!(
            "{target} has one writer; use --target file, pipe, unix, tcp or a directory with --writers"
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
