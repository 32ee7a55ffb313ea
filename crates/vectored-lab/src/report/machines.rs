//! How machines differ: crossovers and cost models by host.

use super::advice::place;
use super::grid::{self, Grid};
use super::places::{Kind, Titles};
use super::words::{self, three_digits};
use crate::model::Technique::{CopyThenWrite, ReadThenSplit, Readv, Writev};
use crate::model::{Cell, ModelSource, Results};

/// Machines beside each other, for a terminal.
///
/// # Examples
///
/// ```
/// assert_eq!(vectored_lab::report::machines_table(&[]), "");
/// ```
pub fn machines_table(runs: &[&Results]) -> String {
    grid::texts(&sheets(runs))
}

/// The same for a document.
pub fn machines_markdown(runs: &[&Results]) -> String {
    grid::markdowns(&sheets(runs))
}

/// For each target that any of the runs measured a table of crossovers, a row a
/// machine and a column a segment count; then one each of cost models.
pub(super) fn sheets(runs: &[&Results]) -> Vec<Grid> {
    let cells: Vec<&Cell> = runs.iter().flat_map(|run| &run.cells).collect();
    let titles = Titles::among(cells.iter().copied());
    let mut kinds: Vec<Kind<'_>> = cells.iter().map(|cell| Kind::of(cell)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let borders = kinds
        .iter()
        .filter_map(|&kind| crossovers(runs, kind, &titles.of(kind)));
    let costs = kinds
        .iter()
        .filter_map(|&kind| models(runs, kind, &titles.of(kind)));
    borders.chain(costs).collect()
}

fn crossovers(runs: &[&Results], kind: Kind<'_>, title: &str) -> Option<Grid> {
    let mut counts: Vec<usize> = runs
        .iter()
        .flat_map(|run| &run.cells)
        .filter(|cell| Kind::of(cell) == kind && cell.segment_bytes.is_some())
        .map(|cell| cell.segment_count)
        .collect();
    counts.sort_unstable();
    counts.dedup();
    if counts.is_empty() {
        return None;
    }
    let mut heads = machine_heads();
    let names = heads.len();
    heads.extend(counts.iter().map(|count| words::count(*count, "segment")));
    let rows = runs.iter().map(|run| {
        let of_count = counts.iter().map(|&count| border(run, kind, count));
        machine_names(run).into_iter().chain(of_count).collect()
    });
    Some(Grid {
        title: format!("{title}: crossovers, copying below and gathering above"),
        heads,
        names,
        rows: rows.collect(),
    })
}

/// `1.40 KiB [1.31, 1.52]`, with names where it is not from copying to gathering; who wins everywhere where nothing changes.
fn border(run: &Results, kind: Kind<'_>, count: usize) -> String {
    let borders: Vec<String> = run
        .crossovers
        .iter()
        .filter(|crossover| {
            crossover.segment_count == count && Kind::of_conditions(&crossover.conditions) == kind
        })
        .map(|crossover| {
            let place = place(crossover);
            match (crossover.below, crossover.above) {
                (CopyThenWrite, Writev) | (ReadThenSplit, Readv) => place,
                (below, above) => format!("{below} to {place}, then {above}"),
            }
        })
        .collect();
    if !borders.is_empty() {
        return borders.join("; ");
    }
    let cells: Vec<&Cell> = run
        .cells
        .iter()
        .filter(|cell| Kind::of(cell) == kind && cell.segment_count == count)
        .collect();
    if cells.is_empty() {
        return "not measured".to_owned();
    }
    let mut winners: Vec<_> = cells.iter().filter_map(|cell| cell.winner).collect();
    winners.sort_unstable();
    winners.dedup();
    match winners[..] {
        [only] => format!("none: {only}"),
        _ => "none found".to_owned(),
    }
}

fn models(runs: &[&Results], kind: Kind<'_>, title: &str) -> Option<Grid> {
    let mut heads = machine_heads();
    let names = heads.len();
    let figures = [
        "call, ns",
        "gather call",
        "segment",
        "byte",
        "copy segment",
        "copy byte",
        "regret",
    ];
    heads.extend(figures.map(str::to_owned));
    let rows: Vec<Vec<String>> = runs
        .iter()
        .filter_map(|run| {
            let model = run.cost_models.iter().find(|model| {
                model.source == ModelSource::Cells
                    && Kind::of_conditions(&model.conditions) == kind
                    && model.judged_cells > 0
            })?;
            let figures = [
                three_digits(model.call_ns),
                three_digits(model.gather_call_ns),
                three_digits(model.segment_ns),
                format!("{:.4}", model.byte_ns),
                three_digits(model.copy_segment_ns),
                format!("{:.4}", model.copy_byte_ns),
                model.regret_median.map_or("–".to_owned(), words::percent),
            ];
            Some(machine_names(run).into_iter().chain(figures).collect())
        })
        .collect();
    (!rows.is_empty()).then(|| Grid {
        title: format!("{title}: cost model"),
        heads,
        names,
        rows,
    })
}

fn machine_heads() -> Vec<String> {
    ["host", "processor", "kernel", "begun"]
        .map(str::to_owned)
        .to_vec()
}

fn machine_names(run: &Results) -> Vec<String> {
    let release = run.host.kernel.split(' ').next().unwrap_or_default();
    [
        &run.host.name,
        &run.host.cpu.model,
        release,
        &run.started_at,
    ]
    .map(|text: &str| words::escape_control(text))
    .to_vec()
}
