//! The chart of an experiment with several sizes.

use vectored_report::{Chart, Curve, Mark, Point, Series, Unit, sort, words};

use crate::model::{ExperimentRow, Measure, Reproduction};
use crate::report::experiments::figure::Figure;
use crate::report::experiments::layout::{Layout, comparable, is_of_its_own};
use crate::report::experiments::near_fastest::smallest_near_fastest;

/// The curves of an experiment, by size. `None` if it has one size only.
pub fn chart(experiment: &Reproduction, layout: &Layout) -> Option<Chart> {
    // Ratios can be compared where times cannot.
    let published = if layout.is_ratio() { &experiment.published } else { comparable(experiment) };
    let rows: Vec<&ExperimentRow> = experiment.rows.iter().chain(published).collect();
    let size = |row: &ExperimentRow| {
        let segment = row.key.segment_bytes.map(|bytes| bytes as u64);
        row.key.buffer_bytes.or(segment)
    };
    let sizes: Vec<u64> = rows.iter().filter_map(|row| size(row)).collect();
    let (up, scale) = if layout.is_ratio() { (Unit::Ratio, 1.0) } else { (Unit::Nanoseconds, 1e9) };
    let mut curves: Vec<Curve> = Vec::new();
    for figure in layout.drawn {
        for row in &rows {
            let Some(value) = figure.value(experiment, row).map(|value| value * scale) else {
                continue;
            };
            let name = name(layout, *figure, row);
            let index = curves.iter().position(|curve| *curve.name == *name);
            let index = index.unwrap_or_else(|| {
                curves.push(Curve {
                    name: name.as_str().into(),
                    series: series(*figure, row),
                    points: Vec::new(),
                });
                curves.len() - 1
            });
            let at = match size(row) {
                Some(size) => vec![size],
                None if is_of_its_own(row) => sizes.clone(),
                None => Vec::new(),
            };
            curves[index].points.extend(at.into_iter().map(|at| Point {
                at: at as f64,
                value,
                interval: None,
                words: format!("{name}, {}: {}", words::bytes(at), up.words(value)).into(),
            }));
        }
    }
    for curve in &mut curves {
        sort::sort_by(&mut curve.points, |a, b| a.at.total_cmp(&b.at));
        curve.points.dedup_by(|a, b| a.at == b.at);
    }
    let near = experiment.setting.program.as_ref();
    let near = near.and_then(|_| smallest_near_fastest(experiment, "program"));
    (!curves.is_empty()).then(|| Chart {
        title: layout.chart.into(),
        along: Unit::Bytes,
        up,
        curves,
        marks: near
            .map(|at| Mark {
                at: at as f64,
                low: at as f64,
                high: at as f64,
                label: words::bytes(at).into(),
            })
            .into_iter()
            .collect(),
        base: layout.is_ratio().then_some(1.0),
        ..Chart::default()
    })
}

/// `CPU here`, or where only one figure is drawn the group.
fn name(layout: &Layout, figure: Figure, row: &ExperimentRow) -> String {
    match layout.drawn {
        [_] => (layout.group)(row),
        _ => format!("{} {}", figure.meaning().0, row.source),
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
