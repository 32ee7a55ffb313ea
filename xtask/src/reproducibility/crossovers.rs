//! Compares the crossovers of several runs, and the regret of their cost models: pure.

use std::fmt;

use vectored_measure::model::{Crossover, ModelSource, Results};

/// The share of runs that have to find a crossover which one of them finds.
const FOUND_SHARE: f64 = 0.9;

/// The share of pairs of intervals of one crossover that have to overlap.
const OVERLAP_SHARE: f64 = 0.95;

/// The largest median of high ÷ low over all intervals.
const MEDIAN_WIDTH: f64 = 1.3;

/// The largest regret of choosing by a model: in the median cell, and in the 95th
/// percentile.
const REGRETS: [f64; 2] = [0.01, 0.05];

/// All runs together.
pub struct Agreement {
    runs: usize,
    crossovers: Vec<Found>,
    models: Vec<Model>,
}

/// One crossover, in the runs that found it.
struct Found {
    name: String,
    /// Low, at and high, by run.
    intervals: Vec<[f64; 3]>,
}

/// The models of one kind of target, one a run.
struct Model {
    name: String,
    source: ModelSource,
    /// Median and 95th percentile.
    regrets: Vec<[f64; 2]>,
}

/// Compares the crossovers of all runs.
pub fn agreement(runs: &[Results]) -> Agreement {
    let mut agreement = Agreement {
        runs: runs.len(),
        crossovers: Vec::new(),
        models: Vec::new(),
    };
    for run in runs {
        let mut seen: Vec<String> = Vec::new();
        for crossover in &run.crossovers {
            let base = name_of(crossover);
            // The second crossover of a list between the same techniques.
            let before = seen.iter().filter(|name| **name == base).count();
            seen.push(base.clone());
            let name = match before {
                0 => base,
                _ => format!("{base} ({})", before + 1),
            };
            let interval = [
                crossover.low_bytes,
                crossover.at_bytes,
                crossover.high_bytes,
            ];
            let all = &mut agreement.crossovers;
            match all.iter_mut().find(|found| found.name == name) {
                Some(found) => found.intervals.push(interval),
                None => all.push(Found {
                    name,
                    intervals: vec![interval],
                }),
            }
        }
        for model in &run.cost_models {
            let (Some(median), Some(p95)) = (model.regret_median, model.regret_p95) else {
                continue;
            };
            let conditions = &model.conditions;
            let name = format!("{} {}", conditions.target, drain(model.drain));
            let source = model.source;
            let all = &mut agreement.models;
            match all
                .iter_mut()
                .find(|m| m.name == name && m.source == source)
            {
                Some(model) => model.regrets.push([median, p95]),
                None => all.push(Model {
                    name,
                    source,
                    regrets: vec![[median, p95]],
                }),
            }
        }
    }
    agreement.crossovers.sort_by(|a, b| a.name.cmp(&b.name));
    agreement
}

fn name_of(crossover: &Crossover) -> String {
    let conditions = &crossover.conditions;
    format!(
        "{} {} × {} → {}",
        conditions.target, crossover.segment_count, crossover.below, crossover.above
    )
}

fn drain(drain: Option<vectored_measure::model::Drain>) -> &'static str {
    match drain {
        Some(vectored_measure::model::Drain::ReaderThread) => "(reader thread)",
        _ => "",
    }
}

impl Found {
    fn widths(&self) -> impl Iterator<Item = f64> {
        self.intervals.iter().map(|[low, _, high]| high / low)
    }

    /// Overlapping pairs, and all pairs.
    fn overlaps(&self) -> (usize, usize) {
        let intervals = &self.intervals;
        let pairs =
            (0..intervals.len()).flat_map(|a| (a + 1..intervals.len()).map(move |b| (a, b)));
        let all = pairs.clone().count();
        let overlapping = pairs
            .filter(|&(a, b)| {
                let ([low_a, _, high_a], [low_b, _, high_b]) = (intervals[a], intervals[b]);
                low_a <= high_b && low_b <= high_a
            })
            .count();
        (overlapping, all)
    }
}

