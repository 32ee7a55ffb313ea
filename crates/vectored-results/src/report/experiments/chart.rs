//! The chart of an experiment with several sizes.

use vectored_report::{Chart, Curve, Mark, Point, Series, by_key, sort, words};

use crate::model::{ExperimentRow, Measure, Reproduction};
use crate::report::experiments::figure::Figure;
use crate::report::experiments::layout::{Layout, comparable, is_of_its_own};
use crate::report::experiments::near_fastest::smallest_near_fastest;

pub fn chart(experiment: &Reproduction, layout: &Layout) -> Option<Chart> {
    // Ratios can be compared where times cannot.
    let published = if layout.is_ratio() { &experiment.published } else { comparable(experiment) };
    let rows: Vec<&ExperimentRow> = experiment.rows.iter().chain(published).collect();
    let size = |row: &ExperimentRow| {
        let segment = row.key.segment_bytes.map(|bytes| bytes as u64);
        row.key.buffer_bytes.or(segment)
    };
    let sizes: Vec<u64> = rows.iter().filter_map(|row| size(row)).collect();
    type InWords = fn(f64) -> String;
    let (in_words, scale): (InWords, f64) =
        if layout.is_ratio() { (words::ratio, 1.0) } else { (words::time, 1e9) };
    let mut points: Vec<((String, Series), Point)> = Vec::new();
    for figure in layout.drawn {
        for row in &rows {
            let Some(value) = figure.value(experiment, row).map(|value| value * scale) else {
                continue;
            };
            let at = match size(row) {
                Some(size) => vec![size],
                None if is_of_its_own(row) => sizes.clone(),
                None => Vec::new(),
            };
            let name = name(layout, *figure, row);
            points.extend(at.into_iter().map(|at| {
                let words = format!("{name}, {}: {}", words::bytes(at), in_words(value));
                let point = Point {
                    at,
                    value,
                    interval: None,
                    words: words.into(),
                };
                ((name.clone(), series(*figure, row)), point)
            }));
        }
    }
    let curve = |((name, series), mut points): ((String, Series), Vec<Point>)| {
        sort::sort_by_key(&mut points, |point| point.at);
        points.dedup_by_key(|point| point.at);
        Curve {
            name: name.into(),
            series,
            points,
        }
    };
    let curves: Vec<Curve> = by_key(points).into_iter().map(curve).collect();
    let near = experiment.setting.program.as_ref();
    let near = near.and_then(|_| smallest_near_fastest(experiment, "program"));
    let mark = near.map(|at| Mark {
        at: at as f64,
        low: at as f64,
        high: at as f64,
        label: words::bytes(at).into(),
    });
    (!curves.is_empty()).then(|| Chart {
        title: layout.chart.into(),
        is_ratio: layout.is_ratio(),
        curves,
        marks: mark.into_iter().collect(),
    })
}

/// The name of a curve: `CPU here`, or only the group if one figure is drawn.
fn name(layout: &Layout, figure: Figure, row: &ExperimentRow) -> String {
    match layout.drawn {
        [_] => (layout.group)(row),
        _ => format!("{} {}", figure.name(), row.source),
    }
}

/// CPU time has the colour of copying, wall time the colour of gathering.
fn series(figure: Figure, row: &ExperimentRow) -> Series {
    let hue = match figure {
        _ if row.key.technique == "program" => 1,
        Figure::Cpu | Figure::Ratio(Measure::Cpu) => 2,
        _ => 3,
    };
    Series {
        hue,
        is_other: !row.is_here(),
    }
}
