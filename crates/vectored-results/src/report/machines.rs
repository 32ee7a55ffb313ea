//! Comparison of machines: the crossovers of several runs beside each other.

use vectored_report::sort;
use vectored_report::words::{about_within, count};
use vectored_report::{
    Bar, Bars, Block, Column, Document, Sentence, Series, Table, Tone, Unit, visible,
};

use crate::model::{Cell, Conditions, Crossover, ListShape, Results, TechniqueName, Verdict};
use crate::report::shape_text::shape_in_words;
use crate::report::target_names::{Titles, sections};

const LEAD: &str = "\
Several machines, kernels or file systems beside each other: the size of a segment below which copying, and above which \
gathering, is faster on each.";

/// Crossovers by target and machine.
pub fn machines_document(runs: &[&Results]) -> Document {
    let (answer, body) = match table(runs) {
        None => (
            vec![Block::Sentence(Sentence::toned(
                Tone::Plain,
                "No run has lists that differ only in a size, so there are no crossovers to compare.",
            ))],
            Vec::new(),
        ),
        Some(table) => (
            missing(runs),
            vec![Block::Bars(bars(runs)), Block::Table(table)],
        ),
    };
    Document {
        title: format!(
            "Copy or gather? {} beside each other",
            count(runs.len(), "run")
        )
        .into(),
        lead: LEAD.into(),
        answer,
        body,
        ..Document::default()
    }
}

/// A row for each target and each run that measured it, a column for each segment count or swept mix.
fn table(runs: &[&Results]) -> Option<Table> {
    let shapes = shapes(runs.iter().flat_map(|run| &run.cells));
    if shapes.is_empty() {
        return None;
    }
    let (kinds, titles) = kinds(runs);
    let rows = kinds.into_iter().flat_map(|kind| {
        let measured = runs
            .iter()
            .filter(move |run| cells(run, kind).next().is_some());
        let (shapes, titles) = (&shapes, &titles);
        measured.map(move |run| {
            let names = [
                titles.of(kind),
                machine_name(run, runs),
                run.host.cpu.model.clone(),
            ];
            let of_shapes = shapes.iter().map(|&shape| crossover_text(run, kind, shape));
            names.into_iter().chain(of_shapes).map(Into::into).collect()
        })
    });
    let names = ["target", "machine", "processor"]
        .map(Column::words)
        .into_iter();
    let figures = shapes
        .iter()
        .map(|&shape| Column::figures(shape_in_words(shape)));
    Some(Table {
        title: "Crossovers: copy below, gather above; segment size, with its 95 % interval".into(),
        rows: rows.collect(),
        columns: names.chain(figures).collect(),
    })
}

/// A sentence for each target that not every run has.
fn missing(runs: &[&Results]) -> Vec<Block> {
    let (kinds, titles) = kinds(runs);
    let sentence = |kind: &Conditions| {
        let without = runs.iter().filter(|run| cells(run, kind).next().is_none());
        let names: Vec<String> = without.map(|run| machine_name(run, runs)).collect();
        let text = format!("not measured by {}.", names.join("; "));
        (!names.is_empty()).then(|| Block::Sentence(Sentence::of(titles.of(kind), text)))
    };
    kinds.into_iter().filter_map(sentence).collect()
}

fn bars(runs: &[&Results]) -> Bars {
    let (kinds, titles) = kinds(runs);
    let mut bars = Vec::new();
    for kind in kinds {
        for shape in shapes(runs.iter().flat_map(|run| cells(run, kind))) {
            let here = runs
                .iter()
                .filter(|run| cells(run, kind).any(|cell| cell.shape() == shape));
            bars.extend(here.map(|run| {
                let found = last_crossover(run, kind, shape);
                Bar {
                    group: format!("{}, {}", titles.of(kind), shape_in_words(shape)).into(),
                    name: machine_name(run, runs).into(),
                    series: Series::new(3),
                    value: found.map(|crossover| crossover.at_bytes),
                    interval: found.map(|crossover| (crossover.low_bytes, crossover.high_bytes)),
                    words: crossover_text(run, kind, shape).into(),
                }
            }));
        }
    }
    Bars {
        title: "Copy below the mark, gather above; segment size, with its 95 % interval".into(),
        unit: Unit::Bytes,
        is_logarithmic: true,
        base: None,
        bars,
    }
}

/// The crossover to the largest size from which gathering is faster.
fn last_crossover<'a>(
    run: &'a Results,
    kind: &'a Conditions,
    shape: ListShape<'a>,
) -> Option<&'a Crossover> {
    crossovers(run, kind, shape)
        .filter(|crossover| is_copy_to_gather(crossover))
        .max_by(|a, b| a.at_bytes.total_cmp(&b.at_bytes))
}

/// `1.40 KiB [1.31, 1.52]`; with technique names if it is not from copying to gathering; [`no_crossover`]
/// if there is none.
fn crossover_text(run: &Results, kind: &Conditions, shape: ListShape<'_>) -> String {
    let texts = crossovers(run, kind, shape).map(|crossover| {
        if is_copy_to_gather(crossover) {
            place(crossover)
        } else {
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
pub(crate) fn shapes<'a>(cells: impl Iterator<Item = &'a Cell>) -> Vec<ListShape<'a>> {
    let swept = cells.filter(|cell| cell.swept_bytes().is_some());
    let mut shapes: Vec<ListShape<'_>> = swept.map(Cell::shape).collect();
    sort::sort(&mut shapes);
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
    visible(&format!("{}, {detail}", run.host.name))
}

/// The size of a crossover, with the interval: `1.40 KiB [1.31, 1.52]`.
pub(crate) fn place(crossover: &Crossover) -> String {
    about_within(
        crossover.at_bytes,
        crossover.low_bytes,
        crossover.high_bytes,
    )
}

/// The text for `cells` of one shape that have no crossover: `none: copy-then-write` if each
/// has this winner, `none: tie` if all tie, otherwise `not decided`.
fn no_crossover(cells: &[&Cell]) -> String {
    let mut outcomes = cells.iter().map(|cell| (cell.verdict, cell.winner));
    let Some(first) = outcomes.next() else {
        return "not measured".to_owned();
    };
    let is_same = outcomes.all(|outcome| outcome == first);
    match first {
        (Verdict::Faster, Some(winner)) if is_same => format!("none: {winner}"),
        (Verdict::Tie, _) if is_same => "none: tie".to_owned(),
        _ => "not decided".to_owned(),
    }
}