impl Agreement {
    /// Whether the crossovers and the fitted models keep to all limits above.
    pub fn passes(&self) -> bool {
        let enough = |found: &Found| found.intervals.len() as f64 >= FOUND_SHARE * self.runs as f64;
        self.crossovers.iter().all(enough)
            && self.overlap_share() >= OVERLAP_SHARE
            && self.median_width() <= MEDIAN_WIDTH
            && self.models.iter().all(Model::passes)
    }

    fn overlap_share(&self) -> f64 {
        let (overlapping, all) = self
            .crossovers
            .iter()
            .map(Found::overlaps)
            .fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
        match all {
            0 => 1.0,
            _ => overlapping as f64 / all as f64,
        }
    }

    fn median_width(&self) -> f64 {
        median(self.crossovers.iter().flat_map(Found::widths).collect()).unwrap_or(1.0)
    }
}

impl Model {
    /// Whether the medians over the runs keep to [`REGRETS`]. A calibration is shown and never fails.
    fn passes(&self) -> bool {
        let [median, p95] = self.medians();
        self.source == ModelSource::Calibration || (median <= REGRETS[0] && p95 <= REGRETS[1])
    }

    fn medians(&self) -> [f64; 2] {
        [0, 1].map(|which| {
            let all = self.regrets.iter().map(|regrets| regrets[which]).collect();
            median(all).unwrap_or(f64::NAN)
        })
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.runs;
        for found in &self.crossovers {
            let count = found.intervals.len();
            let (overlapping, all) = found.overlaps();
            let at: Vec<String> = found
                .intervals
                .iter()
                .map(|[low, at, high]| format!("{at:.0} [{low:.0}, {high:.0}]"))
                .collect();
            writeln!(
                f,
                "{}: found in {count} of {runs}, {overlapping} of {all} pairs overlap",
                found.name
            )?;
            writeln!(f, "    {}", at.join("  "))?;
        }
        writeln!(
            f,
            "{:.1} % of the pairs of intervals overlap ({:.0} % required); high ÷ low is {:.3} in the \
             median ({MEDIAN_WIDTH} allowed)",
            100.0 * self.overlap_share(),
            100.0 * OVERLAP_SHARE,
            self.median_width(),
        )?;
        for model in &self.models {
            let [median, p95] = model.medians();
            let source = match model.source {
                ModelSource::Cells => "fitted",
                ModelSource::Calibration => "calibrated",
            };
            writeln!(
                f,
                "cost model of {}, {source}: regret of choosing by it: median {:.2} %, 95th percentile {:.1} % \
                 ({} runs)",
                model.name.trim_end(),
                100.0 * median,
                100.0 * p95,
                model.regrets.len()
            )?;
        }
        write!(
            f,
            "crossovers and models: {}",
            if self.passes() { "passed" } else { "FAILED" }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(intervals: &[[f64; 3]]) -> Agreement {
        Agreement {
            runs: 10,
            crossovers: vec![Found {
                name: "pipe".to_owned(),
                intervals: intervals.to_vec(),
            }],
            models: Vec::new(),
        }
    }

    #[test]
    fn equal_intervals_in_nine_of_ten_runs_pass() {
        assert!(of(&[[100.0, 110.0, 120.0]; 9]).passes());
        assert!(!of(&[[100.0, 110.0, 120.0]; 8]).passes());
    }

    #[test]
    fn wide_and_distant_intervals_fail() {
        assert!(!of(&[[100.0, 120.0, 140.0]; 10]).passes());
        let mut apart = vec![[100.0, 110.0, 120.0]; 9];
        apart.push([130.0, 140.0, 150.0]);
        // 36 of 45 pairs overlap.
        assert!(!of(&apart).passes());
    }

    #[test]
    fn a_model_that_chooses_badly_fails_unless_it_is_a_calibration() {
        let of = |source, regret| Agreement {
            runs: 1,
            crossovers: Vec::new(),
            models: vec![Model {
                name: "file".to_owned(),
                source,
                regrets: vec![regret],
            }],
        };
        assert!(of(ModelSource::Cells, [0.01, 0.05]).passes());
        assert!(!of(ModelSource::Cells, [0.0, 0.06]).passes());
        assert!(of(ModelSource::Calibration, [0.0, 0.06]).passes());
    }
}
