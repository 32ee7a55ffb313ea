//! Each pair writes the same bytes either way, and the advisor finds what is changed.

use std::collections::BTreeSet;
use std::path::Path;

use vectored_lab::model::{FindingKind, Grade, Leads};
use vectored_pairs::{PAIRS, Version, Workshop, forecast, strace_is_missing, trace};

fn workshop() -> Workshop {
    let binary = Path::new(env!("CARGO_BIN_EXE_log_writer"));
    Workshop::open(&std::env::temp_dir(), binary).unwrap()
}

#[test]
fn both_versions_of_each_pair_write_the_same_bytes() {
    for pair in PAIRS {
        let workshop = workshop();
        let program = workshop.build(&pair).unwrap();
        let outputs = Version::BOTH.map(|version| {
            workshop.prepare(&pair, pair.traced_count).unwrap();
            let status = workshop
                .command(&program, version, pair.traced_count)
                .status()
                .unwrap();
            assert!(status.success(), "{} {version:?}: {status}", pair.name);
            workshop.take_output().unwrap()
        });
        assert!(!outputs[0].is_empty(), "{} writes nothing", pair.name);
        assert!(outputs[0] == outputs[1], "{} writes other bytes", pair.name);
    }
}

#[test]
fn the_advisor_finds_what_is_changed_in_each_pair() {
    if let Some(reason) = strace_is_missing() {
        return skip(
            "pairs::the_advisor_finds_what_is_changed_in_each_pair",
            reason,
        );
    }
    for pair in PAIRS {
        let workshop = workshop();
        let program = workshop.build(&pair).unwrap();
        let log = trace(&workshop, &pair, &program).unwrap();
        let tallies = forecast::count(&log).unwrap();
        let counted = [Grade::Adjacent, Grade::HarmlessBetween];
        // A machine that is busy tears runs apart: what is left of them is found all the same.
        let found: BTreeSet<(FindingKind, Leads)> = tallies
            .findings
            .iter()
            .filter(|(key, tally)| counted.contains(&key.grade) && tally.calls > 50)
            .map(|(key, _)| (key.kind, key.target))
            .collect();
        let expected: BTreeSet<_> = pair.finds.iter().copied().collect();
        assert_eq!(found, expected, "in {}", pair.name);
    }
}

fn skip(test: &str, reason: &str) {
    eprintln!("skipped: {test}: {reason}");
    if let Some(list) = std::env::var_os("VECTORED_SKIPS") {
        use std::io::Write;
        let list = std::fs::File::options()
            .append(true)
            .create(true)
            .open(list);
        let mut list = list.expect("the list of skips can be opened");
        // One call, since tests of several processes share the list.
        let line = format!("{test}: {reason}\n");
        list.write_all(line.as_bytes())
            .expect("the list of skips can be written");
    }
}
