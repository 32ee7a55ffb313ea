//! Combinations of conditions that do not go together.

use vectored_report::words;
use vectored_results::model::{
    AXES, Axis, Cache, CellSpec, Operation, PageCache, SyncMode, Target, TechniqueName,
};

use crate::measure::sampler::cold_pool::MAX_COLD_CALL_BYTES;
use crate::measure::techniques::{TECHNIQUES, ends_refusal, is_in_flight, refusal, target_refusal};

/// Maximum bytes of the transfers in flight. Reads need as much memory, and files have room for four times as much.
const MAX_IN_FLIGHT_BYTES: usize = 128 << 20;

/// Bytes of a page of memory on Windows, on every processor that it runs on.
const PAGE_BYTES: usize = 4096;

/// The reason why a cell cannot be measured with these techniques, with its remedy; `None` if it can. A technique that
/// does not work on the target of the cell is no reason, as long as another one does.
pub fn unsuited(spec: &CellSpec, rivals: &[TechniqueName]) -> Option<String> {
    let checks = [
        operation,
        ranks,
        axes,
        copies,
        direct,
        page_cache,
        sync,
        cache,
        techniques,
        pages,
        queue_depth,
        alignment,
    ];
    checks.iter().find_map(|check| check(spec, rivals))
}

fn operation(spec: &CellSpec, _rivals: &[TechniqueName]) -> Option<String> {
    let asked = &spec.conditions;
    let is_read = asked.operation == Operation::Read;
    (is_read && !Target::READABLE.contains(&asked.target)).then(|| {
        format!(
            "cannot read from {}: reads are measured from files and streams that vectored fills itself; use --target {} \
             or a directory",
            asked.target,
            Target::READABLE.map(Target::name).join(", ")
        )
    })
}

/// Axes that do not suit the operation.
fn axes(spec: &CellSpec, _rivals: &[TechniqueName]) -> Option<String> {
    let asked = &spec.conditions;
    let unsuited = |axis: &&Axis| !axis.suits.contains(&asked.operation) && axis.is_set(asked);
    let axis = AXES.iter().find(unsuited)?;
    let option = axis.option();
    let named = |name: fn(Operation) -> &'static str, between: &str| {
        let names: Vec<&str> = axis.suits.iter().copied().map(name).collect();
        names.join(between)
    };
    let calls = |operation| match operation {
        Operation::Write => "writes",
        Operation::Read => "reads",
        Operation::Copy => "copies",
    };
    Some(format!(
        "--{option} applies only to {}: use --operation {}, or omit --{option}",
        named(calls, " and "),
        named(Operation::name, " or ")
    ))
}

/// The ends and the pipes of copies.
fn copies(spec: &CellSpec, rivals: &[TechniqueName]) -> Option<String> {
    let asked = &spec.conditions;
    if asked.operation != Operation::Copy {
        return None;
    }
    let ends = [asked.from, Some(asked.target)];
    if asked.pipe_bytes.is_some() && cfg!(not(target_os = "linux")) {
        return Some("--pipe-bytes is for Linux only: omit it".to_owned());
    }
    if asked
        .from
        .is_none_or(|from| !Target::READABLE.contains(&from))
    {
        return Some(format!(
            "copies to {} are measured from {}: name one of them with --from",
            asked.target,
            Target::READABLE.map(Target::name).join(", ")
        ));
    }
    let is_splice = |rival: &TechniqueName| *rival == TechniqueName::new("splice");
    let has_pipe = ends.contains(&Some(Target::Pipe));
    (asked.pipe_bytes.is_some() && !has_pipe && !rivals.iter().any(is_splice)).then(|| {
        format!(
            "--pipe-bytes has no effect on copies from {}, which meet no pipe: omit it",
            asked.ends()
        )
    })
}

