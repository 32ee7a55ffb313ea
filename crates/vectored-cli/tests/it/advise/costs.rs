//! Tests of costs that are measured, or taken from a saved result.

use std::fs;

use serde_json::{Value, json as literal};

use super::{advise, bench, costs, records, text};
use crate::support::{json, needs_strace, said_by, stdout_of};

#[test]
fn findings_without_a_cost_are_listed_but_not_counted() {
    let bench = bench();
    let mut few: Value = json(&costs());
    few["prices"].as_array_mut().unwrap().remove(0);
    fs::write(bench.work().join("costs.json"), few.to_string()).unwrap();
    fs::write(bench.work().join("log"), records()).unwrap();
    let (stdout, stderr) = said_by(advise(&bench).arg("log"), 0);
    assert!(
        stderr.contains("'costs.json' has no costs for writing to a file"),
        "{stderr}"
    );
    let told = "\n\nNo known saving: of 2000 calls";
    assert!(stdout.contains(told), "{stdout}");
    let history = stdout_of(bench.vectored().arg("history"));
    let told = "'log': no significant saving";
    assert!(history.contains(told), "{history}");
    assert_eq!(bench.only_result()["uncounted"][0]["calls"], 2000);
    let listed = bench.saved().remove(0);
    fs::write(bench.work().join("costs.json"), costs()).unwrap();
    let mut merge = advise(&bench);
    merge
        .args(["--no-save", "--format", "json", "--merge"])
        .arg(listed);
    let merged = json(&stdout_of(&mut merge));
    assert_eq!(merged["findings"][0]["calls"], 2000);
    assert_eq!(merged["uncounted"], literal!([]));
}

#[test]
fn a_command_that_removes_the_directory_for_costs_loses_no_findings() {
    needs_strace!();
    let bench = bench();
    let script = "rmdir measured; dd if=/dev/zero bs=2 count=4 of=out 2>/dev/null";
    for (temporary, is_counted) in [(bench.work(), true), ("/proc".into(), false)] {
        fs::create_dir(bench.work().join("measured")).unwrap();
        let mut command = bench.std_vectored();
        command
            .args(["advise", "--dir", "measured", "--output", "report"])
            .args(["--format", "markdown", "--", "sh", "-c", script])
            // strace writes its log into this directory, which the test does not check.
            .env("TMPDIR", temporary);
        let output = command.output().unwrap();
        let stderr = text(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        assert!(
            stderr.contains("because they cannot be measured in 'measured'"),
            "{stderr}"
        );
        let lists = "such calls are listed, but not counted";
        assert_eq!(stderr.contains(lists), !is_counted, "{stderr}");
        let report = fs::read_to_string(bench.work().join("report")).unwrap();
        assert!(report.contains("4 × write 2 B"), "{report}");
        let saved = bench.only_result();
        let found = if is_counted { "findings" } else { "uncounted" };
        assert_eq!(saved[found][0]["calls"], 4, "{saved}");
        fs::remove_file(bench.saved().remove(0)).unwrap();
    }
}
