//! Combinations of conditions that do not go together.

use vectored_report::words;
use vectored_results::model::{
    AXES, Axis, Cache, CellSpec, Conditions, Operation, PageCache, SyncMode, Target, TechniqueName,
};

use crate::measure::sampler::MAX_COLD_CALL_BYTES;
use crate::measure::techniques::{TECHNIQUES, ends_refusal, is_in_flight, refusal};

/// Maximum bytes of the transfers in flight. Reads need as much memory, and files have room for four times as much.
const MAX_IN_FLIGHT_BYTES: usize = 128 << 20;

/// The reason why a cell cannot be measured with these techniques, and the remedy; `None` if the cell can be measured. A
/// technique that does not work on the target of the cell is no reason, as long as another technique works there.
pub fn unsuited(spec: &CellSpec, rivals: &[TechniqueName]) -> Option<String> {
    let checks = [
        ends,
        axes,
        copies,
        options,
        techniques,
        queue_depth,
        alignment,
    ];
    checks.iter().find_map(|check| check(spec, rivals))
}

fn ends(spec: &CellSpec, _rivals: &[TechniqueName]) -> Option<String> {
    let asked = &spec.conditions;
    if asked.operation == Operation::Read && !Target::READABLE.contains(&asked.target) {
        return Some(format!(
            "cannot read from {}: reads are measured from files and streams that vectored fills itself; use --target {} \
             or a directory",
            asked.target,
            Target::READABLE.map(Target::name).join(", ")
        ));
    }
    (asked.ranks.is_some() && asked.operation == Operation::Copy).then(|| {
        "several ranks cannot be used with --operation copy: start vectored alone, without mpirun or srun".to_owned()
    })
}

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

fn techniques(spec: &CellSpec, rivals: &[TechniqueName]) -> Option<String> {
    let asked = &spec.conditions;
    let here = |rival: &&TechniqueName| ends_refusal(**rival, asked).is_none();
    if rivals.iter().any(|rival| here(&rival)) {
        return rivals.iter().filter(here).find_map(|rival| {
            let reason = refusal(*rival, asked)?;
            Some(format!("{rival} {reason}, or omit {rival}"))
        });
    }
    let limits: Vec<String> = rivals
        .iter()
        .filter_map(|rival| Some(format!("{rival} {}", ends_refusal(*rival, asked)?)))
        .collect();
    let works = |target: &&Target| {
        let conditions = Conditions::write(**target);
        let mut rivals = rivals.iter();
        rivals.any(|rival| refusal(*rival, &conditions).is_none())
    };
    let working = |offered: &[Target]| {
        let names: Vec<&str> = offered.iter().filter(works).map(|of| of.name()).collect();
        format!("--target {}", names.join(" or "))
    };
    let ends = match asked.operation {
        Operation::Copy => "another --from or --target".to_owned(),
        Operation::Read => working(&Target::READABLE),
        Operation::Write => working(&Target::NAMED),
    };
    Some(format!(
        "{}: use {ends}, or another --technique",
        limits.join(", ")
    ))
}

fn options(spec: &CellSpec, _rivals: &[TechniqueName]) -> Option<String> {
    let asked = &spec.conditions;
    let why = if asked.direct && cfg!(windows) {
        "--direct is not available on Windows, which has no O_DIRECT: omit it"
    } else if asked.direct && !asked.target.is_file() {
        "--direct applies only to files: use --target file or file-overwrite, or omit --direct"
    } else if asked.direct && asked.page_cache.is_some() {
        "--direct cannot be used with --page-cache, since the page cache is bypassed: omit one of the two options"
    } else if asked.direct && asked.cache == Cache::Cold {
        "--direct cannot be used with --cache cold, since the device reads the segments, not the CPU: omit one of the \
         two options"
    } else if asked.page_cache.is_some() && asked.from.unwrap_or(asked.target) != Target::File {
        let end = if asked.operation == Operation::Copy { "from" } else { "target" };
        return Some(format!(
            "--page-cache applies only to files that are read or copied: use --{end} file, or omit --page-cache"
        ));
    } else if asked.sync != SyncMode::None && !asked.target.is_file() {
        return Some(format!(
            "--sync {} applies only to files that are written: use --target file or file-overwrite, or omit --sync",
            asked.sync
        ));
    } else if asked.cache == Cache::Cold && spec.workload.total_bytes() > MAX_COLD_CALL_BYTES {
        return Some(format!(
            "cannot measure {} from a cold cache: a call would move {}, and the maximum with --cache cold is {}; use \
             shorter lists",
            words::list(&spec.workload.runs()),
            words::bytes(spec.workload.total_bytes() as u64),
            words::bytes(MAX_COLD_CALL_BYTES as u64)
        ));
    } else {
        return None;
    };
    Some(why.to_owned())
}

/// Whether the sizes suit `O_DIRECT`. This check comes last, since other sizes would be no remedy for options that
/// conflict.
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
