//! The cells of several ranks: `--ranks`.

use vectored_lab::model::{CellSpec, Target};

use crate::args::MeasureArgs;
use crate::failure::Failure;
use crate::size_lists::Counts;

/// The same cells for each number of ranks of `--ranks`, by default for all that were started.
pub fn spread(
    cells: Vec<CellSpec>,
    args: &MeasureArgs,
    started: usize,
) -> Result<Vec<CellSpec>, Failure> {
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
    let conflict = if args.writers.is_some() {
        Some("--writers: each rank is one writer; omit --writers")
    } else {
        let has_fifo = cells
            .iter()
            .any(|cell| cell.conditions.target == Target::Fifo);
        has_fifo.then_some("a FIFO, which has one writer: name another target")
    };
    if let Some(conflict) = conflict {
        return Err(Failure::usage(format!(
            "several ranks cannot be used with {conflict}"
        )));
    }
    let on = |cell: &CellSpec, count: usize| {
        let cell = cell.clone();
        cell.with(|asked| asked.ranks = Some(count as u32))
    };
    Ok(cells
        .iter()
        .flat_map(|cell| counts.iter().map(|&count| on(cell, count)))
        .collect())
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
