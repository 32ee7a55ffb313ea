//! `vectored host` on the machine at hand.

use std::fs;
use std::process::Stdio;

use crate::support::{Bench, entries, json, stdout_of};

#[test]
fn the_report_of_the_host_fits_one_screen_and_no_file_is_left() {
    let bench = Bench::new();
    let table = stdout_of(bench.vectored().arg("host"));
    assert!(table.lines().count() <= 40, "{table}");
    for line in table.lines().filter(|line| line.contains(' ')) {
        // A path that is longer than a line cannot be broken.
        let unbroken = line.split_whitespace().map(|word| word.chars().count());
        assert!(
            line.chars().count() <= 100 || unbroken.max() > Some(80),
            "{line}"
        );
    }
    for label in [
        "system ",
        "caches ",
        "mitigations ",
        "clock ",
        "IOV_MAX ",
        "io_uring ",
        "O_DIRECT ",
        "pwritev2 ",
        "preadv2 ",
        "pipe ",
        "tcp socket ",
    ] {
        let is_there = table.lines().any(|line| line.starts_with(label));
        assert!(is_there, "{label}in\n{table}");
    }
    assert!(entries(&bench.work()).is_empty());
    assert!(bench.saved().is_empty());
}

#[test]
fn the_json_has_what_was_promised() {
    let bench = Bench::new();
    let other = bench.state_home();
    fs::create_dir(&other).unwrap();
    let mut command = bench.vectored();
    command
        .args(["host", "--format", "json", "--dir"])
        .arg(&other);
    let report = json(&stdout_of(&mut command));
    assert_eq!(report["schema"], "vectored-host/1");
    for field in [
        "host",
        "unknown",
        "ruler",
        "io_uring",
        "write_flags",
        "read_flags",
        "direct_io",
        "buffers",
        "huge_pages",
    ] {
        assert!(!report[field].is_null(), "{field}");
    }
    assert!(report["host"]["iov_max"].as_u64().unwrap() >= 16);
    let path = other.canonicalize().unwrap();
    assert_eq!(report["host"]["directory"]["path"], path.to_str().unwrap());
    let flags = report["write_flags"].as_array().unwrap();
    let sync = flags.iter().find(|flag| flag["flag"] == "DSYNC").unwrap();
    assert_eq!(sync["buffered"], "ok");
    assert!(entries(&other).is_empty());
}

#[test]
fn host_works_in_a_directory_where_no_file_can_be_created() {
    let bench = Bench::new();
    // Not even root can make a file there.
    let mut elsewhere = bench.vectored();
    elsewhere.args(["host", "--dir", "/proc"]);
    let mut here = bench.vectored();
    here.arg("host").current_dir("/proc");
    for command in [&mut elsewhere, &mut here] {
        let table = stdout_of(command);
        for line in ["directory      /proc, proc, ", "IOV_MAX ", "tcp socket "] {
            assert!(table.contains(line), "{line}in\n{table}");
        }
        for name in ["O_DIRECT ", "pwritev2 ", "preadv2 "] {
            let line = table.lines().find(|line| line.starts_with(name)).unwrap();
            assert!(line.contains("unknown: no temporary file"), "{line}");
        }
    }
    let mut command = bench.vectored();
    command.args(["host", "--dir", "/proc", "--format", "json"]);
    let report = json(&stdout_of(&mut command));
    assert!(report["unknown"]["write_flags"].is_string());
    assert_eq!(report["write_flags"].as_array().unwrap().len(), 0);
}

#[test]
fn an_output_file_is_written_whole() {
    let bench = Bench::new();
    let path = bench.work().join("host.md");
    let mut command = bench.vectored();
    command
        .args(["host", "--format", "markdown", "--output"])
        .arg(&path);
    assert_eq!(stdout_of(&mut command), "");
    let text = fs::read_to_string(&path).unwrap();
    assert!(
        text.starts_with("| | |\n|---|---|\n| system | Linux"),
        "{text}"
    );
    assert_eq!(entries(&bench.work()), [path]);
}

#[test]
fn wrong_usage_of_host_is_refused_with_a_remedy() {
    let bench = Bench::new();
    let check = |args: &[&str], words: &[&str]| {
        let mut command = bench.vectored();
        let output = command
            .arg("host")
            .args(args)
            .assert()
            .code(2)
            .get_output()
            .clone();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.stdout.is_empty(), "{args:?}");
        for word in words {
            assert!(stderr.contains(word), "{args:?} lacks {word:?}: {stderr}");
        }
    };
    check(
        &["--dir", "nowhere"],
        &["error: ", "'nowhere'", "does not exist", "--dir"],
    );
    fs::write(bench.work().join("file"), "").unwrap();
    check(&["--dir", "file"], &["'file'", "not a directory", "--dir"]);
    check(&["--output", "nowhere/x"], &["'nowhere/x'", "--output"]);
    check(&["--format", "csv"], &["'csv'", "table, json, markdown"]);
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let bench = Bench::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = bench.std_vectored();
    let child = command
        .arg("host")
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn the_help_of_host() {
    let bench = Bench::new();
    let help = stdout_of(bench.vectored().args(["host", "--help"]));
    // Trailing blanks are clap's.
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    insta::assert_snapshot!(lines.join("\n"));
}
