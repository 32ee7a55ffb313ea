//! Commands that read saved results: `report`, `history`, `compare`.

use std::fs;

use crate::support::{Bench, json, stdout_of};

/// A run on the invented machine with this seed.
fn measured(bench: &Bench, seed: &str) {
    let mut command = bench.vectored();
    command.args([
        "measure",
        "--synthetic",
        crate::support::MACHINE,
        "--seed",
        seed,
    ]);
    command.args(["--target", "pipe", "--segments", "2,16", "--quiet"]);
    command.assert().success();
}

/// Standard error of a command, which must end with this exit code.
fn stderr_of(bench: &Bench, args: &[&str], code: i32) -> String {
    let mut command = bench.vectored();
    let output = command.args(args).assert().code(code).get_output().clone();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!stderr.contains("panicked"), "{stderr}");
    stderr
}

#[test]
fn a_report_is_what_the_run_printed() {
    let bench = Bench::new();
    let printed = stdout_of(&mut bench.synthetic());
    assert_eq!(stdout_of(bench.vectored().arg("report")), printed);
    assert_eq!(
        stdout_of(bench.vectored().args(["report", "latest"])),
        printed
    );
    let path = bench.saved().remove(0);
    assert_eq!(stdout_of(bench.vectored().arg("report").arg(path)), printed);
}

#[test]
fn exports_go_to_the_named_files() {
    let bench = Bench::new();
    measured(&bench, "1");
    let mut command = bench.vectored();
    command.args(["report", "--html", "a.html", "--markdown", "a.md"]);
    let printed = stdout_of(command.args(["--csv", "-"]));
    assert!(printed.starts_with("target,path,"), "{printed}");
    let begin = |name: &str| fs::read_to_string(bench.work().join(name)).unwrap();
    assert!(begin("a.html").starts_with("<!doctype html>"));
    assert!(begin("a.md").contains("| segments |"));
    let two = stdout_of(
        bench
            .vectored()
            .args(["report", "latest", "latest", "--csv", "-"]),
    );
    assert!(two.starts_with("host,kernel,started_at,target,"), "{two}");
    assert_eq!(two.lines().count(), 2 * printed.lines().count() - 1);
}

#[test]
fn history_lists_saved_results_with_their_names() {
    let bench = Bench::new();
    let nothing = stdout_of(bench.vectored().arg("history"));
    assert!(nothing.starts_with("no saved results in "), "{nothing}");
    measured(&bench, "1");
    measured(&bench, "2");
    // A result is listed however old it is, even if it cannot be read.
    let state = bench.state_home().join("vectored");
    fs::write(
        state.join("measure-19990101T000000Z-0000.json"),
        "{\"schema\"",
    )
    .unwrap();
    let list = stdout_of(bench.vectored().arg("history"));
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines[2].starts_with("latest "), "{list}");
    assert!(lines[2].contains("12 cells on pipe"), "{list}");
    assert!(lines[4].starts_with("latest~1 "), "{list}");
    assert!(lines[6].starts_with("latest~2 "), "{list}");
    assert!(lines[6].contains("cannot be read"), "{list}");
    let list = json(&stdout_of(
        bench.vectored().args(["history", "--format", "json"]),
    ));
    assert_eq!(list[0]["name"], "latest");
    assert_eq!(list[0]["found"]["host"]["name"], "synthetic");
    assert!(list[2]["error"].is_string());
    // The files have the same second in their names: the newer is the latest.
    let newest = list[0]["path"].as_str().unwrap();
    assert_eq!(json(&fs::read_to_string(newest).unwrap())["seed"], 2);
}

