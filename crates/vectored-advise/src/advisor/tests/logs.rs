//! Logs, also in short, and tables of rules.

use crate::advisor::findings::tallies::Tallies;
use crate::advisor::wording::sentences::action;
use crate::advisor::{Analysis, Options};
use crate::model::{FindingKey, Step, Tally};
use vectored_strace::Reader;

pub(super) const OPEN: &str = r#"openat(AT_FDCWD</>, "/tmp/f", O_RDWR|O_CREAT, 0666) = 3</tmp/f>"#;
pub(super) const WRITE: &str = r#"write(3</tmp/f>, "x"..., 20) = 20"#;
pub(super) const WRITES: &str = "adjacent-writes file 2→1: write 5 [adjacent]";

/// The findings of a log; with `shows_all` it is known to hold every call.
pub(super) fn found_in(log: &str, shows_all: bool) -> Vec<String> {
    let options = Options {
        shows_all,
        ..Options::default()
    };
    summary(&read_with(log, options).0)
}

/// The tallies of a log that holds every call, and all of whose lines are read.
pub(super) fn tallies_of(log: &str) -> Tallies {
    let (tallies, skipped) = read(log);
    assert_eq!(skipped, 0, "{log}");
    tallies
}

/// The tallies of a log that holds every call, and the number of reasons for which lines were skipped.
pub(super) fn read(log: &str) -> (Tallies, usize) {
    read_with(
        log,
        Options {
            shows_all: true,
            ..Options::default()
        },
    )
}

pub(super) fn read_with(log: &str, options: Options) -> (Tallies, usize) {
    let mut analysis = Analysis::new(options);
    analysis.begin_log();
    let mut reader = Reader::new(log.as_bytes());
    while let Some(event) = reader.next().unwrap() {
        analysis.follow(&event);
    }
    let skipped = reader.counts().skipped().len();
    (analysis.finish(), skipped)
}

pub(super) fn actions(log: &str) -> Vec<String> {
    let tallies = tallies_of(log);
    let findings = tallies.findings.iter();
    findings.map(|(key, tally)| action(key, tally)).collect()
}

/// A log of these calls, 10 µs apart.
pub(super) fn log_of(calls: &[&str]) -> String {
    let line = |(number, call): (usize, &&str)| format!("1 1795312736.000{number:02}0 {call}\n");
    calls.iter().enumerate().map(line).collect()
}

/// A log in short: calls with `; ` between them. `3 × CALL` are three, and `2: CALL` is of thread 2, all others of thread 1.
pub(super) fn log_in_short(calls: &str) -> String {
    let mut log = String::new();
    for call in calls.split("; ") {
        let (times, call) = call.split_once(" × ").unwrap_or(("1", call));
        let thread = |of: &(&str, &str)| of.0.parse::<u32>().is_ok();
        let (thread, call) = call.split_once(": ").filter(thread).unwrap_or(("1", call));
        for _ in 0..times.parse().unwrap() {
            let us = 10 * log.lines().count();
            let took =
                if call.contains("ended") || call.starts_with('+') { "" } else { " <0.000001>" };
            log += &format!("{thread} 1795312736.{us:06} {}{took}\n", call_of(call));
        }
    }
    log
}

