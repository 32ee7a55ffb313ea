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
