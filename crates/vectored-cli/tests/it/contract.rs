//! The JSON that other programs rely on, and that the CSV shows.

use serde_json::Value;

use crate::support::{Bench, json, stdout_of};

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap()
}

#[test]
fn the_json_is_what_is_saved_and_its_figures_agree() {
    let bench = Bench::new();
    let text = stdout_of(&mut bench.synthetic_with("--format json"));
    assert_eq!(std::fs::read_to_string(&bench.saved()[0]).unwrap(), text);
    let results = json(&text);
    assert_eq!(results["schema"], "vectored-results/1");
    assert_eq!(
        (
            list(&results["cells"]).len(),
            list(&results["left_out"]).len()
        ),
        (51, 3)
    );
    for cell in list(&results["cells"]) {
        let rounds = cell["rounds"].as_u64().unwrap() as usize;
        for samples in ["floor_samples_ns", "aa_samples_ns"] {
            assert_eq!(list(&cell[samples]).len(), rounds);
        }
        assert_eq!(cell["verdict"] == "faster", cell["winner"].is_string());
        for technique in list(&cell["techniques"]) {
            assert_eq!(list(&technique["samples_ns"]).len(), rounds);
            let [median, tax] =
                ["median_ns", "gather_tax"].map(|name| technique[name].as_f64().unwrap());
            let expected = median / cell["floor_ns"].as_f64().unwrap() - 1.0;
            assert!((tax - expected).abs() < 1e-9, "{tax} is not {expected}");
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
    let cells = list(&results["cells"]).iter();
    let rows = cells.flat_map(|cell| list(&cell["techniques"]).iter().map(move |one| (cell, one)));
    assert_eq!(rows.clone().count(), 51 * 4);
    for (line, (cell, technique)) in lines.zip(rows) {
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
}
