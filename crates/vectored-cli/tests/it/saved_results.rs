//! Tests of commands that read saved results: `report`, `history` and `compare`.

use std::fs;

use crate::support::{Bench, MACHINE, json, make_fifo, stderr_of, stdout_of};

fn measured(bench: &Bench, seed: u32) {
    let words =
        format!("measure --synthetic {MACHINE} --seed {seed} --target pipe --segments 2,16 -q");
    stdout_of(&mut bench.command(&words));
}

fn stdout(bench: &Bench, words: &str) -> String {
    stdout_of(&mut bench.command(words))
}

fn stderr(bench: &Bench, words: &str, code: i32) -> String {
    stderr_of(&mut bench.command(words), code)
}

#[test]
fn a_report_is_what_the_run_printed_and_the_json_is_what_is_saved() {
    let bench = Bench::new();
    let text = stdout_of(&mut bench.synthetic_with("--format json"));
    let saved = bench.saved().remove(0);
    assert_eq!(fs::read_to_string(&saved).unwrap(), text);
    fs::remove_file(saved).unwrap();
    let printed = stdout_of(&mut bench.synthetic_with("--details"));
    let path = bench.saved().remove(0);
    for name in ["", " latest", &format!(" {}", path.display())] {
        assert_eq!(stdout(&bench, &format!("report{name}")), printed);
    }
}

#[test]
fn exports_go_to_the_named_files() {
    let bench = Bench::new();
    measured(&bench, 1);
    let words = "report --html a.html --markdown a.md --csv -";
    let printed = stdout(&bench, words);
    assert!(printed.starts_with("refined,target,path,"), "{printed}");
    let begin = |name: &str| fs::read_to_string(bench.work().join(name)).unwrap();
    assert!(begin("a.html").starts_with("<!DOCTYPE html>"));
    assert!(begin("a.md").contains("| segments | "));
    let two = stdout(&bench, "report latest latest --csv -");
    assert!(
        two.starts_with("host,kernel,started_at,refined,target,"),
        "{two}"
    );
    assert_eq!(two.lines().count(), 2 * printed.lines().count() - 1);
}

#[test]
fn history_lists_saved_results_with_their_names() {
    let bench = Bench::new();
    let nothing = stdout(&bench, "history");
    assert!(nothing.starts_with("no saved results in "), "{nothing}");
    measured(&bench, 1);
    let path = bench.saved().remove(0);
    let mut without_cells = json(&fs::read_to_string(&path).unwrap());
    without_cells["cells"] = serde_json::json!([]);
    fs::write(&path, without_cells.to_string()).unwrap();
    measured(&bench, 2);
    let other = bench.saved().into_iter().find(|one| *one != path);
    let newer = fs::read_to_string(other.unwrap()).unwrap();
    let newer = newer.replace("vectored-results/1", "vectored-results/9");
    let state = bench.state_home().join("vectored");
    let of = |day: &str| state.join(format!("measure-{day}T000000Z-0000.json"));
    fs::write(of("29990101"), newer).unwrap();
    // Only a regular file counts as a result. open(2) of a FIFO would block.
    fs::create_dir(of("29990102")).unwrap();
    make_fifo(&of("29990103"));
    // An old or unreadable result is still listed.
    fs::write(of("19990101"), "cells: 3\n").unwrap();

    let list = stdout(&bench, "history");
    let rows: Vec<&str> = list.split(".json\n").take(4).collect();
    for (row, (name, words)) in std::iter::zip(
        rows,
        [
            ("measure~3: ", "cannot be read: not JSON"),
            ("measure~2: ", "0.0, no cells in "),
            ("measure~1: ", "12 cells on pipe"),
            ("measure: ", "unknown schema \"vectored-results/9\""),
        ],
    ) {
        assert!(row.contains(name) && row.contains(words), "{words}: {list}");
    }
    let list = json(&stdout(&bench, "history --format json"));
    assert_eq!(list.as_array().unwrap().len(), 4, "{list}");
    assert_eq!(list[0]["name"], "measure");
    assert!(list[0]["error"].to_string().contains("unknown schema"));
    assert_eq!(list[1]["found"]["host"]["name"], "synthetic");
    // Both names contain the same second. The modification time decides which file is newer.
    let newest = list[1]["path"].as_str().unwrap();
    assert_eq!(json(&fs::read_to_string(newest).unwrap())["seed"], 2);
}

