//! Checks the earlier result that `--add` continues.

use std::iter;

use vectored_machine::model::Host;
use vectored_versus::model::{Run, RunOptions, Versus};

use super::observed::sums;

/// Returns the reason why the rounds cannot be combined. Only facts that are known before the first run are compared.
pub fn differs(earlier: &Versus, now: &Versus, host: &Host) -> Option<&'static str> {
    let commands =
        |of: &Versus| -> Vec<String> { of.sides().map(|side| side.command.clone()).collect() };
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
    } else if earlier.sides().any(|side| !side.failed.is_empty()) {
        Some("a run failed in it")
    } else {
        earlier.old.runs.is_empty().then_some("it has no rounds")
    }
}

/// Returns whether the contents of the files differ from the earlier result. Without a trace, the files are unknown.
pub fn other_files(earlier: &Versus, now: &Versus) -> bool {
    let mut pairs = iter::zip(earlier.sides(), now.sides());
    pairs.any(|(one, other)| other.files.is_empty() || sums(one) != sums(other))
}

pub fn rounds_of(earlier: &Versus) -> Vec<Vec<Run>> {
    let slots = earlier.sides().map(|side| &side.runs);
    let slots: Vec<&Vec<Run>> = slots.chain([&earlier.old_again_runs]).collect();
    let round = |number: usize| slots.iter().map(|runs| runs[number]).collect();
    (0..earlier.old.runs.len()).map(round).collect()
}
