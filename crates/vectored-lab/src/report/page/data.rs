//! The data of the page's charts.

use serde::Serialize;

use crate::model::{Cell, Results, Technique};
use crate::report::panels::{Curves, panels};
use crate::report::shape_text::{list_of_shape, shape_in_words, swept_list_in_words};
use crate::text::format::{bytes_in_words, list_in_words};

/// Limit on samples in a page, since more make it slow to open. Beyond it only every second, third, …
/// round of each cell is kept, and the page says so.
const MAX_SAMPLES: usize = 260_000;

#[derive(Serialize)]
pub struct Data {
    runs: Vec<Run>,
    /// Only every n-th round is included.
    every: usize,
}

#[derive(Serialize)]
struct Run {
    panels: Vec<Chart>,
    /// As in the results.
    cells: Vec<Samples>,
}

/// The charts of one target.
#[derive(Serialize)]
struct Chart {
    title: String,
    /// Whether values are times ÷ floor; otherwise they are ns.
    ratios: bool,
    /// Requested sizes only: refined sizes would crowd the axis.
    sizes: Vec<usize>,
    curves: Vec<CurvesData>,
}

/// One chart: the values at each size.
#[derive(Serialize)]
struct CurvesData {
    /// `16 segments`, `1 × 150 B + 1 × SIZE`.
    lists: String,
    /// The same with a place for the size: `16 × SIZE`.
    list: String,
    bytes: Vec<usize>,
    floor_ns: Vec<f64>,
    /// `floor_ratio` and its interval, the median time.
    techniques: Vec<TechniqueData>,
    crossovers: Vec<Crossing>,
}

#[derive(Serialize)]
struct TechniqueData {
    name: &'static str,
    ratio: Vec<Option<f64>>,
    low: Vec<Option<f64>>,
    high: Vec<Option<f64>>,
    ns: Vec<Option<f64>>,
}

#[derive(Serialize)]
struct Crossing {
    below: &'static str,
    above: &'static str,
    at: f64,
    low: f64,
    high: f64,
}

/// The samples of one cell, in ns.
#[derive(Serialize)]
struct Samples {
    name: String,
    rounds: u32,
    floor: Vec<f64>,
    techniques: Vec<(&'static str, Vec<Option<f64>>)>,
}

pub fn of(runs: &[&Results]) -> Data {
    let samples: usize = runs
        .iter()
        .flat_map(|run| &run.cells)
        .map(|cell| (1 + cell.techniques.len()) * cell.floor_samples_ns.len())
        .sum();
    let every = samples.div_ceil(MAX_SAMPLES).max(1);
    Data {
        runs: runs.iter().map(|results| run(results, every)).collect(),
        every,
    }
}

fn run(results: &Results, every: usize) -> Run {
    Run {
        panels: panels(results)
            .iter()
            .map(|panel| Chart {
                title: panel.title.clone(),
                ratios: panel.has_tax,
                sizes: panel.map.sizes.clone(),
                curves: panel.curves.iter().map(curves).collect(),
            })
            .collect(),
        cells: results
            .cells
            .iter()
            .map(|cell| thinned(cell, every))
            .collect(),
    }
}

fn curves(curves: &Curves<'_>) -> CurvesData {
    let cells = &curves.cells;
    CurvesData {
        lists: shape_in_words(curves.shape),
        list: list_of_shape(curves.shape),
        bytes: cells.iter().filter_map(|cell| cell.swept_bytes()).collect(),
        floor_ns: cells.iter().map(|cell| five(cell.floor_ns)).collect(),
        techniques: curves
            .techniques
            .iter()
            .map(|&name| technique(cells, name))
            .collect(),
        crossovers: curves
            .crossovers
            .iter()
            .map(|crossover| Crossing {
                below: crossover.below.name(),
                above: crossover.above.name(),
                at: five(crossover.at_bytes),
                low: five(crossover.low_bytes),
                high: five(crossover.high_bytes),
            })
            .collect(),
    }
}

fn technique(cells: &[&Cell], name: Technique) -> TechniqueData {
    let each = |of: &dyn Fn(&crate::model::TechniqueResult) -> Option<f64>| {
        let values = cells.iter().map(|cell| cell.technique(name).and_then(of));
        values.map(|value| value.map(five)).collect()
    };
    TechniqueData {
        name: name.name(),
        ratio: each(&|t| t.floor_ratio),
        low: each(&|t| t.floor_ratio_low),
        high: each(&|t| t.floor_ratio_high),
        ns: each(&|t| Some(t.median_ns)),
    }
}

fn thinned(cell: &Cell, every: usize) -> Samples {
    let list = match (cell.segment_bytes, &cell.segment_sizes) {
        (Some(bytes), _) => format!("{} × {}", cell.segment_count, bytes_in_words(bytes as u64)),
        (None, Some(runs)) => match &cell.swept_mix {
            Some(mix) => swept_list_in_words(mix, runs),
            None => list_in_words(runs),
        },
        (None, None) => "mixed".to_owned(),
    };
    Samples {
        name: format!("{list}, {}", cell.target),
        rounds: cell.rounds,
        floor: cell
            .floor_samples_ns
            .iter()
            .step_by(every)
            .map(|&ns| five(ns))
            .collect(),
        techniques: cell
            .techniques
            .iter()
            .map(|technique| {
                let here = kept(&technique.samples_ns, every);
                (technique.name.name(), here)
            })
            .collect(),
    }
}

/// One of `every` rounds; a technique that was sampled rarely keeps all its samples.
fn kept(samples: &[Option<f64>], every: usize) -> Vec<Option<f64>> {
    let block = |block: &[Option<f64>]| block.iter().flatten().next().map(|&ns| five(ns));
    samples.chunks(every).map(block).collect()
}

/// Five digits, more than a chart can show, at half the length.
fn five(value: f64) -> f64 {
    format!("{value:.4e}")
        .parse()
        .expect("a number that was just written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_digits_are_kept() {
        assert_eq!(five(123_456.0), 123_460.0);
        assert_eq!(five(0.012_345_6), 0.012_346);
        assert_eq!(five(-1.0), -1.0);
    }

    #[test]
    fn rare_samples_survive_thinning() {
        let rare = [Some(1.0), None, None, None, None, Some(2.0)];
        assert_eq!(kept(&rare, 3), [Some(1.0), Some(2.0)]);
        assert_eq!(kept(&rare, 1), rare);
    }
}
