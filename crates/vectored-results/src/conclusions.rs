//! Conclusions from a run: crossovers and cost models.

use crate::model::{Cell, FittedModel, Results, Target};
use crate::stats::{crossovers, fitted_models, judge_model, judge_ranks};

/// Whether a cost model is fitted to a cell. With `O_DIRECT`, the wait for the device hides all other costs. With ranks, the
/// threads of MPI make each call dearer.
fn is_modelled(cell: &&Cell) -> bool {
    cell.conditions.queue_depth == 1 && cell.conditions.ranks.is_none() && !cell.conditions.direct
}

impl Results {
    /// Fills in crossovers, cost models and the figures of ranks. The same cells give the same conclusions.
    ///
    /// `calibrated` are the models from before the run. A rank has no such models, since its process calls MPI.
    pub fn find(&mut self, calibrated: Vec<FittedModel>) {
        let mut cells: Vec<&Cell> = self.cells.iter().chain(&self.refined_cells).collect();
        judge_ranks(&mut self.ranks, &cells);
        // `/dev/null` moves no bytes, so its cells say nothing about other targets. But a copy to `/dev/null` reads bytes.
        cells.retain(|cell| {
            cell.conditions.target != Target::Null || cell.conditions.from.is_some()
        });
        let crossovers = crossovers(&cells);
        // Only the times of asynchronous techniques depend on the depth, and no model is fitted to asynchronous techniques.
        let modelled: Vec<&Cell> = cells.iter().copied().filter(is_modelled).collect();
        let mut models = fitted_models(&modelled);
        for mut model in calibrated.into_iter().filter(|_| self.ranks.is_empty()) {
            judge_model(&mut model, &cells);
            models.push(model);
        }
        self.crossovers = crossovers;
        self.cost_models = models;
    }
}
