//! Validation of loaded results. Renderings and statistics rely on these properties, and files may come
//! from anywhere.

use vectored_report::sort;

use crate::model::{Cell, Experiments, MAX_QUEUE_DEPTH, MAX_RANKS, RankFigures, Results};

/// Limit on segments in a list and bytes in a segment, which no run exceeds.
const MAX_COUNT: usize = 1 << if usize::BITS > 40 { 40 } else { 30 };

/// Checks the results of a run.
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
    let runs = cell.segment_sizes.as_deref().unwrap_or_default();
    let all_sizes = runs.iter().map(|&(count, bytes)| (count, bytes));
    let all_sizes = all_sizes.chain(cell.segment_bytes.map(|bytes| (cell.segment_count, bytes)));
    for (count, bytes) in all_sizes {
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
    let summaries = summaries.chain([&cell.floor_ns]);
    if !floors
        .chain(times)
        .chain(summaries)
        .all(|&ns| is_positive(ns))
    {
        return Err("contains a time that is not a positive number".to_owned());
    }
    if !(1..=MAX_QUEUE_DEPTH).contains(&cell.conditions.queue_depth) {
        return Err(format!(
            "has a queue depth of {}, which is not from 1 to {MAX_QUEUE_DEPTH}",
            cell.conditions.queue_depth
        ));
    }
    if let Some(direct) = cell.alignment
        && ![direct.memory_bytes, direct.offset_bytes]
            .iter()
            .all(|bytes| bytes.is_power_of_two())
    {
        return Err(format!(
            "has an alignment of {} and {} bytes, which are not both powers of two",
            direct.memory_bytes, direct.offset_bytes
        ));
    }
    let ranks = cell.conditions.ranks.unwrap_or(0);
    if cell.conditions.ranks.is_some() && !(1..=MAX_RANKS).contains(&ranks) {
        return Err(format!(
            "has {ranks} ranks, which is not from 1 to {MAX_RANKS}"
        ));
    }
    for technique in &cell.techniques {
        if let Some(figures) = &technique.ranks {
            self::ranks(figures, ranks)
                .map_err(|why| format!("has figures of the ranks of {} {why}", technique.name))?;
        }
    }
    let rounds = cell.rounds as usize;
    let samples = cell.techniques.iter().map(|t| t.samples_ns.len());
    let floors = cell.floor_samples_ns.len().max(cell.aa_samples_ns.len());
    let most = samples.fold(floors, usize::max);
    if rounds == 0 || most > rounds {
        return Err(format!("has {most} samples in {rounds} rounds"));
    }
    let mut names: Vec<_> = cell.techniques.iter().map(|t| t.name).collect();
    sort::sort(&mut names);
    names.dedup();
    if names.len() < cell.techniques.len() {
        return Err("lists a technique twice".to_owned());
    }
    for name in cell.leader.iter().chain(&cell.winner) {
        if cell.technique(*name).is_none() {
            return Err(format!(
                "names {name} as leader or winner, which was not measured"
            ));
        }
    }
    Ok(())
}

/// Each rank has a time and a share.
fn ranks(figures: &RankFigures, ranks: u32) -> Result<(), String> {
    let shares = &figures.rank_last_share;
    for times in [&figures.rank_median_ns, &figures.rank_min_ns] {
        if times.len() != ranks as usize || !times.iter().all(|&ns| is_positive(ns)) {
            return Err(format!(
                "without a positive time for each of the {ranks} ranks"
            ));
        }
    }
    if shares.len() != ranks as usize || !shares.iter().all(|share| (0.0..=1.0).contains(share)) {
        return Err(format!(
            "without a share from 0 to 1 for each of the {ranks} ranks"
        ));
    }
    if !is_positive(figures.calls_per_s) || !is_positive(figures.bytes_per_s) {
        return Err("whose throughput is not a positive number".to_owned());
    }
    if figures.stragglers.iter().any(|&rank| rank >= ranks) {
        return Err("with a straggler that is not one of the ranks".to_owned());
    }
    Ok(())
}

/// Checks the results of `vectored reproduce`.
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
