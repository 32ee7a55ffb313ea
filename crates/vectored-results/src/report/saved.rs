//! The saved forms of results and of experiments: their rows, and the checks when a form is read. Files may come from anywhere,
//! and renderings and statistics rely on the checked properties.

use serde_json::{Value, json};
use vectored_report::{SavedResult, with_field};

use crate::model::{Cell, EXPERIMENTS_SCHEMA, Experiments, Results, SCHEMA};

/// Limit on the segments in a list, and on the bytes in a segment. No run reaches this limit.
const MAX_COUNT: usize = 1 << if usize::BITS > 40 { 40 } else { 30 };

impl SavedResult for Results {
    const SCHEMA: &'static str = SCHEMA;
    const ROWS: &'static [&'static str] = &["cells", "techniques"];

    fn check(&self) -> Result<(), String> {
        for cell in self.cells.iter().chain(&self.refined_cells) {
            check(cell).map_err(|why| format!("a cell of {} {why}", cell.conditions.target))?;
        }
        let crossovers = self.crossovers.iter();
        let mut sizes = crossovers.flat_map(|of| [of.low_bytes, of.at_bytes, of.high_bytes]);
        if !sizes.all(is_positive) {
            return Err("a crossover has a size that is not a positive number".to_owned());
        }
        Ok(())
    }

    fn rows(&self) -> Value {
        let all = [(false, &self.cells), (true, &self.refined_cells)].into_iter();
        let cells = all.flat_map(|(is_refined, cells)| {
            let cells = cells.iter();
            cells.map(move |cell| with_field("refined", is_refined, cell))
        });
        let cells: Vec<Value> = cells.collect();
        json!({ "cells": cells })
    }
}

impl SavedResult for Experiments {
    const SCHEMA: &'static str = EXPERIMENTS_SCHEMA;
    const ROWS: &'static [&'static str] = &["experiments", "rows"];

    fn check(&self) -> Result<(), String> {
        for experiment in &self.experiments {
            let rows = experiment.rows.len();
            for ratio in &experiment.ratios {
                if ratio.of >= rows || ratio.over >= rows {
                    return Err(format!(
                        "{} compares rows {} and {} of {rows}",
                        experiment.name, ratio.of, ratio.over
                    ));
                }
            }
        }
        Ok(())
    }

    /// One row for each measured row of an experiment, then one for each published row.
    fn rows(&self) -> Value {
        let mut all = self.experiments.clone();
        for experiment in &mut all {
            experiment.rows.append(&mut experiment.published);
        }
        json!({ "experiments": all })
    }
}

fn check(cell: &Cell) -> Result<(), String> {
    let runs = cell.segment_sizes.iter().flatten().copied();
    for (count, bytes) in runs.chain(cell.segment_bytes.map(|bytes| (cell.segment_count, bytes))) {
        if count == 0 || bytes == 0 || count > MAX_COUNT || bytes > MAX_COUNT {
            return Err(format!("has {count} segments of {bytes} bytes"));
        }
    }
    if let Some(mix) = &cell.swept_mix
        && (cell.swept_bytes().is_none() || cell.segment_bytes.is_some())
    {
        return Err(format!("is not a list of its swept mix {:?}", mix.runs()));
    }
    let again = cell.aa_samples_ns.iter().flatten();
    let floors = cell.floor_samples_ns.iter().chain(again);
    let times = cell.techniques.iter().flat_map(|t| &t.samples_ns).flatten();
    let summaries = cell
        .techniques
        .iter()
        .flat_map(|t| [&t.median_ns, &t.min_ns]);
    let mut all = floors.chain(times).chain(summaries).chain([&cell.floor_ns]);
    if !all.all(|&ns| is_positive(ns)) {
        return Err("contains a time that is not a positive number".to_owned());
    }
    let rounds = cell.rounds as usize;
    let samples = cell.techniques.iter().map(|t| t.samples_ns.len());
    let floors = cell.floor_samples_ns.len().max(cell.aa_samples_ns.len());
    let most = samples.fold(floors, usize::max);
    if most > rounds {
        return Err(format!("has {most} samples in {rounds} rounds"));
    }
    Ok(())
}

fn is_positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}
