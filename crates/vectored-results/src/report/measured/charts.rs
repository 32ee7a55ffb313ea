//! A chart for each shape of lists that were measured with several sizes.

use vectored_report::sort;
use vectored_report::words::{about, bytes, ratio_within, time};
use vectored_report::{Chart, Curve, Mark, Point, Series};

use crate::model::{Cell, ListShape, Results, TechniqueName};
use crate::report::machines::shapes;
use crate::report::measured::{Group, columns};
use crate::report::shape_text::{SIZE, shape_in_words};
use crate::report::target_names::has_tax;
use crate::report::words::Words;

pub(super) fn charts(group: &Group<'_>, results: &Results) -> Vec<Chart> {
    let shapes = shapes(group.cells.iter().copied()).into_iter();
    shapes
        .filter_map(|shape| chart(group, shape, results))
        .collect()
}

/// `None` if there is one size only.
fn chart(group: &Group<'_>, shape: ListShape<'_>, results: &Results) -> Option<Chart> {
    let is_here = |cell: &&&Cell| cell.shape() == shape && cell.swept_bytes().is_some();
    let all = group.cells.iter().chain(&group.refined);
    let mut cells: Vec<&Cell> = all.filter(is_here).copied().collect();
    sort::sort_by_key(&mut cells, |cell| cell.swept_bytes());
    // A malformed file may contain a size twice.
    cells.dedup_by_key(|cell| cell.swept_bytes());
    if cells.len() < 2 {
        return None;
    }
    let has_tax = group.cells.iter().all(|cell| has_tax(cell));
    let what = if has_tax { "time ÷ floor" } else { "time per call" };
    let size = match shape.swept_mix {
        Some(_) => SIZE,
        None => "segment size",
    };
    let title = match group.conditions.from {
        Some(_) => format!("{what}, by size"),
        None => format!("{}: {what}, by {size}", shape_in_words(shape)),
    };
    let curve = |technique: TechniqueName| {
        let points = cells
            .iter()
            .filter_map(|cell| point(cell, technique, has_tax));
        Curve {
            name: technique.as_str().into(),
            series: Series::new(Words::of(technique).hue),
            points: points.collect(),
        }
    };
    let curves = columns(results).into_iter().map(curve);
    let here = results.crossovers_of(group.conditions, shape).into_iter();
    Some(Chart {
        title: title.into(),
        is_ratio: has_tax,
        curves: curves.filter(|curve| !curve.points.is_empty()).collect(),
        marks: here
            .map(|crossover| Mark {
                at: crossover.at_bytes,
                low: crossover.low_bytes,
                high: crossover.high_bytes,
                label: about(crossover.at_bytes).into(),
            })
            .collect(),
    })
}

fn point(cell: &Cell, technique: TechniqueName, has_tax: bool) -> Option<Point> {
    let result = cell.technique(technique)?;
    let size = cell.swept_bytes()? as u64;
    let took = time(result.median_ns);
    let interval = result.floor_ratio_low.zip(result.floor_ratio_high);
    let (value, interval) =
        if has_tax { (result.floor_ratio?, interval) } else { (result.median_ns, None) };
    let ratio = if has_tax { ratio_within(value, interval) + ", " } else { String::new() };
    Some(Point {
        at: size,
        value,
        interval,
        words: format!("{technique}, {}: {ratio}{took}", bytes(size)).into(),
    })
}
