//! The JSON that other programs rely on, and that the other formats show.

use serde_json::Value;

use crate::support::{Bench, json, stdout_of};

fn keys(value: &Value, expected: &[&str]) {
    for key in expected {
        assert!(value.get(key).is_some(), "{key} is missing in {value}");
    }
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap()
}

#[test]
fn the_json_has_what_was_promised() {
    let bench = Bench::new();
    let text = stdout_of(bench.synthetic().args(["--format", "json"]));
    let results = json(&text);
    assert_eq!(results["schema"], "vectored-results/1");
    assert_eq!(results["complete"], true);
    keys(
        &results,
        &[
            "host",
            "ruler",
            "cells",
            "refined_cells",
            "seed",
            "rivals",
            "crossovers",
            "cost_models",
            "advice",
        ],
    );
    assert_eq!(results["budget_s"], 18.0);
    assert_eq!(list(&results["cells"]).len(), 51);
    assert_eq!(list(&results["left_out"]).len(), 3);
    for cell in list(&results["cells"]) {
        keys(
            cell,
            &[
                "target",
                "operation",
                "segment_count",
                "segment_bytes",
                "segment_sizes",
                "swept_mix",
                "layout",
                "cache",
                "page_cache",
                "iovec_setup",
                "sync",
                "file_system",
                "span_bytes",
                "queue_depth",
                "drain",
                "floor_ns",
                "floor_samples_ns",
                "aa_samples_ns",
                "verdict",
                "winner",
                "noise_floor",
                "aa_separated",
                "techniques",
            ],
        );
        let rounds = cell["rounds"].as_u64().unwrap() as usize;
        assert_eq!(list(&cell["floor_samples_ns"]).len(), rounds);
        assert_eq!(list(&cell["aa_samples_ns"]).len(), rounds);
        let verdict = cell["verdict"].as_str().unwrap();
        assert!(["faster", "tie", "open"].contains(&verdict));
        assert_eq!(verdict == "faster", cell["winner"].is_string());
        for technique in list(&cell["techniques"]) {
            keys(
                technique,
                &[
                    "name",
                    "contender",
                    "calls_per_sample",
                    "median_ns",
                    "min_ns",
                    "gather_tax",
                    "ratio_to_leader",
                    "ratio_low",
                    "ratio_high",
                    "samples_ns",
                ],
            );
            assert_eq!(list(&technique["samples_ns"]).len(), rounds);
            let expected = number(&technique["median_ns"]) / number(&cell["floor_ns"]) - 1.0;
            let tax = number(&technique["gather_tax"]);
            assert!((tax - expected).abs() < 1e-9, "{tax} is not {expected}");
            assert!(number(&technique["min_ns"]) <= number(&technique["median_ns"]));
        }
    }
}

#[test]
fn printed_json_equals_saved_json() {
    let bench = Bench::new();
    let text = stdout_of(bench.synthetic().args(["--format", "json"]));
    assert_eq!(std::fs::read_to_string(&bench.saved()[0]).unwrap(), text);
}

/// A figure of the table with its unit: nanoseconds, or a share.
fn figure(text: &str, unit: &str) -> f64 {
    let digits = text.replace(',', "");
    let value: f64 = digits
        .parse()
        .unwrap_or_else(|_| panic!("{text:?} is no number"));
    match unit {
        "ns" => value,
        "µs" => value * 1e3,
        "ms" => value * 1e6,
        "%" => value / 100.0,
        "×" => value - 1.0,
        _ => panic!("{unit:?} is no unit"),
    }
}

