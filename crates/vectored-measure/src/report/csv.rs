//! CSV: rows of values from the JSON, without the samples.

use serde::Serialize;
use serde_json::{Value, json};
use vectored_report::csv as rows;

use crate::model::Saved;

/// One line for each cell and technique, each row of an experiment (measured ones have the source `here`) or each finding
/// (counted or not). Columns have the names of the JSON fields; of several results the first ones are `host`, `kernel` and
/// `started_at`. `None` if the results are of different commands, since their columns differ.
pub fn csv(saved: &[&Saved]) -> Option<String> {
    let is_same = |one: &&&Saved| std::mem::discriminant(**one) == std::mem::discriminant(saved[0]);
    if !saved.iter().all(|one| is_same(&one)) {
        return None;
    }
    let path: &[&str] = match saved.first() {
        Some(Saved::Experiments(_)) => &["runs", "experiments", "rows"],
        Some(Saved::Advisory(_)) => &["runs", "findings"],
        Some(Saved::Results(_)) | None => &["runs", "cells", "techniques"],
    };
    let mut runs: Vec<Value> = saved.iter().map(|one| run(one)).collect();
    if let [only] = &mut runs[..] {
        return Some(rows(&only["content"].take(), &path[1..]));
    }
    let named = |(run, saved): (Value, &&Saved)| {
        let host = saved.host();
        let mut content = json!({
            "host": host.name,
            "kernel": host.kernel,
            "started_at": run["started_at"],
        });
        content[path[1]] = run["content"][path[1]].clone();
        content
    };
    let runs: Vec<Value> = std::iter::zip(runs, saved).map(named).collect();
    Some(rows(&json!({ "runs": runs }), path))
}

fn run(saved: &Saved) -> Value {
    let (started_at, content) = match saved {
        Saved::Results(results) => {
            let cell = |(refined, cell)| with("refined", json!(refined), cell);
            let requested = results.cells.iter().map(|cell| (false, cell));
            let refined = results.refined_cells.iter().map(|cell| (true, cell));
            let cells: Vec<Value> = requested.chain(refined).map(cell).collect();
            (&results.started_at, json!({ "cells": cells }))
        }
        Saved::Experiments(found) => {
            let experiment = |one| {
                let mut value = plain(one);
                let mut rows: Vec<Value> = Vec::new();
                for row in value["rows"].as_array().into_iter().flatten() {
                    rows.push(with("source", json!("here"), row));
                }
                rows.extend(value["published"].as_array().into_iter().flatten().cloned());
                value["rows"] = Value::Array(rows);
                value
            };
            let experiments: Vec<Value> = found.experiments.iter().map(experiment).collect();
            (&found.started_at, json!({ "experiments": experiments }))
        }
        Saved::Advisory(found) => {
            let counted = found
                .findings
                .iter()
                .map(|one| with("counted", json!(true), one));
            let uncounted = found
                .uncounted
                .iter()
                .map(|one| with("counted", json!(false), one));
            let findings: Vec<Value> = counted.chain(uncounted).collect();
            (&found.started_at, json!({ "findings": findings }))
        }
    };
    json!({ "started_at": started_at, "content": content })
}

/// The fields of `of` behind another one.
fn with(name: &str, first: Value, of: &impl Serialize) -> Value {
    let mut value = json!({ name: first });
    if let (Value::Object(all), Value::Object(others)) = (&mut value, plain(of)) {
        all.extend(others);
    }
    value
}

fn plain(of: &impl Serialize) -> Value {
    serde_json::to_value(of).expect("plain data")
}
