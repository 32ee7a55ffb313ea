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

    fn origin(&self) -> [&str; 3] {
        [&self.host.name, &self.host.kernel, &self.started_at]
    }

    fn rows(&self) -> Value {
        let requested = self
            .cells
            .iter()
            .map(|cell| with_field("refined", false, cell));
        let refined = self.refined_cells.iter();
        let refined = refined.map(|cell| with_field("refined", true, cell));
        let cells: Vec<Value> = requested.chain(refined).collect();
        json!({ "cells": cells })
    }
}

impl SavedResult for Experiments {
    const SCHEMA: &'static str = EXPERIMENTS_SCHEMA;
    const ROWS: &'static [&'static str] = &["experiments", "rows"];

    fn check(&self) -> Result<(), String> {
        validate::experiments(self)
    }

    fn origin(&self) -> [&str; 3] {
        [&self.host.name, &self.host.kernel, &self.started_at]
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