#[test]
fn unusable_results_are_refused_with_the_reason() {
    let bench = Bench::new();
    let none = stderr_of(&bench, &["report"], 2);
    assert!(
        none.contains("no saved result 'latest'") && none.contains("run `vectored measure` first"),
        "{none}"
    );
    let missing = stderr_of(&bench, &["report", "nowhere.json"], 2);
    assert!(missing.contains("cannot read 'nowhere.json'"), "{missing}");
    assert!(!missing.contains("pattern"), "{missing}");
    // As a shell hands it on where nothing matches it.
    for args in [
        ["compare", "old-*.json", "--against=b"],
        ["report", "old-?", "b.json"],
        ["advise", "trace.*", "--quiet"],
    ] {
        let unmatched = stderr_of(&bench, &args, 2);
        assert!(unmatched.contains("no file matches"), "{unmatched}");
    }
    let folder = stderr_of(&bench, &["report", "."], 2);
    assert!(folder.contains("cannot read '.'"), "{folder}");
    for (text, word) in [
        ("[", "not JSON"),
        (
            "{\"schema\": \"vectored-results/1\", \"cells\": [",
            "not JSON",
        ),
        (
            "{\"schema\": \"vectored-results/99\"}",
            "unknown schema \"vectored-results/99\"",
        ),
        ("{\"schema\": \"vectored-results/1\"}", "damaged results"),
        ("{}", "no field \"schema\""),
        ("[]", "no field \"schema\""),
    ] {
        fs::write(bench.work().join("x.json"), text).unwrap();
        let refused = stderr_of(&bench, &["report", "x.json"], 1);
        assert!(refused.contains("cannot use 'x.json'"), "{refused}");
        assert!(refused.contains(word), "{text}: {refused}");
    }
    let badly = stderr_of(&bench, &["report", "latest~x"], 2);
    assert!(badly.contains("latest~1"), "{badly}");
}

#[test]
fn no_output_replaces_a_saved_result() {
    let bench = Bench::new();
    measured(&bench, "1");
    measured(&bench, "2");
    let before: Vec<_> = bench.saved().iter().map(|p| fs::read(p).unwrap()).collect();
    for kept in bench.saved() {
        let kept = kept.to_str().unwrap();
        // Also where it is not read here, and under another name.
        let link = bench.work().join("link");
        std::os::unix::fs::symlink(kept, &link).unwrap();
        for args in [
            &["report", "latest", "--html", kept][..],
            &["report", "latest", "--csv", "link"],
            &["host", "--output", kept],
            &["compare", "latest", "--against", "latest", "--output", kept],
        ] {
            let refused = stderr_of(&bench, args, 2);
            assert!(refused.contains("it is a saved result"), "{refused}");
        }
        fs::remove_file(link).unwrap();
    }
    let after: Vec<_> = bench.saved().iter().map(|p| fs::read(p).unwrap()).collect();
    assert_eq!(after, before);
    // A name that is free there, and a file of one's own elsewhere, are one's own affair.
    let own = bench.state_home().join("vectored/own.html");
    fs::write(bench.work().join("b.html"), "old").unwrap();
    stdout_of(
        bench
            .vectored()
            .args(["report", "--html", own.to_str().unwrap()]),
    );
    stdout_of(bench.vectored().args(["report", "--html", "b.html"]));
    assert!(own.exists());
}

#[test]
fn a_missing_argument_is_reported_with_all_ways_to_give_it() {
    let bench = Bench::new();
    measured(&bench, "1");
    for (args, words) in [
        (&["advise"][..], ["trace.log", "-- COMMAND"]),
        (&["advise", "--"], ["trace.log", "-- COMMAND"]),
        (&["advise", "--max-delay", "-1", "x"], ["'-1'", "10ms"]),
        (&["advise", "--max-delay", "-1ms", "x"], ["'-1ms'", "10ms"]),
        (&["advise", "--top", "-1", "x"], ["--top", "0 or more"]),
        (&["advise", "-1"], ["'-1'", "-- COMMAND"]),
        (&["advise", "sh", "-c", "true"], ["'-c'", "-- sh -c true"]),
        (&["compare", "latest"], ["--against", "--machines"]),
        (
            &["compare", "a", "--against", "b", "--fail-if-slower", "-1%"],
            ["'-1%'", "5% or 0.05"],
        ),
    ] {
        let refused = stderr_of(&bench, args, 2);
        for word in words {
            assert!(refused.contains(word), "{args:?}: {refused}");
        }
        // Behind -- it would be run.
        assert!(!refused.contains("-- -"), "{refused}");
    }
}