/// The reason why a technique refuses the conditions.
fn techniques(spec: &CellSpec, rivals: &[TechniqueName]) -> Option<String> {
    let asked = &spec.conditions;
    let here = |rival: &&TechniqueName| ends_refusal(**rival, asked).is_none();
    if rivals.iter().any(|rival| here(&rival)) {
        return rivals.iter().filter(here).find_map(|rival| {
            let reason = refusal(*rival, asked)?;
            Some(format!("{rival} {reason}, or omit {rival}"))
        });
    }
    let works = |target: &Target| {
        let mut rivals = rivals.iter();
        rivals.any(|rival| target_refusal(*rival, *target).is_none())
    };
    let limits: Vec<String> = rivals
        .iter()
        .filter_map(|rival| Some(format!("{rival} {}", ends_refusal(*rival, asked)?)))
        .collect();
    let limits = limits.join(", ");
    if asked.operation == Operation::Copy {
        return Some(format!(
            "{limits}: use another --from or --target, or another --technique"
        ));
    }
    let offered: &[Target] = match asked.operation {
        Operation::Read => &Target::READABLE,
        Operation::Write | Operation::Copy => &Target::NAMED,
    };
    let offered = offered.iter().copied().filter(works);
    let names: Vec<&str> = offered.map(Target::name).collect();
    Some(format!(
        "{limits}: use --target {}, or another --technique",
        names.join(" or ")
    ))
}

fn direct(spec: &CellSpec, _rivals: &[TechniqueName]) -> Option<String> {
    let asked = &spec.conditions;
    if !asked.direct {
        return None;
    }
    if cfg!(windows) {
        return Some(
            "--direct is not available on Windows, which has no O_DIRECT: --technique write-file-gather measures \
             transfers past the cache"
                .to_owned(),
        );
    }
    if !asked.target.is_file() {
        return Some(
            "--direct applies only to files: use --target file or file-overwrite, or omit --direct"
                .to_owned(),
        );
    }
    let conflict = if asked.page_cache.is_some() {
        "--page-cache, since the page cache is bypassed: omit one of the two options".to_owned()
    } else if asked.cache == Cache::Cold {
        "--cache cold, since the device reads the segments, not the CPU: omit one of the two options".to_owned()
    } else {
        return None;
    };
    Some(format!("--direct cannot be used with {conflict}"))
}

/// Whether the sizes suit `O_DIRECT`. It comes last, since other sizes would be no remedy for options that conflict.
fn alignment(spec: &CellSpec, _rivals: &[TechniqueName]) -> Option<String> {
    let step = spec.alignment?.step_bytes();
    let mut sizes = spec.workload.sizes().iter();
    sizes.any(|bytes| !bytes.is_multiple_of(step)).then(|| {
        format!(
            "with O_DIRECT the size of each segment must be a multiple of {step} bytes here; use such sizes, or omit \
             --direct"
        )
    })
}

fn page_cache(spec: &CellSpec, _rivals: &[TechniqueName]) -> Option<String> {
    let asked = &spec.conditions;
    asked.page_cache?;
    let remedy = match asked.operation {
        Operation::Read if asked.target == Target::File => return None,
        Operation::Copy if asked.from == Some(Target::File) => return None,
        Operation::Copy => "use --from file",
        Operation::Read | Operation::Write => "use --target file",
    };
    Some(format!(
        "--page-cache applies only to files that are read or copied: {remedy}, or omit --page-cache"
    ))
}

fn sync(spec: &CellSpec, _rivals: &[TechniqueName]) -> Option<String> {
    let asked = &spec.conditions;
    let sync = asked.sync;
    (sync != SyncMode::None && !asked.target.is_file()).then(|| {
        format!(
            "--sync {sync} applies only to files that are written: use --target file or file-overwrite, or omit --sync"
        )
    })
}

fn cache(spec: &CellSpec, _rivals: &[TechniqueName]) -> Option<String> {
    let asked = &spec.conditions;
    let bytes = spec.workload.total_bytes();
    if asked.cache == Cache::Hot {
        None
    } else if bytes > MAX_COLD_CALL_BYTES {
        Some(format!(
            "cannot measure {} from a cold cache: a call would move {}, and the maximum with --cache cold is {}; use \
             shorter lists",
            words::list(&spec.workload.runs()),
            words::bytes(bytes as u64),
            words::bytes(MAX_COLD_CALL_BYTES as u64)
        ))
    } else {
        None
    }
}

