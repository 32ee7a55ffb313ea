//! Whether results can be what some run found: renderings and statistics rely on
//! what is checked here, and files come from anywhere.

use crate::model::{Cell, Experiments, Results};

/// No run has more segments in a list, or bytes in a segment.
const MOST: usize = 1 << 40;

/// # Errors
///
/// What is wrong, in words.
pub(super) fn results(results: &Results) -> Result<(), String> {
    for cell in results.cells.iter().chain(&results.refined_cells) {
        self::cell(cell).map_err(|why| format!("a cell of {} {why}", cell.target))?;
    }
    for crossover in &results.crossovers {
        let sizes = [
            crossover.low_bytes,
            crossover.at_bytes,
            crossover.high_bytes,
        ];
        if !sizes.iter().all(|&bytes| is_positive(bytes)) {
            return Err("a crossover is at no size".to_owned());
        }
    }
    Ok(())
}

fn cell(cell: &Cell) -> Result<(), String> {
    let runs = cell.segment_sizes.as_deref().unwrap_or_default();
    let all_sizes = runs.iter().map(|&(count, bytes)| (count, bytes));
    let all_sizes = all_sizes.chain(cell.segment_bytes.map(|bytes| (cell.segment_count, bytes)));
    for (count, bytes) in all_sizes {
        if count == 0 || bytes == 0 || count > MOST || bytes > MOST {
            return Err(format!("has {count} segments of {bytes} bytes"));
        }
    }
    let floors = cell.floor_samples_ns.iter().chain(&cell.aa_samples_ns);
    let times = cell.techniques.iter().flat_map(|t| &t.samples_ns).flatten();
    if !floors.chain(times).all(|&ns| is_positive(ns)) {
        return Err("has a time that is none".to_owned());
    }
    let mut names: Vec<_> = cell.techniques.iter().map(|t| t.name).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() < cell.techniques.len() {
        return Err("has a technique twice".to_owned());
    }
    Ok(())
}

/// # Errors
///
/// What is wrong, in words.
pub(super) fn experiments(experiments: &Experiments) -> Result<(), String> {
    for experiment in &experiments.experiments {
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

fn is_positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}
