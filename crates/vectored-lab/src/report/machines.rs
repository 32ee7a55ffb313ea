//! Comparison of machines: crossovers and cost models by host.

use crate::model::{Cell, Crossover, ListShape, ModelSource, Results};
use crate::report::advice_figures::place;
use crate::report::crossover_text::no_crossover;
use crate::report::grid;
use crate::report::grid::Grid;
use crate::report::machine_tables::{
    Costs, cost_table, crossover_in_words, crossover_table, is_copy_to_gather,
};
use crate::report::shape_text::shape_in_words;
use crate::report::svg::{Group, MachineCrossover};
use crate::report::target_names::{SectionKey, Titles};
use crate::text::format;

/// Crossovers and cost models by machine, for a terminal of `width` columns.
///
/// # Examples
///
/// ```
/// assert_eq!(vectored_lab::report::machines_table(&[], 100), "");
/// ```
pub fn machines_table(runs: &[&Results], width: usize) -> String {
    grid::texts(&sheets(runs), width)
}

/// The same in Markdown.
pub fn machines_markdown(runs: &[&Results]) -> String {
    grid::markdowns(&sheets(runs))
}

/// For each target that any run measured, a table of crossovers (a row for each machine, a column for
/// each segment count or swept mix), followed by the tables of cost models.
pub(crate) fn sheets(runs: &[&Results]) -> Vec<Grid> {
    let (kinds, titles) = kinds(runs);
    let places = kinds
        .iter()
        .filter_map(|&kind| crossovers(runs, kind, &titles.of(kind)));
    let costs = kinds
        .iter()
        .filter_map(|&kind| models(runs, kind, &titles.of(kind)));
    places.chain(costs).collect()
}

/// The charts of crossovers: for each target that has some, its title and the machines by segment count.
pub(crate) fn charts(runs: &[&Results]) -> Vec<(String, Vec<Group>)> {
    let (kinds, titles) = kinds(runs);
    kinds
        .into_iter()
        .map(|kind| {
            let groups = shapes(runs, kind).into_iter().map(|shape| Group {
                title: shape_in_words(shape),
                machines: runs
                    .iter()
                    .filter(|run| is_measured(run, kind, shape))
                    .map(|run| machine_crossover(run, runs, kind, shape))
                    .collect(),
            });
            let is_found =
                |group: &Group| group.machines.iter().any(|crossover| crossover.at.is_ok());
            (titles.of(kind), groups.filter(is_found).collect())
        })
        .filter(|(_, groups): &(String, Vec<Group>)| !groups.is_empty())
        .collect()
}

fn machine_crossover(
    run: &Results,
    runs: &[&Results],
    kind: SectionKey<'_>,
    shape: ListShape<'_>,
) -> MachineCrossover {
    let of_machine = |run| {
        let [host, _, release, begun] = machine_names(run);
        ([host, release], begun)
    };
    let (machine, begun) = of_machine(run);
    // Several runs on one machine are distinguished by their start.
    let same = runs.iter().filter(|other| of_machine(other).0 == machine);
    let [host, release] = &machine;
    let machine = match same.count() {
        0 | 1 => format!("{host}, {release}"),
        _ => format!("{host}, {begun}"),
    };
    // Of several crossovers the chart shows the largest, above which gathering is faster.
    let last = run
        .crossovers
        .iter()
        .filter(|crossover| {
            is_of(crossover, kind, shape) && is_copy_to_gather(crossover.below, crossover.above)
        })
        .max_by(|a, b| a.at_bytes.total_cmp(&b.at_bytes));
    MachineCrossover {
        machine,
        at: match last {
            Some(found) => Ok((found.at_bytes, found.low_bytes, found.high_bytes)),
            None => Err(crossover_text(run, kind, shape)),
        },
    }
}

fn is_of(crossover: &Crossover, kind: SectionKey<'_>, shape: ListShape<'_>) -> bool {
    crossover.shape() == shape && SectionKey::of_conditions(&crossover.conditions) == kind
}

