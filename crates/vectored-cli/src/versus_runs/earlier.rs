//! An earlier result that a comparison goes on from, by `--add`.

use std::iter;

use vectored_machine::model::Host;
use vectored_report::sort::sort;
use vectored_versus::model::{Run, RunOptions, Side, Versus};

/// Why the rounds of the two results cannot be put together, as far as that is known before any command runs.
pub fn differs(earlier: &Versus, now: &Versus, host: &Host) -> Option<&'static str> {
    let commands =
        |of: &Versus| -> Vec<String> { sides(of).map(|side| side.command.clone()).collect() };
    let machine = |host: &Host| [&host.cpu.model, &host.system, &host.kernel].map(String::clone);
    let options = |of: &Versus| RunOptions {
        budget_s: 0.0,
        warmup: 0,
        ..of.options.clone()
    };
    if commands(earlier) != commands(now) {
        Some("it is of other commands")
    } else if options(earlier) != options(now) {
        Some("its commands were run with other options")
    } else if machine(&earlier.host) != machine(host) {
        Some("it is of another processor or kernel")
    } else if sides(earlier).any(|side| !side.failed.is_empty()) {
        Some("a run failed in it")
    } else {
        earlier.old.runs.is_empty().then_some("it has no rounds")
    }
}

fn sides(of: &Versus) -> impl Iterator<Item = &Side> {
    iter::once(&of.old).chain(of.new.iter().map(|one| &one.side))
}

fn sums(side: &Side) -> Vec<Option<&String>> {
    let mut sums: Vec<_> = side.files.iter().map(|file| file.sha256.as_ref()).collect();
    sort(&mut sums);
    sums.dedup();
    sums
}

/// Whether both ran files of the same content, and all of them are known.
pub fn same_files(one: &Side, other: &Side) -> bool {
    let sums = [sums(one), sums(other)];
    sums[0] == sums[1] && !sums[0].is_empty() && !sums[0].contains(&None)
}

/// Whether the commands ran files of other contents than in the earlier result. Without a trace it is unknown which files
/// they ran.
pub fn other_files(earlier: &Versus, now: &Versus) -> bool {
    let mut pairs = iter::zip(sides(earlier), sides(now));
    pairs.any(|(one, other)| other.files.is_empty() || sums(one) != sums(other))
}

pub fn rounds_of(earlier: &Versus) -> Vec<Vec<Run>> {
    let slots = sides(earlier).map(|side| &side.runs);
    let slots: Vec<&Vec<Run>> = slots.chain([&earlier.old_again_runs]).collect();
    let round = |number: usize| slots.iter().map(|runs| runs[number]).collect();
    (0..earlier.old.runs.len()).map(round).collect()
}
