//! Tests of `vectored host` on the machine that runs the tests.

use crate::support::{Bench, entries, json, stdout_of};

#[test]
fn the_report_of_the_host_fits_one_screen_and_no_file_is_left() {
    let bench = Bench::new();
    let table = format!("\n{}", stdout_of(&mut bench.command("host")));
    assert!(table.lines().count() <= 41, "{table}");
    let labels =
        "system, caches, mitigations, clock, IOV_MAX, io_uring, O_DIRECT, pipe, tcp socket";
    for label in labels.split(", ") {
        assert!(
            table.contains(&format!("\n{label} ")),
            "{label} in\n{table}"
        );
    }
    let report = json(&stdout_of(&mut bench.command("host --format json --dir .")));
    assert_eq!(report["schema"], "vectored-host/1");
    let path = bench.work().canonicalize().unwrap();
    assert_eq!(report["host"]["directory"]["path"], path.to_str().unwrap());
    assert!(entries(&bench.work()).is_empty());
    assert!(bench.saved().is_empty());
}