#[test]
fn the_help_describes_a_line_of_csv() {
    let bench = Bench::new();
    for (command, line) in [
        ("measure", "One line for each cell and technique, for"),
        ("compare", "One line for each cell and technique, for"),
        ("reproduce", "One line for each row of an experiment, for"),
        ("advise", "One line for each finding, counted or not, for"),
    ] {
        let help = stdout_of(bench.vectored().args([command, "--help"]));
        let of_csv = help.lines().find(|line| line.contains("- csv: "));
        assert!(of_csv.unwrap().contains(line), "{command}: {of_csv:?}");
    }
}

/// Three runs, and three whose `writev` takes longer.
fn two_builds(bench: &Bench, factor: f64) -> Vec<String> {
    for seed in ["1", "2", "3", "4", "5", "6"] {
        measured(bench, seed);
    }
    let list = json(&stdout_of(
        bench.vectored().args(["history", "--format", "json"]),
    ));
    for entry in &list.as_array().unwrap()[..3] {
        let path = entry["path"].as_str().unwrap();
        let mut result = json(&fs::read_to_string(path).unwrap());
        for cell in result["cells"].as_array_mut().unwrap() {
            for technique in cell["techniques"].as_array_mut().unwrap() {
                if technique["name"] == "writev" {
                    for field in ["floor_ratio", "floor_ratio_low", "floor_ratio_high"] {
                        technique[field] = (technique[field].as_f64().unwrap() * factor).into();
                    }
                }
            }
        }
        fs::write(path, result.to_string()).unwrap();
    }
    [
        "compare",
        "latest~3",
        "latest~4",
        "latest~5",
        "--against",
        "latest",
        "latest~1",
        "latest~2",
    ]
    .map(str::to_owned)
    .to_vec()
}

#[test]
fn a_regression_of_ten_percent_ends_with_its_own_code() {
    let bench = Bench::new();
    let command = two_builds(&bench, 1.1);
    let mut words: Vec<&str> = command.iter().map(String::as_str).collect();
    stdout_of(bench.vectored().args(&words));
    words.extend(["--fail-if-slower", "5%"]);
    let told = stderr_of(&bench, &words, 3);
    assert!(
        told.contains("writev takes 1") && told.contains("longer on pipe"),
        "{told}"
    );
    assert!(!told.contains("copy-then-write"), "{told}");
    *words.last_mut().unwrap() = "0.2";
    stdout_of(bench.vectored().args(&words));
}

#[test]
fn runs_of_one_build_are_no_regression() {
    let bench = Bench::new();
    let command = two_builds(&bench, 1.0);
    let mut words: Vec<&str> = command.iter().map(String::as_str).collect();
    words.extend(["--fail-if-slower", "0%"]);
    let table = stdout_of(bench.vectored().args(&words));
    assert!(
        table.starts_with("The environment is the same.\n"),
        "{table}"
    );
    let unwrapped = table.replace("\n  ", " ");
    assert!(unwrapped.contains("0 slower and 0 faster"), "{table}");
}

#[test]
fn machines_are_compared_and_experiments_are_not() {
    let bench = Bench::new();
    measured(&bench, "1");
    let words = [
        "compare",
        "--machines",
        "latest",
        "latest",
        "--html",
        "m.html",
    ];
    let table = stdout_of(bench.vectored().args(words));
    assert!(table.starts_with("Crossovers: "), "{table}");
    let page = fs::read_to_string(bench.work().join("m.html")).unwrap();
    assert!(page.contains(">By machine<"));
    let lonely = stderr_of(&bench, &["compare", "latest"], 2);
    assert!(lonely.contains("--against"), "{lonely}");
}

#[test]
fn a_run_counts_once_on_a_side() {
    let bench = Bench::new();
    measured(&bench, "1");
    measured(&bench, "2");
    let path = bench.saved().remove(0);
    fs::copy(&path, bench.work().join("copy.json")).unwrap();
    let path = path.to_str().unwrap();
    let words = [
        "compare",
        "latest",
        "latest~1",
        "copy.json",
        "--against",
        "latest",
    ];
    let refused = stderr_of(&bench, &words, 2);
    assert!(refused.contains("are the same run"), "{refused}");
    for both in [
        ["compare", "latest", "--against", "latest"],
        ["compare", path, "--against", "copy.json"],
        ["compare", "copy.json", "--against", path],
    ] {
        let refused = stderr_of(&bench, &both, 2);
        assert!(
            refused.contains("cannot be compared with itself"),
            "{refused}"
        );
        assert!(refused.contains("`vectored measure`"), "{refused}");
    }
}

