//! The figures of a row: for tables and charts.

use vectored_report::words;

use crate::model::{ExperimentName, ExperimentRow, Measure, PageCache, Ratio, Reproduction};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    User,
    System,
    Cpu,
    Wall,
    Copying,
    PassMedian,
    Rate,
    Loops,
    Ratio(Measure),
    Left,
    Fetched,
}

impl Figure {
    /// The number of the figure in a row, in seconds, bytes or as a ratio; `None` for the ratio of a row to itself.
    pub fn value(self, experiment: &Reproduction, row: &ExperimentRow) -> Option<f64> {
        let samples = || row.samples.iter().flatten();
        match self {
            Figure::User => row.times.user_s,
            Figure::System => row.times.system_s,
            Figure::Cpu => row.times.cpu_s,
            Figure::Wall => row.times.clock_s,
            Figure::Copying if row.is_here() => experiment.copying_s(row, experiment.compared()),
            Figure::Copying => row.times.of(experiment.compared()),
            Figure::PassMedian => row.pass_median_s,
            Figure::Rate => row.bytes_per_s.map(|rate| rate / 1e6),
            Figure::Loops => row.loops.map(|loops| loops as f64),
            Figure::Ratio(measure) => Some(ratio(experiment, row, measure)??.0),
            Figure::Left | Figure::Fetched if experiment.cache == PageCache::Hot => None,
            // The worst of the repeats, since the figure has to hold for all repeats.
            Figure::Left => Some(samples().filter_map(|one| one.resident_bytes).max()? as f64),
            Figure::Fetched => Some(samples().filter_map(|one| one.fetched_bytes).min()? as f64),
        }
    }

    pub fn text(
        self,
        experiment: &Reproduction,
        in_seconds: bool,
        row: &ExperimentRow,
    ) -> Option<String> {
        if let Figure::Ratio(measure) = self {
            return Some(match ratio(experiment, row, measure)? {
                None => "1".to_owned(),
                Some((ratio, ends)) if row.is_here() => words::ratio_within(ratio, ends),
                Some((ratio, _)) => format!("{ratio:.2}"),
            });
        }
        let value = self.value(experiment, row)?;
        Some(match self {
            Figure::Rate => format!("{value:.0}"),
            Figure::Loops => words::grouped(value as u64),
            Figure::Left | Figure::Fetched => words::bytes(value as u64),
            // The books print seconds with two digits.
            _ if in_seconds && !row.is_here() => format!("{value:.2}"),
            _ if in_seconds => {
                let places = if value < 0.0995 { 4 } else { 3 };
                format!("{value:.places$}")
            }
            _ => words::time(value * 1e9),
        })
    }

    pub fn head(self, experiment: &Reproduction, in_seconds: bool) -> String {
        let word = self.name();
        match self {
            Figure::Ratio(measure) => format!("{word} ÷ {}", base_in_words(experiment, measure)),
            Figure::User | Figure::System | Figure::Cpu | Figure::Wall if in_seconds => {
                format!("{word} s")
            }
            _ => word.to_owned(),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Figure::User => "user",
            Figure::System => "system",
            Figure::Cpu | Figure::Ratio(Measure::Cpu) => "CPU",
            Figure::Wall | Figure::Ratio(Measure::Clock) => "wall",
            Figure::Copying => "copying",
            Figure::PassMedian => "median",
            Figure::Rate => "MB/s",
            Figure::Loops => "reads",
            Figure::Left => "left",
            Figure::Fetched => "fetched",
        }
    }
}

fn base_in_words(experiment: &Reproduction, measure: Measure) -> String {
    let is_it = |ratio: &&Ratio| ratio.measure == measure;
    let Some(ratio) = experiment.ratios.iter().find(is_it) else {
        return String::new();
    };
    let base = &experiment.rows[ratio.over];
    match (experiment.name, base.key.buffer_bytes) {
        (ExperimentName::Apue35, _) if experiment.setting.program.is_some() => "ours".to_owned(),
        (ExperimentName::Apue35, Some(bytes)) => words::bytes(bytes),
        (ExperimentName::Mincer, _) => "vectored".to_owned(),
        _ => technique_in_words(&base.key.technique).to_owned(),
    }
}

pub fn technique_in_words(technique: &str) -> &str {
    match technique {
        "copy-then-write" => "copying",
        "read-write" => "vectored copy",
        other => other,
    }
}

/// A ratio, and its interval if it was measured here.
type WithInterval = (f64, Option<(f64, f64)>);

/// The ratio of a row to its base. `Some(None)` if the row is a base, `None` if the row has no ratio.
fn ratio(
    experiment: &Reproduction,
    row: &ExperimentRow,
    measure: Measure,
) -> Option<Option<WithInterval>> {
    let is_it = |index: usize| {
        let other = &experiment.rows[index];
        other.key == row.key && other.is_start() == row.is_start()
    };
    let in_source = |ratio: &Ratio| -> Option<WithInterval> {
        if row.is_here() {
            return Some((ratio.ratio, ratio.ratio_low.zip(ratio.ratio_high)));
        }
        let mut published = ratio.published.iter();
        let published = published.find(|published| published.source == row.source)?;
        Some((published.ratio, None))
    };
    let ratios = experiment.ratios.iter();
    let ratios = ratios.filter(|ratio| ratio.measure == measure);
    let mut known = ratios.filter_map(|ratio| Some((ratio, in_source(ratio)?)));
    match known.clone().find(|(ratio, _)| is_it(ratio.of)) {
        Some((_, own)) => Some(Some(own)),
        None => known.any(|(ratio, _)| is_it(ratio.over)).then_some(None),
    }
}
