//! Compares the verdicts of several runs on the same cells: pure.

use std::fmt;

use vectored_measure::model::{Cell, Results, Verdict};

/// The share of its cells that a run has to decide.
const MIN_DECIDED: f64 = 0.70;

/// All runs together.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Cells with different verdicts, each with the verdict of each run.
    differing: Vec<(String, Vec<String>)>,
    /// Of these, the cells for which two runs name different winners.
    contradicted: usize,
    cells: usize,
    /// Share of decided cells, by run.
    decided: Vec<f64>,
}

impl Evaluation {
    /// No contradiction, and enough decided in every run.
    pub fn passes(&self) -> bool {
        let enough = |&share: &f64| share >= MIN_DECIDED;
        self.contradicted == 0 && self.cells > 0 && self.decided.iter().all(enough)
    }
}

/// Compares the cells of all runs; cells with the same target and workload are the same.
pub fn evaluate(runs: &[Results]) -> Evaluation {
    let mut names: Vec<String> = Vec::new();
    for cell in runs.iter().flat_map(|run| &run.cells) {
        let name = name_of(cell);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut evaluation = Evaluation {
        differing: Vec::new(),
        contradicted: 0,
        cells: names.len(),
        decided: runs.iter().map(decided_share).collect(),
    };
    for name in names {
        let find = |run: &'_ Results| -> Option<usize> {
            run.cells.iter().position(|cell| name_of(cell) == name)
        };
        let cells: Vec<Option<&Cell>> = runs
            .iter()
            .map(|run| find(run).map(|index| &run.cells[index]))
            .collect();
        let mut winners = cells.iter().flatten().filter_map(|cell| cell.winner);
        if let Some(first) = winners.next() {
            evaluation.contradicted += usize::from(winners.any(|other| other != first));
        }
        let said: Vec<String> = cells.iter().map(|cell| verdict_of(*cell)).collect();
        if said.iter().any(|word| *word != said[0]) {
            evaluation.differing.push((name, said));
        }
    }
    evaluation
}

/// Share of the cells whose verdict is `faster` or `tie`; 0 without any.
pub fn decided_share(run: &Results) -> f64 {
    let decided = |cell: &&Cell| cell.verdict != Verdict::Open;
    match run.cells.len() {
        0 => 0.0,
        cells => run.cells.iter().filter(decided).count() as f64 / cells as f64,
    }
}

fn verdict_of(cell: Option<&Cell>) -> String {
    match cell {
        None => "not measured".to_owned(),
        Some(cell) => match (cell.verdict, cell.winner) {
            (Verdict::Faster, Some(winner)) => winner.to_string(),
            (Verdict::Faster, None) => "faster, without a winner".to_owned(),
            (Verdict::Tie, _) => "tie".to_owned(),
            (Verdict::Open, _) => "open".to_owned(),
        },
    }
}

fn name_of(cell: &Cell) -> String {
    let sizes = match (cell.segment_bytes, &cell.segment_sizes) {
        (Some(bytes), _) => format!("{} × {bytes} B", cell.segment_count),
        (None, sizes) => format!("{:?}", sizes.as_deref().unwrap_or_default()),
    };
    format!("{} {sizes}", cell.conditions.target)
}

impl fmt::Display for Evaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, said) in &self.differing {
            writeln!(f, "{name}: {}", said.join(", "))?;
        }
        let (cells, differing) = (self.cells, self.differing.len());
        writeln!(f, "{differing} of {cells} cells differ between runs")?;
        writeln!(
            f,
            "{} cells are contradicted (0 allowed)",
            self.contradicted
        )?;
        let least = self.decided.iter().copied().fold(f64::INFINITY, f64::min);
        write!(
            f,
            "smallest share of cells that a run decided: {:.1} % ({:.0} % required): {}",
            100.0 * least.min(1.0),
            100.0 * MIN_DECIDED,
            if self.passes() { "passed" } else { "FAILED" }
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vectored_measure::measure::technique;

    use super::*;

    /// A run of cells with one verdict each: `tie`, `open` or a winner.
    fn run(said: &[&str]) -> Results {
        let cells = said
            .iter()
            .enumerate()
            .map(|(index, word)| {
                let winner = technique(word).map(|technique| technique.name);
                let verdict = if winner.is_some() { "faster" } else { *word };
                json!({
                    "target": "pipe", "operation": "write", "segment_count": 2,
                    "segment_bytes": 16 << index, "segment_sizes": null,
                    "layout": "scattered", "cache": "hot", "page_cache": null,
                    "iovec_setup": "timed", "sync": "none", "direct": false, "file_system": null,
                    "span_bytes": null, "queue_depth": 1, "drain": null, "rounds": 20,
                    "floor_ns": 1.0, "floor_samples_ns": [], "aa_samples_ns": [],
                    "verdict": verdict, "winner": winner, "leader": winner,
                    "noise_floor": null, "aa_separated": false, "proof_calls": 1,
                    "timed_s": 0.0, "spent_s": 0.0,
                    "techniques": [],
                })
            })
            .collect::<Vec<_>>();
        serde_json::from_value(json!({
            "schema": vectored_measure::model::SCHEMA, "complete": true, "vectored_version": "0",
            "started_at": "", "elapsed_s": 1.0, "budget_s": 1.0, "seed": 1, "rivals": [],
            "host": vectored_machine::model::Host::default(),
            "ruler": vectored_machine::model::Ruler::default(),
            "cells": cells, "refined_cells": [], "crossovers": [], "cost_models": [],
            "ranks": [], "left_out": [],
        }))
        .unwrap()
    }

    #[test]
    fn equal_runs_pass_without_a_difference() {
        let evaluation = evaluate(&[run(&["writev", "tie"]), run(&["writev", "tie"])]);
        assert!(evaluation.passes());
        assert_eq!(evaluation.differing, []);
    }

    #[test]
    fn two_winners_of_a_cell_are_a_contradiction() {
        let one = run(&["writev", "tie"]);
        let other = run(&["copy-then-write", "tie"]);
        let evaluation = evaluate(&[one.clone(), one, other]);
        assert_eq!(evaluation.contradicted, 1);
        assert!(!evaluation.passes());
        let said = ["writev", "writev", "copy-then-write"].map(str::to_owned);
        let expected = ("pipe 2 × 16 B".to_owned(), said.to_vec());
        assert_eq!(evaluation.differing, [expected]);
    }

    #[test]
    fn a_winner_and_a_tie_differ_but_do_not_contradict() {
        let evaluation = evaluate(&[run(&["writev"]), run(&["tie"])]);
        assert_eq!(evaluation.contradicted, 0);
        assert_eq!(evaluation.differing.len(), 1);
        assert!(evaluation.passes());
    }

    #[test]
    fn a_run_that_decides_little_fails() {
        let decisive = run(&["writev", "tie", "tie", "tie"]);
        let hesitant = run(&["writev", "tie", "open", "open"]);
        assert_eq!(decided_share(&hesitant), 0.5);
        assert!(evaluate(&[decisive.clone(), decisive.clone()]).passes());
        assert!(!evaluate(&[decisive, hesitant]).passes());
    }

    #[test]
    fn a_cell_that_a_run_lacks_is_named_and_no_cells_fail() {
        let evaluation = evaluate(&[run(&["tie", "tie"]), run(&["tie"])]);
        assert_eq!(evaluation.differing[0].1, ["tie", "not measured"]);
        assert!(!evaluate(&[run(&[])]).passes());
        assert!(!evaluate(&[]).passes());
    }
}
