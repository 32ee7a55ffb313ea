//! Both versions of each pair write the same bytes, and the advisor finds the calls that are changed.

use std::collections::BTreeSet;
use std::path::Path;

use vectored_advise::model::{FindingKind, Grade};
use vectored_conformance::host::report_skip;
use vectored_machine::model::DescriptorKind;
use vectored_pairs::{PAIRS, Sandbox, Version, prediction, strace_unavailable, trace};

fn sandbox() -> Sandbox {
    let binary = Path::new(env!("CARGO_BIN_EXE_log_writer"));
    Sandbox::open(&std::env::temp_dir(), binary).unwrap()
}

#[test]
fn both_versions_of_each_pair_write_the_same_bytes() {
    for pair in PAIRS {
        let sandbox = sandbox();
        let program = sandbox.build(&pair).unwrap();
        let outputs = Version::BOTH.map(|version| {
            sandbox.prepare(&pair, pair.traced_count).unwrap();
            let status = sandbox
                .command(&program, version, pair.traced_count)
                .status()
                .unwrap();
            assert!(status.success(), "{} {version:?}: {status}", pair.name);
            sandbox.take_output().unwrap()
        });
        assert!(!outputs[0].is_empty(), "{} writes nothing", pair.name);
        assert!(outputs[0] == outputs[1], "{} writes other bytes", pair.name);
    }
}

#[test]
fn the_advisor_finds_what_is_changed_in_each_pair() {
    if let Some(reason) = strace_unavailable() {
        return report_skip(
            "pairs::the_advisor_finds_what_is_changed_in_each_pair",
            reason,
        );
    }
    for pair in PAIRS {
        let sandbox = sandbox();
        let program = sandbox.build(&pair).unwrap();
        let log = trace(&sandbox, &pair, &program).unwrap();
        let tallies = prediction::count(&log).unwrap();
        let counted = [Grade::Adjacent, Grade::HarmlessBetween];
        // On a busy machine delays split runs, but what is left of them must still be found.
        let found: BTreeSet<(FindingKind, DescriptorKind)> = tallies
            .counted()
            .filter(|(key, tally)| counted.contains(&key.grade) && tally.calls > 50)
            .map(|(key, _)| (key.kind, key.target))
            .collect();
        let expected: BTreeSet<_> = pair.finds.iter().copied().collect();
        assert_eq!(found, expected, "in {}", pair.name);
    }
}
