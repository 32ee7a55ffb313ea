//! An earlier result that a comparison goes on from, by `--add`.

use vectored_machine::model::Host;
use vectored_report::sort::sort;
use vectored_versus::model::{Run, Side, Versus};

/// Why the rounds of both cannot be put together, by what is known before anything runs.
pub fn differs(earlier: &Versus, now: &Versus, host: &Host) -> Option<&'static str> {
    let commands = |of: &Versus| {
        let new = of.new.iter().map(|one| one.side.command.clone());
        std::iter::once(of.old.command.clone())
            .chain(new)
            .collect::<Vec<_>>()
    };
    let machine = |host: &Host| {
        (
            host.cpu.model.clone(),
            host.system.clone(),
            host.kernel.clone(),
        )
    };
    let options = |of: &Versus| vectored_versus::model::RunOptions {
        budget_s: 0.0,
        warmup: 0,
        ..of.options.clone()
    };
    let mut sides = std::iter::once(&earlier.old).chain(earlier.new.iter().map(|one| &one.side));
    if commands(earlier) != commands(now) {
        Some("it is of other commands")
    } else if options(earlier) != options(now) {
        Some("its commands were run with other options")
    } else if machine(&earlier.host) != machine(host) {
        Some("it is of another processor or kernel")
    } else if sides.any(|side| !side.failed.is_empty()) {
        Some("a run failed in it")
    } else {
        earlier.old.runs.is_empty().then_some("it has no rounds")
    }
}

/// Whether the commands ran files of other contents than in the earlier result.
pub fn other_files(earlier: &Versus, now: &Versus) -> bool {
    let sums = |side: &Side| {
        let sums = side.files.iter().map(|file| file.sha256.clone());
        let mut sums: Vec<_> = sums.collect();
        sort(&mut sums);
        sums.dedup();
        sums
    };
    let of_new =
        std::iter::zip(&earlier.new, &now.new).map(|(one, other)| (&one.side, &other.side));
    let mut sides = std::iter::once((&earlier.old, &now.old)).chain(of_new);
    // Without a trace it is not known what they ran.
    sides.any(|(one, other)| other.files.is_empty() || sums(one) != sums(other))
}

/// The rounds of the earlier result: the runs of old, of each new command, and of old again.
pub fn rounds_of(earlier: &Versus) -> Vec<Vec<Run>> {
    let new = earlier.new.iter().map(|one| &one.side.runs);
    let slots = std::iter::once(&earlier.old.runs).chain(new);
    let slots: Vec<&Vec<Run>> = slots.chain([&earlier.old_again_runs]).collect();
    let round = |number: usize| slots.iter().map(|runs| runs[number]).collect();
    (0..earlier.old.runs.len()).map(round).collect()
}