#[test]
fn every_figure_in_the_table_is_in_the_json() {
    let bench = Bench::new();
    let table = stdout_of(&mut bench.synthetic());
    let results = bench.only_result();
    let is_row = |line: &&str| line.contains('×') && line.contains(" ns ") | line.contains(" µs ");
    let rows: Vec<&str> = table.lines().filter(is_row).collect();
    // Those of the grid, and those that were measured between them, where their size belongs.
    let mut cells: Vec<_> = list(&results["cells"]).iter().collect();
    assert!(!list(&results["refined_cells"]).is_empty());
    cells.extend(list(&results["refined_cells"]));
    let targets: Vec<_> = cells.iter().map(|cell| cell["target"].clone()).collect();
    let target = |target| targets.iter().position(|one| one == target).unwrap();
    cells.sort_by_key(|cell| {
        let bytes = cell["segment_bytes"].as_u64();
        (
            target(&cell["target"]),
            cell["segment_count"].as_u64(),
            bytes,
        )
    });
    assert_eq!(rows.len(), cells.len());
    for (row, cell) in std::iter::zip(rows, cells) {
        // 2 × 16 B   201 ns   +99 %   +3.9 %*   20×   +3.9 %  writev by 15 % [15, 16]
        let spaced = row.replace(['*', '='], " ");
        let mut words = spaced.split_whitespace();
        let mut next = || words.next().unwrap();
        assert_eq!(next(), cell["segment_count"].to_string());
        assert_eq!(next(), "×");
        let (size, unit) = (next(), next());
        let bytes = size.parse::<u64>().unwrap() * if unit == "KiB" { 1024 } else { 1 };
        assert_eq!(cell["segment_bytes"], bytes);
        let word = match next() {
            "+" => next(),
            word => word,
        };
        let floor = figure(word, next());
        let near = |shown: f64, exact: f64, digit: f64| {
            assert!(
                (shown - exact).abs() <= 0.5001 * digit,
                "{shown} of {exact} in {row}"
            );
        };
        near(floor, number(&cell["floor_ns"]), floor / 100.0);
        for technique in list(&cell["techniques"]) {
            let word = next();
            let tax = match word.strip_suffix('×') {
                Some(times) => figure(times, "×"),
                None => figure(word, next()),
            };
            let digit = if word.contains('.') { 0.001 } else { 0.01 };
            let digit = if word.ends_with('×') { 1.0 } else { digit };
            // By the paired ratios, as the verdict: not by the medians, as `gather_tax`.
            near(tax, number(&technique["floor_ratio"]) - 1.0, digit);
        }
        let verdict: Vec<&str> = words.collect();
        if cell["verdict"] == "tie" {
            assert_eq!(verdict, ["tie", "(±2", "%)"]);
            continue;
        }
        assert_eq!(cell["verdict"], "faster", "{row}");
        assert_eq!(verdict[0], cell["winner"]);
        let rivals = list(&cell["techniques"]).iter().filter(|technique| {
            technique["name"] != "adaptive" && technique["name"] != cell["leader"]
        });
        let nearest = rivals
            .min_by(|a, b| number(&a["ratio_to_leader"]).total_cmp(&number(&b["ratio_to_leader"])))
            .unwrap();
        let digit = if verdict[2].contains('.') {
            0.001
        } else {
            0.01
        };
        let bound = |word: &str| figure(word.trim_matches(['[', ']', ',']), "%") + 1.0;
        near(
            bound(verdict[2]),
            number(&nearest["ratio_to_leader"]),
            digit,
        );
        near(bound(verdict[4]), number(&nearest["ratio_low"]), digit);
        near(bound(verdict[5]), number(&nearest["ratio_high"]), digit);
    }
}

#[test]
fn the_csv_agrees_with_the_json() {
    let bench = Bench::new();
    let text = stdout_of(bench.synthetic().args(["--format", "csv"]));
    let results = bench.only_result();
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let cells = list(&results["cells"]);
    let pairs = cells
        .iter()
        .flat_map(|cell| list(&cell["techniques"]).iter().map(move |t| (cell, t)));
    let mut count = 0;
    for (line, (cell, technique)) in lines.by_ref().zip(pairs) {
        count += 1;
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields.len(), head.len());
        for (name, field) in std::iter::zip(&head, fields) {
            let value = match *name {
                "technique" => &technique["name"],
                "rival" | "refined" => continue,
                name => cell.get(name).unwrap_or(&technique[name]),
            };
            let expected = match value {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(field, expected, "{name}");
        }
    }
    assert_eq!(count, 51 * 4);
}
