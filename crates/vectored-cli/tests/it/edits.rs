//! Tests of ten public edits that save system calls in other projects. `advise` finds the calls before the edit.
//! `versus` proves the edit.
//!
//! A file of `edits/` contains both versions of a program. A line with the comment "old" or "new" belongs to that
//! version only.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::support::{Bench, json, needs_strace, said_by, skip, stdout_of};

/// Columns: the project and the number of its issue or pull request; the program; the finding of `advise` before the
/// edit, counted or listed; the file that the program writes, or `-` for standard output; the saved calls and their
/// number.
const EDITS: &str = "\
exfatprogs/exfatprogs#174 exfatprogs.c seek-then-transfer image lseek 1000
BabbleSim/base#12 babblesim.c adjacent-writes - writes 1000
uutils/coreutils#7485 uutils.rs adjacent-writes - writes 4995
bheisler/cargo-criterion#60 cargo-criterion.rs small-reads - reads 3999
dmachard/DNS-collector#1125 dns-collector.go adjacent-writes - writes 1998
astrofrog/psrecord#85 psrecord.py adjacent-writes log writes 1990
dpkp/kafka-python#797 kafka-python.py adjacent-writes - writes 200
nodejs/node#6379 node.js adjacent-writes - writes 2000
miyagawa/Starman#59 starman.pl adjacent-writes - writes 1000
excon/excon#556 excon.rb stall - writes 12";

/// Compiles one version of the program. Returns the command line, or the name of a tool that is not installed.
fn build(bench: &Bench, source: &str, version: &str) -> Result<String, String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/edits/");
    let text = fs::read_to_string(format!("{folder}{source}")).unwrap();
    let other = if version == "old" { "new" } else { "old" };
    let is_of_other = |line: &&str| {
        let comments = [format!("// {other}"), format!("# {other}")];
        comments.iter().any(|comment| line.ends_with(&**comment))
    };
    let lines: Vec<&str> = text.lines().filter(|line| !is_of_other(line)).collect();
    let (_, language) = source.split_once('.').unwrap();
    let file = format!("{version}.{language}");
    fs::write(bench.work().join(&file), lines.join("\n") + "\n").unwrap();
    let (program, options) = match language {
        "c" => ("cc", "-Wall -Werror -o"),
        "rs" => ("rustc", "-Dwarnings -o"),
        "go" => ("go", "build -o"),
        "py" => ("python3", "-c pass"),
        "js" => ("node", "--check"),
        "pl" => ("perl", "-c"),
        "rb" => ("ruby", "-c"),
        other => panic!("how is a program in {other} run?"),
    };
    let is_compiled = options.ends_with("-o");
    let mut command = Command::new(program);
    command
        .args(options.split(' '))
        .args(is_compiled.then_some(version));
    match command.arg(&file).current_dir(bench.work()).output() {
        Ok(ended) => assert!(ended.status.success(), "{program} {file}: {ended:?}"),
        Err(error) => return Err(format!("{program}: {error}")),
    }
    Ok(if is_compiled { format!("./{version}") } else { format!("{program} {file}") })
}

/// Returns the smallest and the largest count.
fn calls(side: &Value, name: &str) -> [u64; 2] {
    let calls = &side["calls"];
    let range = calls.get(name).unwrap_or(&calls["kinds"][name]);
    ["low", "high"].map(|end| range[end].as_u64().unwrap_or(0))
}

#[test]
fn edits_of_others_are_found_and_proved() {
    needs_strace!();
    for edit in EDITS.lines() {
        let [of, source, finds, writes, name, saved] = edit.split(' ').collect::<Vec<_>>()[..]
        else {
            panic!("{edit}");
        };
        let bench = Bench::new();
        fs::write(bench.work().join("input"), "0123456,".repeat(500)).unwrap();
        let commands = ["old", "new"].map(|version| build(&bench, source, version));
        let [Ok(old), Ok(new)] = &commands else {
            skip(&format!("{of}: {commands:?}"));
            continue;
        };

        // On a busy machine, calls may be far apart.
        let options = "advise --no-save --quiet --max-delay 1h --format json --output advice --";
        let (_, said) = said_by(&mut bench.command(&format!("{options} {old}")), 0);
        let advice = json(&fs::read_to_string(bench.work().join("advice")).unwrap());
        let found = ["findings", "uncounted"].map(|of| advice[of].as_array().unwrap());
        let mut found = found.into_iter().flatten();
        if !found.any(|one| one["kind"] == finds) {
            // The kernel's timers decide whether an acknowledgement is delayed.
            assert_eq!(finds, "stall", "{of}: {said} {advice:#}");
            skip(&format!("{of}: no answer waited for an acknowledgement"));
        }

        let gate = |old: &str, new: &str| {
            let mut command = bench.command("versus --rounds 1 --warmup 0 --no-save --format json");
            command.args(["--fail-if-more-calls", "1%"]);
            command.args((writes != "-").then(|| format!("--same={writes}")));
            command.args([old, new]);
            command
        };
        let result = json(&stdout_of(&mut gate(old, new)));
        assert_eq!(result["not_compared"].as_array().unwrap().len(), 0, "{of}");
        let before = calls(&result["old"], name);
        let after = calls(&result["new"][0]["side"], name);
        // In some runtimes, threads wake each other by write(2).
        let is_exact = ["c", "rs", "py", "pl"]
            .iter()
            .any(|end| source.ends_with(end));
        let slack = if is_exact { 0 } else { 4 };
        let least = before[0].saturating_sub(after[1] + slack);
        let most = (before[1] + slack).saturating_sub(after[0]);
        assert!(
            (least..=most).contains(&saved.parse().unwrap()),
            "{of}: {name}: {before:?}, {after:?}"
        );
        let (_, refused) = said_by(&mut gate(new, old), 3);
        assert!(
            refused.contains("beyond the limit of --fail-if-more-calls"),
            "{of}: {refused}"
        );
    }
}
