//! The chart of each experiment that has curves.

use crate::model::{ExperimentName, ExperimentRow, Measure, PublishedRow, Reproduction};
use crate::report::experiments::sheets::published_of;
use crate::report::svg::chart::{Chart, Curve, Point};
use crate::report::svg::times;
use crate::text::format;
use crate::text::format::bytes_in_words;

/// `None` if the rows of the experiment are no curve.
pub fn experiment_chart(experiment: &Reproduction) -> Option<Chart<'static>> {
    let (title, curves, up): (_, _, &dyn Fn(f64) -> String) = match experiment.name {
        ExperimentName::Apue35 => (
            "Seconds a copy, by the size of the buffer",
            copies(experiment),
            &seconds,
        ),
        ExperimentName::Kalinin => (
            "Time of writev ÷ time of copying, by the size of an element: below 1× writev wins",
            elements(experiment),
            &times,
        ),
        ExperimentName::Apue1428 | ExperimentName::Mincer => return None,
    };
    Some(Chart {
        title: title.to_owned(),
        curves,
        marks: Vec::new(),
        base: (experiment.name == ExperimentName::Kalinin).then_some(1.0),
        along: &|bytes| bytes_in_words(bytes as u64),
        up,
    })
}

fn seconds(seconds: f64) -> String {
    format::time(seconds * 1e9)
}

fn copies(experiment: &Reproduction) -> Vec<Curve> {
    let here = |time: fn(&ExperimentRow) -> Option<f64>| {
        let rows = experiment.rows.iter();
        rows.filter_map(|row| Some((row.buffer_bytes?, time(row)?)))
            .collect()
    };
    let then = |time: fn(&PublishedRow) -> Option<f64>| {
        let rows = experiment.rows.iter().filter_map(|row| {
            let published = published_of(row, &experiment.published)?;
            Some((row.buffer_bytes?, time(published)?))
        });
        rows.collect()
    };
    let mut all = vec![
        curve("CPU here", "cpu", here(|row| row.cpu_s), seconds),
        curve("wall here", "wall", here(|row| row.clock_s), seconds),
    ];
    // Seconds of a smaller file cannot be compared with published ones.
    if !experiment.reduced {
        all.extend([
            curve("CPU 2005", "cpu then", then(|row| row.cpu_s), seconds),
            curve("wall 2005", "wall then", then(|row| row.clock_s), seconds),
        ]);
    }
    all
}

fn elements(experiment: &Reproduction) -> Vec<Curve> {
    let here = |measure: Measure| {
        let ratios = experiment.ratios.iter().filter(|r| r.measure == measure);
        let points = ratios.filter_map(|ratio| {
            let bytes = experiment.rows[ratio.of].segment_bytes?;
            Some((bytes as u64, ratio.ratio))
        });
        points.collect()
    };
    let then = experiment
        .ratios
        .iter()
        .filter(|ratio| ratio.measure == Measure::Cpu)
        .filter_map(|ratio| {
            let bytes = experiment.rows[ratio.of].segment_bytes?;
            Some((bytes as u64, ratio.published.first()?.ratio))
        });
    vec![
        curve("CPU here", "cpu", here(Measure::Cpu), times),
        curve("wall here", "wall", here(Measure::Clock), times),
        curve("CPU 2001", "cpu then", then.collect(), times),
    ]
}

/// A line runs along the axis, also where the file's rows do not.
fn curve(name: &str, class: &str, mut points: Vec<(u64, f64)>, words: fn(f64) -> String) -> Curve {
    points.sort_by_key(|point| point.0);
    let point = |(bytes, value): (u64, f64)| Point {
        at: bytes as f64,
        value,
        interval: None,
        words: format!("{name}, {}: {}", bytes_in_words(bytes), words(value)),
    };
    Curve {
        name: name.to_owned(),
        class: class.to_owned(),
        points: points.into_iter().map(point).collect(),
    }
}
