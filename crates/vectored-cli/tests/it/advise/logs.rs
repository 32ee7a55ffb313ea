//! Tests of logs that `advise` reads.

use std::fs;

use super::{advise, bench, records};
use crate::support::stdout_of;

#[test]
fn a_log_becomes_advice() {
    let bench = bench();
    fs::write(bench.work().join("log"), records()).unwrap();
    let printed = stdout_of(advise(&bench).args(["log", "--html", "page.html"]));
    insta::assert_snapshot!(printed);
    let page = fs::read_to_string(bench.work().join("page.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>"));
    let saved = bench.only_result();
    assert_eq!(saved["schema"], "vectored-advice/1");
    assert_eq!(saved["findings"][0]["kind"], "adjacent-writes");
    assert_eq!(saved["findings"][0]["path"], "/tmp/log");
    assert_eq!(saved["transfers"], 2000);
}
