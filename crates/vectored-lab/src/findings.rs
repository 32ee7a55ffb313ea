//! What follows from the cells of a run: crossovers, cost models, advice.

use crate::model::{Cell, FittedModel, Results, Target};
use crate::report::advice;
use crate::stats::{crossovers, fitted_models, judge_model};

impl Results {
    /// Fills in [`crossovers`](Results::crossovers),
    /// [`cost_models`](Results::cost_models) and [`advice`](Results::advice)
    /// from the cells. Pure: the same cells give the same findings, so it can
    /// be done again with loaded ones.
    ///
    /// `calibrated` are the models that were there before the run.
    pub fn find(&mut self, calibrated: Vec<FittedModel>) {
        // Where no byte is moved, nothing follows for where some are.
        let moves_bytes = |cell: &&Cell| cell.target != Target::Null;
        let cells = self.cells.iter().chain(&self.refined_cells);
        let cells: Vec<&Cell> = cells.filter(moves_bytes).collect();
        let crossovers = crossovers(&cells);
        let advice = advice(&cells, &crossovers, &self.rivals);
        let mut models = fitted_models(&cells);
        for mut model in calibrated {
            judge_model(&mut model, &cells);
            models.push(model);
        }
        self.crossovers = crossovers;
        self.cost_models = models;
        self.advice = advice;
    }
}
