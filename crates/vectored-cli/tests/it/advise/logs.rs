//! Logs that are read.

use std::fs;

use super::{advise, bench, records};
use crate::support::stdout_of;

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
