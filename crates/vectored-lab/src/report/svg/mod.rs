//! The charts of a page, as SVG within it: no script; a pointer at a point shows its value.

pub(crate) mod chart;
pub(crate) mod crossover_chart;
mod drawing;
mod scale;

use crate::model::{Cell, Reproduction, TechniqueName};
use crate::report::experiments::experiment_chart;
use crate::report::panels::{Curves, Panel};
use crate::report::shape_text::{SIZE, shape_in_words};
use crate::report::svg::chart::{Chart, Curve, Mark, Point};
pub(crate) use crate::report::svg::crossover_chart::{Group, MachineCrossover};
use crate::text::format;
use crate::text::format::{bytes_in_words, three_digits};

/// The chart of one experiment.
pub(crate) fn experiment(experiment: &Reproduction) -> Option<String> {
    chart::figure(&experiment_chart(experiment)?)
}

/// Time ÷ floor, or time, by size.
pub(crate) fn curves(panel: &Panel<'_>, curves: &Curves<'_>) -> Option<String> {
    let up = |value: f64| match panel.has_tax {
        true => times(value),
        false => format::time(value),
    };
    let what = match panel.has_tax {
        true => "time ÷ floor",
        false => "time per call",
    };
    let size = match curves.shape.swept_mix {
        Some(_) => SIZE,
        None => "segment size",
    };
    let curve = |&technique: &TechniqueName| Curve {
        name: technique.as_str().to_owned(),
        class: format!("t-{technique}"),
        points: curves
            .cells
            .iter()
            .filter_map(|cell| point(cell, technique, panel.has_tax))
            .collect(),
    };
    chart::figure(&Chart {
        title: format!("{}: {what}, by {size}", shape_in_words(curves.shape)),
        curves: curves.techniques.iter().map(curve).collect(),
        marks: curves
            .crossovers
            .iter()
            .map(|crossover| Mark {
                at: crossover.at_bytes,
                low: crossover.low_bytes,
                high: crossover.high_bytes,
                label: about(crossover.at_bytes),
            })
            .collect(),
        base: panel.has_tax.then_some(1.0),
        // Refined sizes would crowd the axis.
        along: &|bytes| match panel.map.sizes.contains(&(bytes as usize)) {
            true => bytes_in_words(bytes as u64),
            false => String::new(),
        },
        up: &up,
    })
}

fn point(cell: &Cell, technique: TechniqueName, has_tax: bool) -> Option<Point> {
    let result = cell.technique(technique)?;
    let bytes = cell.swept_bytes()?;
    let time = format::time(result.median_ns);
    let (value, interval, words) = match has_tax {
        false => (result.median_ns, None, time),
        true => {
            let ratio = result.floor_ratio?;
            let interval = result.floor_ratio_low.zip(result.floor_ratio_high);
            let ends = interval.map_or(String::new(), |(low, high)| {
                format!(" [{low:.3}, {high:.3}]")
            });
            (ratio, interval, format!("{ratio:.3}×{ends}, {time}"))
        }
    };
    Some(Point {
        at: bytes as f64,
        value,
        interval,
        words: format!("{technique}, {}: {words}", bytes_in_words(bytes as u64)),
    })
}

/// `1.25×`.
pub(crate) fn times(ratio: f64) -> String {
    format!("{}×", three_digits(ratio))
}

/// `4.38 KiB`, `699 B`.
fn about(bytes: f64) -> String {
    match bytes < 1024.0 {
        true => format!("{bytes:.0} B"),
        false => format!("{} KiB", three_digits(bytes / 1024.0)),
    }
}
