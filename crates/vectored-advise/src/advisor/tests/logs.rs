//! Logs in a short form, and tables of rules.

use crate::advisor::findings::tallies::Tallies;
use crate::advisor::wording::sentences::action;
use crate::advisor::{Analysis, Options};
use crate::model::{FindingKey, Step, Tally};
use vectored_strace::Reader;

/// Options for a log that holds every call.
pub(super) fn whole() -> Options {
    Options {
        shows_all: true,
        ..Options::default()
    }
}

pub(super) fn follow(analysis: &mut Analysis, log: &str) {
    let mut reader = Reader::new(log.as_bytes());
    while let Some(event) = reader.next().unwrap() {
        analysis.follow(&event);
        assert!(!analysis.is_full(), "{event:?}");
    }
}

pub(super) fn read_with(log: &str, options: Options) -> Tallies {
    let mut analysis = Analysis::new(options);
    analysis.begin_log();
    follow(&mut analysis, log);
    analysis.finish()
}

/// The tallies of a log in the short form. The log holds every call.
pub(super) fn tallies_of(calls: &str) -> Tallies {
    read_with(&log_in_short(calls), whole())
}

/// A log from its short form: calls with `; ` between them. `3 × CALL` is three calls. `2: CALL` is a call of thread 2;
/// all other calls are of thread 1. Calls begin 10 µs apart, but the call after `sleep` begins 20 ms later.
pub(super) fn log_in_short(calls: &str) -> String {
    let (mut log, mut us) = (String::new(), 0);
    for call in calls.split("; ") {
        let (times, call) = call.split_once(" × ").unwrap_or(("1", call));
        let thread = |of: &(&str, &str)| of.0.parse::<u32>().is_ok();
        let (thread, call) = call.split_once(": ").filter(thread).unwrap_or(("1", call));
        if call == "sleep" {
            us += 20_000;
            continue;
        }
        for _ in 0..times.parse().unwrap() {
            let call = call_of(call);
            let took = if call.contains(" = ") { " <0.000001>" } else { "" };
            log += &format!(
                "{thread} {}.{:06} {call}{took}\n",
                1_795_312_736 + us / 1_000_000,
                us % 1_000_000
            );
            us += 10;
        }
    }
    log
}

fn call_of(short: &str) -> String {
    let words: Vec<&str> = short.split(' ').collect();
    match words[..] {
        ["O"] => r#"openat(AT_FDCWD</>, "/tmp/f", O_RDWR|O_CREAT, 0666) = 3</tmp/f>"#.to_owned(),
        ["A"] => r#"openat(AT_FDCWD</>, "/tmp/f", O_RDONLY) = 4</tmp/f>"#.to_owned(),
        ["W"] => r#"write(3</tmp/f>, "x"..., 20) = 20"#.to_owned(),
        ["R"] => r#"read(3</tmp/f>, "x"..., 20) = 20"#.to_owned(),
        [name @ ("write" | "read"), fd, bytes] => format!("{name}({fd}, \"x\", {bytes}) = {bytes}"),
        [name @ ("pwrite64" | "pread64"), fd, bytes, at] => {
            format!("{name}({fd}, \"x\", {bytes}, {at}) = {bytes}")
        }
        ["list", fd, segments, bytes] => {
            let [count, each] = [segments, bytes].map(|text| text.parse::<usize>().unwrap());
            let list = vec![format!("{{iov_base=\"x\"..., iov_len={bytes}}}"); count].join(", ");
            format!("writev({fd}, [{list}], {segments}) = {}", count * each)
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

/// Checks a table of lines `CALLS => FINDINGS`, of logs that hold every call. A line with `…` is the head of the lines
/// below: each of these lines takes the place of `…`.
///
/// `FINDINGS` is `-`, or findings with ` | ` between them. Each finding may stop anywhere in its reason. If it names no
/// kind and no target, it is of adjacent writes to a file. `steps STEPS`: the steps of the first finding. `says TEXT`:
/// the actions contain the text. `says not TEXT`: no action contains the text.
#[track_caller]
pub(super) fn check(table: &str) {
    check_with(whole(), table);
}

#[track_caller]
pub(super) fn check_with(options: Options, table: &str) {
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
        let tallies = read_with(&log_in_short(calls), options);
        let found = summary(&tallies);
        let actions: String = tallies
            .counted()
            .map(|(key, tally)| action(key, tally))
            .collect();
        let agrees = match expected.split_once(' ') {
            Some(("says", text)) => match text.strip_prefix("not ") {
                Some(text) => !actions.contains(text),
                None => actions.contains(text),
            },
            Some(("steps", steps)) => found[0].1 == steps,
            _ => {
                let expected = expected.split(" | ").filter(|one| *one != "-");
                let begins = |(found, expected): (&(String, String), &str)| {
                    let found = found.0.strip_prefix("adjacent-writes file ");
                    found.is_some_and(|found| found.starts_with(expected))
                };
                let begins =
                    |pair: (&(String, String), &str)| pair.0.0.starts_with(pair.1) || begins(pair);
                found.len() == expected.clone().count() && found.iter().zip(expected).all(begins)
            }
        };
        assert!(agrees, "{row}\n{found:#?}\n{actions}");
    }
}

fn word(value: &impl serde::Serialize) -> String {
    let json = serde_json::to_string(value).unwrap();
    json.trim_matches('"').to_owned()
}

/// The findings, such as `adjacent-writes file 5→1 adjacent`, each with its steps, such as `write 4`.
pub(super) fn summary(tallies: &Tallies) -> Vec<(String, String)> {
    let finding = |key: &FindingKey, tally: &Tally, why: &str| {
        let steps = key.steps.iter().map(|step| match step.size_class {
            Step::ANY_SIZE => step.call.clone(),
            class => format!("{} {class}", step.call),
        });
        let (kind, target) = (word(&key.kind), word(&key.target));
        let counts = format!("{}→{}", tally.calls, tally.merged_calls);
        let steps = steps.collect::<Vec<_>>().join(", ");
        (format!("{kind} {target} {counts} {why}"), steps)
    };
    let found = tallies.found.iter();
    let mut found: Vec<_> = found.collect();
    found.sort_by_key(|((_, reason), _)| reason.is_some());
    let found = found.into_iter().map(|((key, reason), tally)| {
        let grade = word(&key.grade);
        finding(key, tally, reason.as_ref().unwrap_or(&grade))
    });
    found.collect()
}
