//! Comparison of machines: the crossovers of several runs beside each other.

use crate::model::{Cell, Conditions, Crossover, ListShape, Results, TechniqueName};
use crate::report::advice_figures::place;
use crate::report::crossover_text::no_crossover;
use crate::report::grid::{self, Grid};
use crate::report::shape_text::shape_in_words;
use crate::report::svg::{Group, MachineCrossover};
use crate::report::target_names::{Titles, sections};
use crate::text::format::escape_control;

/// Stands in place of a table without columns.
const NO_SIZES: &str =
    "No run has lists that differ only in a size, so there are no crossovers to compare.\n";

/// Crossovers by target and machine, for a terminal of `width` columns.
///
/// # Examples
///
/// ```
/// assert!(vectored_lab::report::machines_table(&[], 100).contains("no crossovers"));
/// ```
pub fn machines_table(runs: &[&Results], width: usize) -> String {
    grid(runs).map_or(NO_SIZES.to_owned(), |grid| grid::text(&grid, width))
}

/// The table in Markdown.
pub fn machines_markdown(runs: &[&Results]) -> String {
    grid(runs).map_or(NO_SIZES.to_owned(), |grid| grid::markdown(&grid))
}

/// A row for each target and each run that measured it, a column for each segment count or swept mix.
pub(crate) fn grid(runs: &[&Results]) -> Option<Grid> {
    let shapes = shapes(runs.iter().flat_map(|run| &run.cells));
    if shapes.is_empty() {
        return None;
    }
    let (kinds, titles) = kinds(runs);
    let names = ["target", "machine", "processor"].map(str::to_owned);
    let rows = kinds.into_iter().flat_map(|kind| {
        let measured = runs
            .iter()
            .filter(move |run| cells(run, kind).next().is_some());
        let (shapes, titles) = (&shapes, &titles);
        measured.map(move |run| {
            let names = [
                titles.of(kind),
                machine_name(run, runs),
                escape_control(&run.host.cpu.model),
            ];
            let of_shapes = shapes.iter().map(|&shape| crossover_text(run, kind, shape));
            names.into_iter().chain(of_shapes).collect()
        })
    });
    Some(Grid {
        title: "Crossovers: copy below, gather above; segment size, with its 95 % interval"
            .to_owned(),
        names: names.len(),
        rows: rows.collect(),
        heads: names
            .into_iter()
            .chain(shapes.iter().map(|&shape| shape_in_words(shape)))
            .collect(),
    })
}

/// The chart of crossovers: the machines by target and list, without lists that have a crossover on no machine.
pub(crate) fn groups(runs: &[&Results]) -> Vec<Group> {
    let (kinds, titles) = kinds(runs);
    let of_kind = |kind| {
        let shapes = shapes(runs.iter().flat_map(|run| cells(run, kind)));
        let title = titles.of(kind);
        shapes.into_iter().map(move |shape| Group {
            title: format!("{title}, {}", shape_in_words(shape)),
            machines: runs
                .iter()
                .filter(|run| cells(run, kind).any(|cell| cell.shape() == shape))
                .map(|run| MachineCrossover {
                    machine: machine_name(run, runs),
                    at: last_crossover(run, kind, shape),
                })
                .collect(),
        })
    };
    let is_found = |group: &Group| group.machines.iter().any(|machine| machine.at.is_ok());
    kinds
        .into_iter()
        .flat_map(of_kind)
        .filter(is_found)
        .collect()
}

/// The largest size from which gathering is faster, and its interval; or the text in its place.
fn last_crossover(
    run: &Results,
    kind: &Conditions,
    shape: ListShape<'_>,
) -> Result<(f64, f64, f64), String> {
    crossovers(run, kind, shape)
        .filter(|crossover| is_copy_to_gather(crossover))
        .max_by(|a, b| a.at_bytes.total_cmp(&b.at_bytes))
        .map(|found| (found.at_bytes, found.low_bytes, found.high_bytes))
        .ok_or_else(|| crossover_text(run, kind, shape))
}

/// `1.40 KiB [1.31, 1.52]`; with technique names if it is not from copying to gathering; [`no_crossover`]
/// if there is none.
fn crossover_text(run: &Results, kind: &Conditions, shape: ListShape<'_>) -> String {
    let texts = crossovers(run, kind, shape).map(|crossover| match is_copy_to_gather(crossover) {
        true => place(crossover),
        false => {
            let Crossover { below, above, .. } = crossover;
            format!("{below} to {}, then {above}", place(crossover))
        }
    });
    let texts: Vec<String> = texts.collect();
    if !texts.is_empty() {
        return texts.join("; ");
    }
    let cells = cells(run, kind).filter(|cell| cell.shape() == shape);
    no_crossover(&cells.collect::<Vec<_>>())
}

/// Whether a crossover is one from copying to gathering, or for reads from splitting to scattering.
fn is_copy_to_gather(crossover: &Crossover) -> bool {
    matches!(
        (crossover.below, crossover.above),
        (TechniqueName::COPY_THEN_WRITE, TechniqueName::WRITEV)
            | (TechniqueName::READ_THEN_SPLIT, TechniqueName::READV)
    )
}

fn crossovers<'a>(
    run: &'a Results,
    kind: &'a Conditions,
    shape: ListShape<'a>,
) -> impl Iterator<Item = &'a Crossover> {
    run.crossovers
        .iter()
        .filter(move |crossover| crossover.shape() == shape && crossover.conditions == *kind)
}

fn cells<'a>(run: &'a Results, kind: &'a Conditions) -> impl Iterator<Item = &'a Cell> {
    let cells = run.cells.iter();
    cells.filter(move |cell| cell.conditions == *kind && cell.swept_bytes().is_some())
}

fn kinds<'a>(runs: &[&'a Results]) -> (Vec<&'a Conditions>, Titles) {
    let cells = || runs.iter().flat_map(|run| &run.cells);
    (sections(cells()), Titles::among(cells()))
}

/// The segment counts and swept mixes of these cells.
fn shapes<'a>(cells: impl Iterator<Item = &'a Cell>) -> Vec<ListShape<'a>> {
    let swept = cells.filter(|cell| cell.swept_bytes().is_some());
    let mut shapes: Vec<ListShape<'_>> = swept.map(Cell::shape).collect();
    shapes.sort_unstable();
    shapes.dedup();
    shapes
}

/// `host, 6.18.0`; several runs on one machine are distinguished by their start.
fn machine_name(run: &Results, runs: &[&Results]) -> String {
    let release = |run: &Results| {
        run.host
            .kernel
            .split(' ')
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let is_same =
        |other: &&&Results| other.host.name == run.host.name && release(other) == release(run);
    let detail = match runs.iter().filter(is_same).count() {
        0 | 1 => release(run),
        _ => run.started_at.clone(),
    };
    escape_control(&format!("{}, {detail}", run.host.name))
}
