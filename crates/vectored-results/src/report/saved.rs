//! The saved forms of results and of experiments: their rows, and what is checked when they are read.

use serde_json::{Value, json};
use vectored_report::{SavedResult, with_field};

use crate::model::{EXPERIMENTS_SCHEMA, Experiments, Results, SCHEMA};
use crate::report::validate;

impl SavedResult for Results {
    const SCHEMA: &'static str = SCHEMA;
    const ROWS: &'static [&'static str] = &["cells", "techniques"];

    fn check(&self) -> Result<(), String> {
        validate::results(self)
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
        validate::experiments(self)
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
