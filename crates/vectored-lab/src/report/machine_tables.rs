//! What tables of machines have in common, whether they are made of results or of extracts.

use crate::model::ListShape;
use crate::model::Technique;
use crate::report::grid::Grid;
use crate::report::shape_text::shape_in_words;
use crate::text::format::{percent, three_digits};

/// Whether a crossover is one from copying to gathering, or for reads from splitting to scattering.
pub(crate) fn is_copy_to_gather(below: Technique, above: Technique) -> bool {
    use Technique::{CopyThenWrite, ReadThenSplit, Readv, Writev};
    matches!(
        (below, above),
        (CopyThenWrite, Writev) | (ReadThenSplit, Readv)
    )
}

/// The place of a crossover, with the techniques if it is not from copying to gathering.
pub(crate) fn crossover_in_words(below: Technique, place: &str, above: Technique) -> String {
    match is_copy_to_gather(below, above) {
        true => place.to_owned(),
        false => format!("{below} to {place}, then {above}"),
    }
}

/// A row for each machine, which begins with the `names` of it, and a column for each shape of list.
pub(crate) fn crossover_table(
    title: &str,
    names: &[String],
    shapes: &[ListShape<'_>],
    rows: Vec<Vec<String>>,
) -> Option<Grid> {
    let of_shapes = shapes.iter().map(|shape| shape_in_words(*shape));
    (!shapes.is_empty()).then(|| Grid {
        title: format!("{title}: crossovers, copying below and gathering above"),
        heads: names.iter().cloned().chain(of_shapes).collect(),
        names: names.len(),
        rows,
    })
}

/// The costs of a model that a table shows.
pub(crate) struct Costs {
    pub call_ns: f64,
    pub gather_call_ns: f64,
    pub segment_ns: f64,
    pub byte_ns: f64,
    pub copy_segment_ns: f64,
    pub copy_byte_ns: f64,
    pub regret_median: Option<f64>,
}

/// A row for each machine: its names, and its costs.
pub(crate) fn cost_table(
    title: &str,
    names: &[String],
    rows: Vec<(Vec<String>, Costs)>,
) -> Option<Grid> {
    let figures = [
        "call",
        "gather call",
        "segment",
        "byte",
        "copy segment",
        "copy byte",
        "regret",
    ];
    let row = |(names, costs): (Vec<String>, Costs)| {
        let figures = [
            three_digits(costs.call_ns),
            three_digits(costs.gather_call_ns),
            three_digits(costs.segment_ns),
            format!("{:.4}", costs.byte_ns),
            three_digits(costs.copy_segment_ns),
            format!("{:.4}", costs.copy_byte_ns),
            costs.regret_median.map_or("–".to_owned(), percent),
        ];
        names.into_iter().chain(figures).collect()
    };
    (!rows.is_empty()).then(|| Grid {
        title: format!(
            "{title}: cost model, times in ns; regret: slowdown against the fastest technique (median)"
        ),
        heads: names.iter().cloned().chain(figures.map(str::to_owned)).collect(),
        names: names.len(),
        rows: rows.into_iter().map(row).collect(),
    })
}