fn is_measured(run: &Results, kind: SectionKey<'_>, shape: ListShape<'_>) -> bool {
    let is_here = |cell: &Cell| SectionKey::of(cell) == kind && cell.shape() == shape;
    run.cells
        .iter()
        .any(|cell| is_here(cell) && cell.swept_bytes().is_some())
}

fn kinds<'a>(runs: &[&'a Results]) -> (Vec<SectionKey<'a>>, Titles) {
    let cells: Vec<&Cell> = runs.iter().flat_map(|run| &run.cells).collect();
    let titles = Titles::among(cells.iter().copied());
    let mut kinds: Vec<SectionKey<'_>> = cells.iter().map(|cell| SectionKey::of(cell)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    (kinds, titles)
}

/// The segment counts and swept mixes that any run measured.
fn shapes<'a>(runs: &[&'a Results], kind: SectionKey<'_>) -> Vec<ListShape<'a>> {
    let mut shapes: Vec<ListShape<'_>> = runs
        .iter()
        .flat_map(|run| &run.cells)
        .filter(|cell| SectionKey::of(cell) == kind && cell.swept_bytes().is_some())
        .map(|cell| cell.shape())
        .collect();
    shapes.sort_unstable();
    shapes.dedup();
    shapes
}

fn crossovers(runs: &[&Results], kind: SectionKey<'_>, title: &str) -> Option<Grid> {
    let shapes = shapes(runs, kind);
    let row = |run: &&Results| {
        let of_shape = shapes.iter().map(|&shape| crossover_text(run, kind, shape));
        machine_names(run).into_iter().chain(of_shape).collect()
    };
    crossover_table(
        title,
        &MACHINE_HEADS.map(str::to_owned),
        &shapes,
        runs.iter().map(row).collect(),
    )
}

/// `1.40 KiB [1.31, 1.52]`; with technique names if it is not from copying to gathering; [`no_crossover`]
/// if there is none.
fn crossover_text(run: &Results, kind: SectionKey<'_>, shape: ListShape<'_>) -> String {
    let texts: Vec<String> = run
        .crossovers
        .iter()
        .filter(|crossover| is_of(crossover, kind, shape))
        .map(|crossover| crossover_in_words(crossover.below, &place(crossover), crossover.above))
        .collect();
    if !texts.is_empty() {
        return texts.join("; ");
    }
    let cells: Vec<&Cell> = run
        .cells
        .iter()
        .filter(|cell| SectionKey::of(cell) == kind && cell.shape() == shape)
        .collect();
    no_crossover(&cells)
}

fn models(runs: &[&Results], kind: SectionKey<'_>, title: &str) -> Option<Grid> {
    let row = |run: &&Results| {
        let model = run.cost_models.iter().find(|model| {
            model.source == ModelSource::Cells
                && SectionKey::of_conditions(&model.conditions) == kind
                && model.judged_cells > 0
        })?;
        let costs = Costs {
            call_ns: model.call_ns,
            gather_call_ns: model.gather_call_ns,
            segment_ns: model.segment_ns,
            byte_ns: model.byte_ns,
            copy_segment_ns: model.copy_segment_ns,
            copy_byte_ns: model.copy_byte_ns,
            regret_median: model.regret_median,
        };
        Some((machine_names(run).to_vec(), costs))
    };
    cost_table(
        title,
        &MACHINE_HEADS.map(str::to_owned),
        runs.iter().filter_map(row).collect(),
    )
}

const MACHINE_HEADS: [&str; 4] = ["host", "processor", "kernel", "started"];

fn machine_names(run: &Results) -> [String; 4] {
    let release = run.host.kernel.split(' ').next().unwrap_or_default();
    [
        &run.host.name,
        &run.host.cpu.model,
        release,
        &run.started_at,
    ]
    .map(|text: &str| format::escape_control(text))
}