#[test]
fn no_output_replaces_a_saved_result_or_an_input() {
    let bench = Bench::new();
    measured(&bench, 1);
    let kept = bench.saved().remove(0);
    let link = |from: &std::path::Path, name: &str| {
        std::os::unix::fs::symlink(from, bench.work().join(name)).unwrap();
    };
    link(&kept, "link");
    fs::copy(&kept, bench.work().join("own.json")).unwrap();
    link("own.json".as_ref(), "link.json");
    let before = fs::read(&kept).unwrap();
    let (saved, input) = ("it is a saved result", "would be overwritten");
    for (words, told) in [
        // The output is refused even if the command does not read the file, and even through a link.
        ("report own.json --csv link", saved),
        ("host --output KEPT", saved),
        ("report link.json --csv own.json", input),
        ("compare --machines own.json --html link.json", input),
        (
            "report own.json --html one --csv ./one",
            "given for two outputs",
        ),
        (
            "report own.json --csv - --markdown -",
            "given for two outputs",
        ),
    ] {
        let refused = stderr(&bench, &words.replace("KEPT", kept.to_str().unwrap()), 2);
        assert!(refused.contains(told), "{words}: {refused}");
    }
    assert_eq!(fs::read(&kept).unwrap(), before);
    assert_eq!(fs::read(bench.work().join("own.json")).unwrap(), before);
    // A new name in the directory of results is accepted, and a user's file elsewhere is accepted.
    let own = bench.state_home().join("vectored/own.html");
    fs::write(bench.work().join("b.html"), "old").unwrap();
    stdout(&bench, &format!("report --html {}", own.display()));
    stdout(&bench, "report --html b.html");
    assert!(own.exists());
}

#[test]
fn a_regression_of_ten_percent_ends_with_its_own_code() {
    let bench = Bench::new();
    (1..=6).for_each(|seed| measured(&bench, seed));
    let list = json(&stdout(&bench, "history --format json"));
    for entry in &list.as_array().unwrap()[..3] {
        let path = entry["path"].as_str().unwrap();
        let mut result = json(&fs::read_to_string(path).unwrap());
        for cell in result["cells"].as_array_mut().unwrap() {
            let techniques = cell["techniques"].as_array_mut().unwrap().iter_mut();
            for technique in techniques.filter(|one| one["name"] == "writev") {
                for field in ["floor_ratio", "floor_ratio_low", "floor_ratio_high"] {
                    technique[field] = (technique[field].as_f64().unwrap() * 1.1).into();
                }
            }
        }
        fs::write(path, result.to_string()).unwrap();
    }
    let words = "compare latest~3 latest~4 latest~5 --against latest latest~1 latest~2";
    let table = stdout(&bench, &format!("{words} --html changes.html"));
    let told = "\n\nThe environment is the same.\n";
    assert!(table.contains(told), "{table}");
    let page = fs::read_to_string(bench.work().join("changes.html")).unwrap();
    assert!(page.contains("Faster or slower? 3 new runs against 3 base runs"));
    let told = stderr(&bench, &format!("{words} --fail-if-slower 5%"), 3);
    assert!(
        told.contains("writev takes 1") && told.contains("longer on pipe"),
        "{told}"
    );
    assert!(!told.contains("copy-then-write"), "{told}");
    stdout(&bench, &format!("{words} --fail-if-slower 0.2"));
}

#[test]
fn machines_are_compared_on_a_page() {
    let bench = Bench::new();
    measured(&bench, 1);
    let table = stdout(&bench, "compare --machines latest latest --html m.html");
    assert!(table.contains("\nCrossovers: "), "{table}");
    let page = fs::read_to_string(bench.work().join("m.html")).unwrap();
    assert!(page.contains("2 runs beside each other</h2>"));
}

#[test]
fn a_run_counts_once_on_a_side() {
    let bench = Bench::new();
    measured(&bench, 1);
    fs::copy(bench.saved().remove(0), bench.work().join("copy.json")).unwrap();
    measured(&bench, 2);
    for words in [
        "compare latest~1 latest copy.json --against latest",
        "compare latest~1 --against copy.json",
    ] {
        let refused = stderr(&bench, words, 2);
        assert!(refused.contains("are the same run"), "{refused}");
    }
}

#[test]
fn fail_if_slower_is_undecided_if_nothing_was_compared() {
    let bench = Bench::new();
    measured(&bench, 1);
    stdout_of(&mut bench.synthetic_with("--quiet --target unix --segments 2"));
    let words = "compare latest~1 --against latest";
    let table = stdout(&bench, words);
    assert!(table.contains("Nothing was compared"), "{table}");
    let told = stderr(&bench, &format!("{words} --fail-if-slower 5%"), 4);
    assert!(told.contains("no cells in common"), "{told}");
}
