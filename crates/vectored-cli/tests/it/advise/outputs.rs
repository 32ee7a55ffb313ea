//! Formats and outputs, and other subcommands that read the result.

use std::fs;

use super::{advise, bench, costs, records, text};
use crate::support::{entries, stdout_of};

#[test]
fn every_format_goes_to_the_named_file() {
    let bench = bench();
    fs::write(bench.work().join("log"), records()).unwrap();
    let mut command = advise(&bench);
    command.args([
        "log",
        "--html",
        "page.html",
        "--output",
        "a.csv",
        "--format",
        "csv",
    ]);
    assert_eq!(stdout_of(&mut command), "");
    let read = |name: &str| fs::read_to_string(bench.work().join(name)).unwrap();
    assert!(read("page.html").starts_with("<!doctype html>"));
    assert!(read("a.csv").starts_with("counted,reason,"));
    let markdown = stdout_of(advise(&bench).args(["log", "--format", "markdown"]));
    assert!(markdown.starts_with("**"), "{markdown}");
    let output = advise(&bench).args(["log", "--quiet"]).output().unwrap();
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn report_compare_and_history_handle_advice() {
    let bench = bench();
    fs::write(bench.work().join("log"), records()).unwrap();
    let mut command = advise(&bench);
    let output = command.arg("log").assert().success().get_output().clone();
    let path = text(&output.stderr).lines().last().unwrap().to_owned();
    assert_eq!(bench.saved(), [std::path::PathBuf::from(&path)]);
    let report = stdout_of(bench.vectored().args(["report", "advice"]));
    assert_eq!(report, text(&output.stdout));
    let page = stdout_of(bench.vectored().args(["report", "advice", "--html", "-"]));
    assert!(page.contains("Where would gathering help?"));
    let lines = stdout_of(
        bench
            .vectored()
            .args(["report", "advice", &path, "--csv", "-"]),
    );
    assert!(
        lines.starts_with("host,started_at,sources,counted,"),
        "{lines}"
    );
    let history = stdout_of(bench.vectored().arg("history"));
    assert!(
        history.contains("advice") && history.contains("'log' would save"),
        "{history}"
    );
    let mut compare = bench.vectored();
    compare.args(["compare", "advice", "--against", "advice"]);
    let refused = text(&compare.assert().code(2).get_output().stderr.clone());
    let words =
        "'advice' is a result of `vectored advise`: expected a result of `vectored measure`";
    assert!(refused.contains(words), "{refused}");
}

#[test]
fn no_output_replaces_an_input_or_another_output() {
    let bench = bench();
    let work = bench.work();
    fs::write(work.join("t.log"), records()).unwrap();
    fs::copy(work.join("costs.json"), work.join("a.json")).unwrap();
    fs::create_dir(work.join("folder")).unwrap();
    std::os::unix::fs::symlink("t.log", work.join("symbolic")).unwrap();
    std::os::unix::fs::symlink(".", work.join("here")).unwrap();
    fs::hard_link(work.join("t.log"), work.join("hard")).unwrap();
    let refused = |words: &[&str], expected: &str| {
        let mut command = bench.std_vectored();
        command.arg("advise").args(words);
        if words.contains(&"-") {
            command.stdin(fs::File::open(work.join("t.log")).unwrap());
        }
        let output = command.output().unwrap();
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {stderr}");
        assert!(stderr.contains(expected), "{words:?}: {stderr}");
        let names: Vec<_> = entries(&work);
        assert_eq!(names.len(), 7, "{words:?}: {names:?}");
        assert_eq!(fs::read_to_string(work.join("t.log")).unwrap(), records());
        assert_eq!(fs::read_to_string(work.join("a.json")).unwrap(), costs());
        assert!(bench.saved().is_empty());
    };
    let read = "is also an input, and would be overwritten: choose another file for the output";
    for name in [
        "t.log",
        "./t.log",
        "here/t.log",
        "folder/../t.log",
        "symbolic",
        "hard",
    ] {
        refused(&["--html", name, "t.log"], read);
        refused(&["--output", name, "t.log"], read);
        refused(&["--output", "t.log", name], read);
    }
    refused(&["--html", "t.log", "-"], read);
    refused(&["--merge", "a.json", "--output", "a.json"], read);
    refused(&["--merge", "a.json", "--html", "./a.json"], read);
    refused(&["--costs", "a.json", "--output", "a.json", "t.log"], read);
    let twice = "is given for two outputs: choose another file for one of them";
    refused(&["--html", "x", "--output", "./x", "t.log"], twice);
    // Before a command runs.
    let run = ["--", "touch", "ran"];
    refused(
        &[&["--html", "x", "--output", "here/x"], &run[..]].concat(),
        twice,
    );
    refused(
        &[&["--costs", "a.json", "--output", "a.json"], &run[..]].concat(),
        read,
    );
}