#[test]
fn fail_if_slower_fails_if_nothing_was_compared() {
    let bench = Bench::new();
    measured(&bench, "1");
    let mut other = bench.vectored();
    other.args(["measure", "--synthetic", crate::support::MACHINE, "--quiet"]);
    other.args(["--target", "unix", "--segments", "2"]);
    other.assert().success();
    let words = ["compare", "latest~1", "--against", "latest"];
    let table = stdout_of(bench.vectored().args(words));
    assert!(table.contains("Nothing was compared"), "{table}");
    let checked = [&words[..], &["--fail-if-slower", "5%"]].concat();
    let told = stderr_of(&bench, &checked, 1);
    assert!(told.contains("no cells in common"), "{told}");
}

#[test]
fn no_output_replaces_an_input() {
    let bench = Bench::new();
    measured(&bench, "1");
    // A file of one's own: those that are kept are never written over at all.
    let own = bench.work().join("own.json");
    fs::copy(bench.saved().remove(0), &own).unwrap();
    let before = fs::read(&own).unwrap();
    std::os::unix::fs::symlink(&own, bench.work().join("link.json")).unwrap();
    let own_name = own.to_str().unwrap();
    for words in [
        vec!["report", "own.json", "--html", own_name],
        vec!["report", "link.json", "--csv", own_name],
        vec!["report", "own.json", "--markdown", "link.json"],
        vec![
            "compare",
            "own.json",
            "--against",
            "own.json",
            "--output",
            own_name,
        ],
        vec!["compare", "--machines", "own.json", "--html", "link.json"],
    ] {
        let refused = stderr_of(&bench, &words, 2);
        assert!(refused.contains("would be overwritten"), "{refused}");
    }
    assert_eq!(fs::read(&own).unwrap(), before);
    let words = ["report", "--html", "one", "--markdown", "./one"];
    let twice = stderr_of(&bench, &words, 2);
    assert!(twice.contains("given for two outputs"), "{twice}");
    // The remedy names the option at fault.
    for option in ["--html", "--markdown", "--csv"] {
        let refused = stderr_of(&bench, &["report", "latest", option, "nowhere/x"], 2);
        assert!(refused.ends_with(&format!("with {option}\n")), "{refused}");
    }
    assert!(!bench.work().join("one").exists());
    let both = stderr_of(&bench, &["report", "--csv", "-", "--markdown", "-"], 2);
    assert!(both.contains("only one output"), "{both}");
}

#[test]
fn a_page_of_a_comparison_needs_machines_and_a_name() {
    let bench = Bench::new();
    measured(&bench, "1");
    let words = [
        "compare",
        "latest",
        "--against",
        "latest",
        "--html",
        "x.html",
    ];
    let refused = stderr_of(&bench, &words, 2);
    assert!(refused.contains("requires --machines"), "{refused}");
    let words = ["compare", "--machines", "latest", "--html", "-"];
    let refused = stderr_of(&bench, &words, 2);
    assert!(refused.contains("cannot be standard output"), "{refused}");
    assert!(!bench.work().join("-").exists());
}

#[test]
fn history_describes_results_without_cells_and_files_that_are_not_json() {
    let bench = Bench::new();
    measured(&bench, "1");
    let path = bench.saved().remove(0);
    let mut result = json(&fs::read_to_string(&path).unwrap());
    result["cells"] = serde_json::json!([]);
    fs::write(&path, result.to_string()).unwrap();
    let broken = path.with_file_name("measure-20260101T000000Z-0000.json");
    fs::write(broken, "cells: 3\n").unwrap();
    let history = stdout_of(bench.vectored().arg("history"));
    assert!(history.contains("0.0, no cells in "), "{history}");
    assert!(
        history.contains("cannot be read: it is not JSON\n"),
        "{history}"
    );
}

