//! Validation of loaded results. Renderings and statistics rely on these properties, and files may come
//! from anywhere.

use crate::model::{Cell, Experiments, Results};

/// Limit on segments in a list and bytes in a segment, which no run exceeds.
const MAX_COUNT: usize = 1 << if usize::BITS > 40 { 40 } else { 30 };

pub(crate) fn results(results: &Results) -> Result<(), String> {
    for cell in results.cells.iter().chain(&results.refined_cells) {
        self::cell(cell).map_err(|why| format!("a cell of {} {why}", cell.conditions.target))?;
    }
    for crossover in &results.crossovers {
        let sizes = [
            crossover.low_bytes,
            crossover.at_bytes,
            crossover.high_bytes,
        ];
        if !sizes.iter().all(|&bytes| is_positive(bytes)) {
            return Err("a crossover has a size that is not a positive number".to_owned());
        }
    }
    Ok(())
}

fn cell(cell: &Cell) -> Result<(), String> {
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

pub(crate) fn experiments(experiments: &Experiments) -> Result<(), String> {
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
