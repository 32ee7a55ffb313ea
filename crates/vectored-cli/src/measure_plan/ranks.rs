//! The cells of several ranks: `--ranks`.

use vectored_lab::model::Target;

use super::MeasurePlan;
use crate::args::MeasureArgs;
use crate::failure::Failure;
use crate::size_lists::Counts;

impl MeasurePlan {
    /// The same cells for each number of ranks of `--ranks`, by default for all that were started.
    pub fn on_ranks(mut self, args: &MeasureArgs, started: usize) -> Result<Self, Failure> {
        let all = [started];
        let counts = match &args.ranks {
            Some(Counts(counts)) => &counts[..],
            None => &all,
        };
        if let Some(count) = counts.iter().find(|&&count| count > started) {
            return Err(Failure::usage(format!(
                "--ranks {count} needs as many ranks, and {started} were started: start {count}, or measure fewer"
            )));
        }
        let targets = self.experiment.cells.iter().map(|cell| cell.target);
        let conflict = if args.writers.is_some() {
            Some("--writers: each rank is one writer; omit --writers".to_owned())
        } else {
            let shared = |target: &Target| matches!(target, Target::Fifo | Target::Remote);
            targets.clone().find(shared).map(|target| {
                format!("--target {target}, which has one writer: name another target")
            })
        };
        if let Some(conflict) = conflict {
            return Err(Failure::usage(format!(
                "several ranks cannot be used with {conflict}"
            )));
        }
        let cells = std::mem::take(&mut self.experiment.cells).into_iter();
        self.experiment.cells = cells
            .flat_map(|cell| {
                counts.iter().map(move |&count| {
                    let mut of_ranks = cell.clone();
                    of_ranks.ranks = Some(count as u32);
                    of_ranks
                })
            })
            .collect();
        Ok(self)
    }
}

/// Refuses options that need several ranks.
pub fn check_alone(args: &MeasureArgs) -> Result<(), Failure> {
    match &args.ranks {
        None => Ok(()),
        Some(_) => Err(Failure::usage(
            "--ranks needs several ranks: start vectored with mpirun or srun, for example mpirun -n 4 vectored measure",
        )),
    }
}
