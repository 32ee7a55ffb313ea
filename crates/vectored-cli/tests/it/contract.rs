//! The JSON that other programs rely on, and that the CSV shows.

use serde_json::Value;

use crate::support::{Bench, json, stdout_of};

fn keys(value: &Value, expected: &str) {
    for key in expected.split_whitespace() {
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

const OF_RESULTS: &str = "host timer cells refined_cells seed rivals crossovers cost_models";

const OF_A_CELL: &str = "target operation segment_count segment_bytes segment_sizes swept_mix layout cache page_cache
    iovec_setup sync file_system span_bytes queue_depth drain floor_ns floor_samples_ns aa_samples_ns verdict winner
    noise_floor aa_separated techniques";

const OF_A_TECHNIQUE: &str =
    "name contender calls_per_sample median_ns min_ns gather_tax ratio_to_leader ratio_low
    ratio_high samples_ns";

#[test]
fn the_json_has_what_was_promised_and_is_what_is_saved() {
    let bench = Bench::new();
    let text = stdout_of(&mut bench.synthetic_with("--format json"));
    assert_eq!(std::fs::read_to_string(&bench.saved()[0]).unwrap(), text);
    let results = json(&text);
    assert_eq!(results["schema"], "vectored-results/1");
    assert_eq!(results["complete"], true);
    assert_eq!(results["budget_s"], 18.0);
    assert_eq!(list(&results["cells"]).len(), 51);
    assert_eq!(list(&results["left_out"]).len(), 3);
    assert!(!list(&results["refined_cells"]).is_empty());
    keys(&results, OF_RESULTS);
    for cell in list(&results["cells"]) {
        keys(cell, OF_A_CELL);
        let rounds = cell["rounds"].as_u64().unwrap() as usize;
        assert_eq!(list(&cell["floor_samples_ns"]).len(), rounds);
        assert_eq!(list(&cell["aa_samples_ns"]).len(), rounds);
        let verdict = cell["verdict"].as_str().unwrap();
        assert!(["faster", "tie", "open"].contains(&verdict));
        assert_eq!(verdict == "faster", cell["winner"].is_string());
        for technique in list(&cell["techniques"]) {
            keys(technique, OF_A_TECHNIQUE);
            assert_eq!(list(&technique["samples_ns"]).len(), rounds);
            let expected = number(&technique["median_ns"]) / number(&cell["floor_ns"]) - 1.0;
            let tax = number(&technique["gather_tax"]);
            assert!((tax - expected).abs() < 1e-9, "{tax} is not {expected}");
            assert!(number(&technique["min_ns"]) <= number(&technique["median_ns"]));
        }
    }
}

#[test]
fn the_csv_agrees_with_the_json() {
    let bench = Bench::new();
    let text = stdout_of(&mut bench.synthetic_with("--format csv"));
    let results = bench.only_result();
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let pairs = list(&results["cells"])
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
