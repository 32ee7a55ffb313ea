//! Tests that compare two results of `advise`.

use std::fs;

use super::{advise, bench, records};
use crate::support::{Bench, case, json, needs_strace, said_by, stdout_of};

/// `old.json` is the advice for [`records`]. `new.json` is for a program with one call for each record.
fn results() -> Bench {
    let bench = bench();
    let joined = records().replace("write(3</tmp/log>, \"x\"..., 8) = 8", "getpid() = 7");
    for (name, log) in [("old", records()), ("new", joined)] {
        fs::write(bench.work().join(name), log).unwrap();
        let saved = format!("{name}.json");
        stdout_of(advise(&bench).args([name, "--format", "json", "--output", &saved]));
    }
    bench
}

#[test]
fn what_an_edit_changed_is_shown() {
    let bench = results();
    let compare = |words: &str| stdout_of(&mut bench.command(&format!("compare {words}")));
    insta::assert_snapshot!(compare("old.json --against new.json"));
    let limited = "old.json --against new.json --fail-if-more-calls 1% --format";
    let compared = json(&compare(&format!("{limited} json")));
    assert_eq!(compared["old"]["transfers"], 2000);
    assert_eq!(compared["new"]["transfers"], 1000);
    assert_eq!(compared["ruling"], "within");
    let rows = compare(&format!("{limited} csv"));
    assert!(rows.contains("2000.0,1000.0,0.5,0.01,within\n"), "{rows}");
}

#[test]
fn more_calls_fail_a_test_and_fewer_do_not() {
    let bench = results();
    let cases = "\
old.json --against new.json --fail-if-more-calls 1% => 0: 
new.json --against old.json --fail-if-more-calls 100% => 0: 
new.json --against old.json --fail-if-more-calls 1% => 3: new makes 2000 calls that move bytes instead of 1000: the limit is 1 % more
new.json --against old.json --fail-if-slower 1% => 2: vectored versus
new.json --machines => 2: vectored versus
old.json --against old.json => 2: are the same run, which may be given only once: run `vectored advise` again
old.json --against new.json old.json => 2: advise --merge";
    for (words, code, said) in cases.lines().map(case) {
        let words = format!("compare {words}");
        let (_, stderr) = said_by(&mut bench.command(&words), code);
        assert!(stderr.contains(said), "{words}: {stderr}");
    }
}

#[test]
fn other_commands_are_noted() {
    let bench = results();
    let old = fs::read_to_string(bench.work().join("old.json")).unwrap();
    let mut ran = json(&old);
    ran["is_command"] = true.into();
    for (name, command) in [
        ("a", "./prog.old data"),
        ("b", "./prog data"),
        ("c", "./prog more"),
    ] {
        ran["sources"] = vec![command].into();
        fs::write(bench.work().join(name), ran.to_string()).unwrap();
    }
    let is_noted = |words: &str| stdout_of(&mut bench.command(words)).contains("commands differ");
    assert!(!is_noted("compare a --against b"));
    assert!(is_noted("compare a --against c"));
    assert!(!is_noted("compare old.json --against c"));
}

#[test]
fn a_baseline_is_compared_with_what_a_command_does_now() {
    needs_strace!();
    let bench = results();
    fs::write(
        bench.work().join("x.sh"),
        "dd if=/dev/zero bs=1 count=3000 of=out 2>/dev/null\n",
    )
    .unwrap();
    let mut command = advise(&bench);
    command.env("COLUMNS", "300");
    command.args(["--baseline", "old.json", "--", "sh", "x.sh"]);
    let (_, stderr) = said_by(&mut command, 0);
    assert_eq!(fs::read(bench.work().join("out")).unwrap().len(), 3000);
    assert!(
        stderr.contains("calls that move bytes instead of 2000"),
        "{stderr}"
    );
    assert!(
        stderr.contains(
            "cp x.sh x.sh.old. After it: vectored versus --same out 'sh x.sh.old' 'sh x.sh'"
        ),
        "{stderr}"
    );
}