#[test]
fn history_reports_unknown_schemas_and_does_not_block_on_a_fifo() {
    let bench = Bench::new();
    measured(&bench, "1");
    let state = bench.state_home().join("vectored");
    let later = |rest: &str| state.join(format!("measure-2999010{rest}.json"));
    let newer = fs::read_to_string(bench.saved().remove(0)).unwrap();
    let newer = newer.replace("vectored-results/1", "vectored-results/9");
    fs::write(later("1T000000Z-0000"), newer).unwrap();
    fs::create_dir(later("2T000000Z-0000")).unwrap();
    let fifo = later("3T000000Z-0000");
    let made = std::process::Command::new("mkfifo").arg(fifo).status();
    assert!(made.unwrap().success());
    let list = json(&stdout_of(
        bench.vectored().args(["history", "--format", "json"]),
    ));
    assert_eq!(list.as_array().unwrap().len(), 2, "{list}");
    assert_eq!(list[0]["name"], "latest");
    assert_eq!(list[0]["found"], serde_json::Value::Null);
    let why = list[0]["error"].as_str().unwrap();
    assert!(
        why.contains("unknown schema \"vectored-results/9\""),
        "{why}"
    );
}

#[test]
fn only_results_that_are_old_enough_are_pruned() {
    let bench = Bench::new();
    for seed in ["1", "2"] {
        measured(&bench, seed);
    }
    let state = bench.state_home().join("vectored");
    let text = fs::read_to_string(bench.saved().remove(0)).unwrap();
    // The invented machine's runs are of the year 2000.
    let older = state.join("measure-19990101T000000Z-0000.json");
    let newer = state.join("measure-29990101T000000Z-0000.json");
    for path in [&older, &newer] {
        fs::write(path, &text).unwrap();
    }
    // Files that are no results, or have another name, are kept.
    for name in [
        "measure-baseline.json",
        "measure-19990101T000000Z-0000.html",
        "measure-19990101T000000Z-00000.json",
        "advise-19990101T000000Z-zzzz.json",
        "notes.json",
        ".hidden",
    ] {
        fs::write(state.join(name), &text).unwrap();
    }
    for (name, content) in [
        ("measure-19980101T000000Z-0000.json", "{}"),
        ("reproduce-19980101T000000Z-0000.json", "{\"schema\""),
        ("advise-19980101T000000Z-0000.json", ""),
    ] {
        fs::write(state.join(name), content).unwrap();
    }
    fs::create_dir(state.join("measure-19970101T000000Z-0000.json")).unwrap();
    let outside = bench.work().join("outside.json");
    fs::write(&outside, &text).unwrap();
    let link = state.join("measure-19960101T000000Z-0000.json");
    std::os::unix::fs::symlink(&outside, link).unwrap();
    let all = bench.saved().len();

    let prune = |args: &[&str]| {
        let mut command = bench.vectored();
        stdout_of(command.args(["history", "--prune"]).args(args))
    };
    let listed = |list: &str, path: &std::path::Path| {
        list.contains(path.file_name().unwrap().to_str().unwrap())
    };
    // The newest three are the one to come and the two of the invented machine.
    let dry = prune(&["30d", "--keep", "3", "--dry-run"]);
    assert!(
        dry.starts_with("would remove 1 result older than 30 days from "),
        "{dry}"
    );
    assert!(listed(&dry, &older) && !listed(&dry, &newer), "{dry}");
    assert_eq!(bench.saved().len(), all);
    let pruned = prune(&["30d", "--keep", "3"]);
    assert_eq!(pruned, dry.replace("would remove", "removing"));
    assert!(!older.exists());
    assert_eq!(bench.saved().len(), all - 1);
    let none = prune(&["10000d", "--keep", "0"]);
    assert!(
        none.starts_with("nothing to remove: no result in "),
        "{none}"
    );
    let rest = json(&prune(&["0s", "--format", "json"]));
    assert_eq!(rest.as_array().unwrap().len(), 2, "{rest}");
    assert_eq!(bench.saved().len(), all - 3);
    assert!(newer.exists() && outside.exists());
    let refused = stderr_of(&bench, &["history", "--keep", "3"], 2);
    assert!(refused.contains("--prune"), "{refused}");
    for age in ["0", "30", "-1d", ""] {
        let refused = stderr_of(&bench, &["history", "--prune", age], 2);
        assert!(refused.contains("30d or 12h"), "{refused}");
    }
}
