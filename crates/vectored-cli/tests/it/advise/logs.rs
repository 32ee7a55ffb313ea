//! Logs that are read.

use std::fs;
use std::process::Command;

use super::{advise, bench, records};
use crate::support::{json, stderr_of, stdout_of};

#[test]
fn a_log_becomes_advice() {
    let bench = bench();
    fs::write(bench.work().join("log"), records()).unwrap();
    let printed = stdout_of(advise(&bench).arg("log"));
    insta::assert_snapshot!(printed);
    let saved = bench.only_result();
    assert_eq!(saved["schema"], "vectored-advice/1");
    assert_eq!(saved["findings"][0]["kind"], "adjacent-writes");
    assert_eq!(saved["findings"][0]["path"], "/tmp/log");
    assert_eq!(saved["transfers"], 2000);
}

#[test]
fn merged_results_are_those_of_all_logs() {
    let bench = bench();
    fs::write(bench.work().join("one"), records()).unwrap();
    fs::write(
        bench.work().join("two"),
        records().replace("/tmp/log", "/tmp/other"),
    )
    .unwrap();
    let all = |args: &[&str]| {
        json(&stdout_of(
            advise(&bench).args(args).args(["--format", "json"]),
        ))
    };
    let both = all(&["one", "two"]);
    for name in ["one", "two"] {
        let saved = format!("{name}.json");
        stdout_of(advise(&bench).args([name, "--format", "json", "--output", &saved]));
    }
    let merged = all(&["--merge", "one.json", "two.json"]);
    for field in [
        "findings",
        "uncounted",
        "calls",
        "bytes",
        "sources",
        "saving_s",
    ] {
        assert_eq!(merged[field], both[field], "{field}");
    }
}

#[test]
fn logs_are_read_compressed() {
    let bench = bench();
    fs::write(bench.work().join("log"), records()).unwrap();
    let plain = json(&stdout_of(advise(&bench).args(["log", "--format", "json"])));
    let packed = Command::new("gzip")
        .args(["-c", "log"])
        .current_dir(bench.work())
        .output();
    let mut packed = packed.unwrap().stdout;
    fs::write(bench.work().join("log.gz"), &packed).unwrap();
    let read = json(&stdout_of(
        advise(&bench).args(["log.gz", "--format", "json"]),
    ));
    assert_eq!(read["findings"], plain["findings"]);
    let middle = packed.len() / 2;
    packed[middle..middle + 64].fill(0);
    for (bytes, says) in [
        (&packed[..], "cannot read 'spoilt'"),
        (b"\xfd7zXZ\0and so on", "`xz -dc FILE | vectored advise -`"),
    ] {
        fs::write(bench.work().join("spoilt"), bytes).unwrap();
        let stderr = stderr_of(advise(&bench).arg("spoilt"), 1);
        assert!(stderr.contains(says), "{stderr}");
    }
}

#[test]
fn output_of_other_tracers_is_recognised() {
    let bench = bench();
    let perf = "\n Summary of events:\n\n ls (14521), 290 events, 100.0%\n";
    let stderr = stderr_of(advise(&bench).arg("-").write_stdin(perf), 1);
    for words in [
        "`perf trace -s`",
        "strace -f -s1 -v -yy -ttt -T -o FILE COMMAND",
    ] {
        assert!(stderr.contains(words), "{stderr}");
    }
    assert!(bench.saved().is_empty());
}

#[test]
fn what_a_log_of_perf_lacks_is_said() {
    let bench = bench();
    let log = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../vectored-strace/testdata/perf-script.log"
    );
    let printed = stdout_of(advise(&bench).arg(log));
    let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "Skipped 9 lines, the first is 3: a log of perf or bpftrace shows neither paths nor lists",
        "6 × write 3–7 B: the log does not say what the descriptor leads to",
    ] {
        assert!(printed.contains(words), "{printed}");
    }
}