fn call_of(short: &str) -> String {
    let words: Vec<&str> = short.split(' ').collect();
    match words[..] {
        ["O"] => OPEN.to_owned(),
        ["A"] => r#"openat(AT_FDCWD</>, "/tmp/f", O_RDONLY) = 4</tmp/f>"#.to_owned(),
        ["W"] => WRITE.to_owned(),
        ["R"] => WRITE.replace("write", "read"),
        [name @ ("write" | "read"), fd, bytes] => format!("{name}({fd}, \"x\", {bytes}) = {bytes}"),
        [name @ ("pwrite64" | "pread64"), fd, bytes, at] => {
            format!("{name}({fd}, \"x\", {bytes}, {at}) = {bytes}")
        }
        ["open", fd, path] => {
            format!("openat(AT_FDCWD</>, \"{path}\", O_RDWR|O_CREAT, 0666) = {fd}")
        }
        ["close", fd] => format!("close({fd}) = 0"),
        ["seek", fd, at] => format!("lseek({fd}, {at}, SEEK_SET) = {at}"),
        ["pipe", from, to] => format!("pipe2([{from}, {to}], 0) = 0"),
        ["fork", child] => format!("clone(child_stack=NULL, flags=SIGCHLD) = {child}"),
        ["thread", child] => {
            format!("clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = {child}")
        }
        ["wait", child] => format!("wait4({child}, NULL, 0, NULL) = {child}"),
        ["exec", path] => format!("execve(\"{path}\", [\"x\"], 0x7f /* 1 var */) = 0"),
        ["exit"] => "exit_group(0) = ?".to_owned(),
        ["ended"] => "+++ exited with 0 +++".to_owned(),
        ["brk"] => "brk(NULL) = 0x55".to_owned(),
        ["poll"] => {
            "poll([{fd=9, events=POLLIN}], 1, -1) = 1 ([{fd=9, revents=POLLIN}])".to_owned()
        }
        _ => short.to_owned(),
    }
}

/// Checks a table of lines `CALLS => FINDINGS`. A line with `…` is the head of the lines below it, which stand in its place.
///
/// `FINDINGS` are `-`, or findings with ` | ` between them, each up to any place in its reason, of adjacent writes to a file
/// unless that is said. `says TEXT` is a part of their actions, `says not TEXT` is none.
#[track_caller]
pub(super) fn check(table: &str) {
    let mut head = "";
    for line in table.lines() {
        let row = match line.strip_prefix("  ") {
            Some(part) => head.replace('…', part),
            None if line.contains('…') => {
                head = line;
                continue;
            }
            None => line.to_owned(),
        };
        let (calls, expected) = row.rsplit_once(" => ").unwrap();
        let log = log_in_short(calls);
        let found: Vec<String> = found_in(&log, true)
            .iter()
            .map(|one| in_short(one))
            .collect();
        let agrees = if let Some(text) = expected.strip_prefix("says not ") {
            !actions(&log).concat().contains(text)
        } else if let Some(text) = expected.strip_prefix("says ") {
            actions(&log).concat().contains(text)
        } else {
            let expected: Vec<&str> = expected.split(" | ").filter(|one| *one != "-").collect();
            let begins = |(found, expected): (&String, &&str)| found.starts_with(expected);
            found.len() == expected.len() && found.iter().zip(&expected).all(begins)
        };
        assert!(agrees, "{row}\n{found:#?}\n{:#?}\n{log}", actions(&log));
    }
}

/// A finding without its steps.
fn in_short(found: &str) -> String {
    let (what, rest) = found.split_once(": ").unwrap();
    let reason = &rest[rest.find(['(', '[']).unwrap() + 1..rest.len() - 1];
    let what = what.strip_prefix("adjacent-writes file ").unwrap_or(what);
    format!("{what} {reason}")
}

fn word(value: &impl serde::Serialize) -> String {
    let json = serde_json::to_string(value).unwrap();
    json.trim_matches('"').to_owned()
}

/// The findings, one a line: `adjacent-writes adjacent 5→1: write 4`.
pub(super) fn summary(tallies: &Tallies) -> Vec<String> {
    let finding = |key: &FindingKey, tally: &Tally| {
        let steps: Vec<String> = key
            .steps
            .iter()
            .map(|step| match step.size_class {
                Step::ANY_SIZE => step.call.clone(),
                class => format!("{} {class}", step.call),
            })
            .collect();
        format!(
            "{} {} {}→{}: {}",
            word(&key.kind),
            word(&key.target),
            tally.calls,
            tally.merged_calls,
            steps.join(", ")
        )
    };
    let found = tallies.findings.iter().map(|(key, tally)| {
        let grade = word(&key.grade);
        format!("{} [{grade}]", finding(key, tally))
    });
    let uncounted = tallies
        .uncounted
        .iter()
        .map(|((key, reason), tally)| format!("{} ({reason})", finding(key, tally)));
    found.chain(uncounted).collect()
}
