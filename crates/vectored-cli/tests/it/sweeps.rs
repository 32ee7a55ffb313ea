//! `measure` with a mix of which one size is varied, and with `--join`.

use serde_json::{Value, json};

use crate::support::{Bench, entries, refused, stdout_of};

const HEADER_AND_BODY: &str = "1x150,1x16..64KiB";

#[test]
fn the_table_of_a_swept_mix() {
    let bench = Bench::new();
    let mut command = bench.synthetic();
    command.args(["--mix", HEADER_AND_BODY, "--mix", "9x16,1x4KiB"]);
    command.args(["--target", "pipe"]);
    insta::assert_snapshot!(stdout_of(&mut command));
    let results = bench.only_result();
    let cells = results["cells"].as_array().unwrap();
    let mix = json!([[1, 150], [1, null]]);
    for (cell, bytes) in std::iter::zip(cells, [16, 64, 256, 1024, 4096, 16384, 65536]) {
        assert_eq!(cell["segment_count"], 2);
        assert_eq!(cell["segment_bytes"], Value::Null);
        assert_eq!(cell["segment_sizes"], json!([[1, 150], [1, bytes]]));
        assert_eq!(cell["swept_mix"], mix);
    }
    // A fixed mix is in no sweep.
    assert_eq!(cells.len(), 8);
    assert_eq!(cells[7]["swept_mix"], Value::Null);
    // Sizes in between are of the same mix, and so are the crossover and the advice.
    for list in ["refined_cells", "crossovers", "advice"] {
        let entries = results[list].as_array().unwrap();
        assert!(!entries.is_empty(), "{list}");
        assert!(
            entries.iter().all(|entry| entry["swept_mix"] == mix),
            "{list}"
        );
    }
}