/// The pages of `WriteFileGather`.
fn pages(spec: &CellSpec, rivals: &[TechniqueName]) -> Option<String> {
    let asked = &spec.conditions;
    if !rivals.contains(&TechniqueName::new("write-file-gather")) || !asked.target.is_file() {
        return None;
    }
    let mut sizes = spec.workload.sizes().iter();
    let odd = sizes.find(|bytes| !bytes.is_multiple_of(PAGE_BYTES))?;
    Some(format!(
        "segments of {} for write-file-gather, which takes whole pages of {}: use --sizes 4KiB or multiples of it",
        words::bytes(*odd as u64),
        words::bytes(PAGE_BYTES as u64)
    ))
}

fn queue_depth(spec: &CellSpec, rivals: &[TechniqueName]) -> Option<String> {
    let asked = &spec.conditions;
    let depth = asked.queue_depth;
    let bytes = spec.workload.total_bytes();
    let why = if depth <= 1 {
        return None;
    } else if !asked.target.keeps_order_in_flight() {
        "is for files and null only, since a stream does not keep the order of transfers: use --target file, null or a \
         directory, or --queue-depth 1"
    } else if asked.cache == Cache::Cold {
        "cannot be measured with --cache cold: omit one of the two options"
    } else if asked.page_cache == Some(PageCache::Cold) {
        "cannot be measured with --page-cache cold, since the kernel would read ahead of the transfers: omit one of \
         the two options"
    } else if !rivals.iter().any(|rival| is_in_flight(*rival)) {
        let offered = TECHNIQUES
            .iter()
            .filter(|one| one.in_flight && one.moves(asked.operation));
        let names: Vec<&str> = offered.map(|one| one.name.as_str()).collect();
        let remedy = match &names[..] {
            [] => "this system has no asynchronous technique".to_owned(),
            names => format!("name one of {} with --technique", names.join(", ")),
        };
        return Some(format!(
            "--queue-depth above 1 has no effect on synchronous techniques: {remedy}, or omit --queue-depth"
        ));
    } else if bytes.saturating_mul(depth as usize) > MAX_IN_FLIGHT_BYTES {
        return Some(format!(
            "more than {} in flight at queue depth {depth}: use a smaller --queue-depth, or shorter lists",
            words::bytes(MAX_IN_FLIGHT_BYTES as u64)
        ));
    } else {
        return None;
    };
    Some(format!("--queue-depth above 1 {why}"))
}

fn ranks(spec: &CellSpec, _rivals: &[TechniqueName]) -> Option<String> {
    let asked = &spec.conditions;
    asked.ranks?;
    (asked.operation == Operation::Copy).then(|| {
        "several ranks cannot be used with --operation copy: start vectored alone, without mpirun or srun".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use vectored_results::model::Workload;

    use super::*;

    #[test]
    fn lists_that_are_not_whole_pages_are_left_out_for_write_file_gather_on_files() {
        let reason = |target, sizes: &[usize], rivals: &[TechniqueName]| {
            let workload = Workload::from_sizes(sizes.to_vec());
            unsuited(&CellSpec::write(target, workload), rivals)
        };
        let pages = [
            TechniqueName::WRITE_EACH,
            TechniqueName::new("write-file-gather"),
        ];
        assert_eq!(reason(Target::File, &[8192, 8192, 4096], &pages), None);
        let odd = reason(Target::File, &[4096, 4096, 100], &pages).unwrap();
        assert!(odd.contains("100 B") && odd.contains("4 KiB"), "{odd}");
        assert_eq!(reason(Target::Pipe, &[4096, 100], &pages), None);
        assert_eq!(reason(Target::File, &[4096, 100], &pages[..1]), None);
    }
}