#[test]
fn the_table_of_joined_messages() {
    let bench = Bench::new();
    let mut command = bench.synthetic();
    command.args(["--join", "2,16", "--target", "tcp"]);
    insta::assert_snapshot!(stdout_of(&mut command));
    let results = bench.only_result();
    assert_eq!(results["rivals"], json!(["write-each", "copy-then-write"]));
    let names = |cell: &Value| -> Vec<String> {
        let techniques = cell["techniques"].as_array().unwrap().iter();
        let names = techniques.map(|technique| technique["name"].as_str().unwrap());
        names.map(str::to_owned).collect()
    };
    let expected = ["write-each", "copy-then-write", "writev", "adaptive"];
    let cells = results["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 12);
    assert!(cells.iter().all(|cell| names(cell) == expected));
    for crossover in results["crossovers"].as_array().unwrap() {
        assert_eq!(crossover["below"], "copy-then-write");
        assert_eq!(crossover["above"], "write-each");
    }
}

#[test]
fn joining_is_the_grid_of_segments_with_two_rivals() {
    let advice = |args: &[&str]| {
        let bench = Bench::new();
        let mut command = bench.synthetic();
        command
            .args(["--target", "unix", "--format", "json"])
            .args(args);
        let results: Value = serde_json::from_str(&stdout_of(&mut command)).unwrap();
        let lists = results["cells"].as_array().unwrap().iter();
        let lists: Vec<Value> = lists
            .map(|cell| json!([cell["segment_count"], cell["segment_bytes"]]))
            .collect();
        let text = results["advice"][0]["text"].as_str().unwrap().to_owned();
        (lists, text)
    };
    let (lists, text) = advice(&["--join", "2..20", "--sizes", "64,32KiB"]);
    let rivals = "write-each,copy-then-write";
    let sizes = ["--sizes", "64,32KiB"];
    let as_grid = [&["--segments", "2..20", "--technique", rivals], &sizes[..]].concat();
    let (same_lists, same_words) = advice(&as_grid);
    assert_eq!(lists, same_lists);
    let joining = "Joining 2 messages into one call is faster than 2 calls up to ";
    assert!(text.starts_with(joining), "{text}");
    assert!(same_words.starts_with(joining), "{same_words}");
}

#[test]
fn options_that_make_no_sense_with_join_are_usage_errors() {
    let bench = Bench::new();
    let check = |args: &[&str], words: &[&str]| {
        refused(&bench, &[&["--join", "2..8"], args].concat(), 2, words);
    };
    check(
        &["--segments", "2"],
        &["--join", "--segments", "to --join alone"],
    );
    check(&["--mix", "2x16"], &["--join", "--mix", "use --sizes"]);
    check(
        &["--technique", "writev"],
        &["--join", "--technique", "omit"],
    );
    check(
        &["--iovec-setup", "once"],
        &["--join", "--iovec-setup", "omit"],
    );
    check(
        &["--operation", "read"],
        &["--join", "--operation read", "omit"],
    );
    let check = |args: &[&str], words: &[&str]| refused(&bench, args, 2, words);
    check(&["--join", "1,2"], &["--join 1", "for example 2..64"]);
    check(&["--join", "0"], &["--join", "'0' is zero"]);
    check(&["--join", "2000000"], &["2,000,000 segments", "--join"]);
    let sizes = ["--target", "pipe", "--join", "64", "--sizes", "2MiB"];
    check(&sizes, &["64 × 2 MiB on pipe", "--join or --sizes"]);
    check(
        &["--join", "1000000"],
        &["nothing to measure", "both --join and --sizes"],
    );
}

#[test]
fn a_sweep_past_the_limits_is_a_usage_error() {
    let bench = Bench::new();
    let check = |args: &[&str], words: &[&str]| refused(&bench, args, 2, words);
    let mix = ["--target", "pipe", "--mix", "2x16..64MiB,1x8"];
    check(&mix, &["2 × 64 MiB + 1 × 8 B on pipe", "64 MiB", "--mix"]);
    let two = "1x16..64,1x16..64";
    check(
        &["--mix", two],
        &["'1x16..64' is a second range", "1x150,1x16..64KiB"],
    );
    check(&["--mix", "2..4x16"], &["'2..4x16' has a range of counts"]);
    check(
        &["--mix", "1x64..16"],
        &["'64..16' is decreasing", "for example 9x16,1x4KiB"],
    );
}

#[test]
fn real_runs_sweep_a_mix_and_join_messages_from_cold_memory() {
    let measured = |args: &[&str]| {
        let bench = Bench::new();
        let mut command = bench.vectored();
        command
            .args(["measure", "--target", "unix", "--budget", "700ms"])
            .args(args);
        command.assert().success();
        assert!(entries(&bench.work()).is_empty());
        bench.only_result()
    };
    // A slow machine has no time for each cell, but for one.
    let swept = measured(&["--mix", "1x150,1x64..1KiB,2x16"]);
    let [cells, left_out] = ["cells", "left_out"].map(|list| swept[list].as_array().unwrap());
    assert_eq!(cells.len() + left_out.len(), 3);
    for cell in cells {
        assert_eq!(cell["swept_mix"], json!([[1, 150], [1, null], [2, 16]]));
        assert!(cell["proof_calls"].as_u64().unwrap() > 0);
    }
    let joined = measured(&["--join", "4", "--sizes", "4KiB", "--cache", "cold"]);
    let cell = &joined["cells"][0];
    assert_eq!(cell["cache"], "cold");
    assert!(cell["proof_calls"].as_u64().unwrap() > 0);
}

#[test]
fn the_page_shows_a_swept_mix_as_a_row_and_a_chart_of_its_own() {
    let bench = Bench::new();
    stdout_of(
        bench
            .synthetic()
            .args(["--mix", HEADER_AND_BODY, "--target", "pipe"]),
    );
    let mut command = bench.vectored();
    stdout_of(command.args(["report", "latest", "--html", "page.html"]));
    let page = std::fs::read_to_string(bench.work().join("page.html")).unwrap();
    assert!(page.contains("<th scope=\"row\">1 × 150 B + 1 × SIZE</th>"));
    assert!(page.contains("<figcaption>1 × 150 B + 1 × SIZE: time ÷ floor, by SIZE</figcaption>"));
    assert!(page.contains("title=\"1 × 150 B + 1 × 4 KiB: writev by"));
}
