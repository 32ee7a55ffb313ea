//! Comparison of machines: the crossovers of several runs beside each other.

use vectored_report::sort::distinct;
use vectored_report::words::{about_within, count};
use vectored_report::{Block, Column, Document, Sentence, Table, Tone, visible};

use crate::model::{Cell, Conditions, Crossover, ListShape, Results, Role, Verdict};
use crate::report::shape_text::shape_in_words;
use crate::report::target_names::{Titles, sections};

const LEAD: &str = "\
Several machines, kernels or file systems beside each other: the size of a segment below which copying, and above which \
gathering, is faster on each.";

/// A row for each target and each run that measured the target. A column for each segment count or swept mix. A sentence for
/// each target that some run lacks.
pub fn machines_document(runs: &[&Results]) -> Document {
    let all = || runs.iter().flat_map(|run| &run.cells);
    let (shapes, titles) = (shapes(all()), Titles::among(all()));
    let (mut answer, mut rows) = (Vec::new(), Vec::new());
    for kind in sections(all()) {
        let is_here = |run: &&Results| cells(run, kind).next().is_some();
        let (here, others): (Vec<&Results>, Vec<&Results>) =
            runs.iter().copied().partition(is_here);
        if !others.is_empty() {
            let names = others.into_iter().map(|run| machine_name(run, runs));
            let names = names.collect::<Vec<_>>().join("; ");
            let text = format!("not measured by {names}.");
            answer.push(Block::Sentence(Sentence::of(titles.of(kind), text)));
        }
        rows.extend(here.into_iter().map(|run| {
            let name = machine_name(run, runs);
            let names = [titles.of(kind), name, run.host.cpu.model.clone()];
            let of_shapes = shapes.iter().map(|&shape| crossover_text(run, kind, shape));
            names.into_iter().chain(of_shapes).map(Into::into).collect()
        }));
    }
    let names = ["target", "machine", "processor"].map(Column::words);
    let figures = shapes
        .iter()
        .map(|&shape| Column::figures(shape_in_words(shape)));
    let table = Table {
        title: "Crossovers: copy below, gather above; segment size, with its 95 % interval".into(),
        rows,
        columns: names.into_iter().chain(figures).collect(),
    };
    if shapes.is_empty() {
        let text =
            "No run has lists that differ only in a size, so there are no crossovers to compare.";
        answer = vec![Block::Sentence(Sentence::toned(Tone::Plain, text))];
    }
    let runs = count(runs.len(), "run");
    Document {
        title: format!("Copy or gather? {runs} beside each other").into(),
        lead: LEAD.into(),
        answer,
        body: (!shapes.is_empty())
            .then_some(Block::Table(table))
            .into_iter()
            .collect(),
        ..Document::default()
    }
}

/// `1.40 KiB [1.31, 1.52]`. The text names the techniques if the crossover is not from copying to gathering. Without a
/// crossover the text is [`no_crossover`].
fn crossover_text(run: &Results, kind: &Conditions, shape: ListShape<'_>) -> String {
    let text = |crossover: &Crossover| {
        let place = place(crossover);
        let Crossover { below, above, .. } = crossover;
        if (below.role(), above.role()) == (Role::Copy, Role::Gather) {
            place
        } else {
            format!("{below} to {place}, then {above}")
        }
    };
    let crossovers = run.crossovers_of(kind, shape).into_iter();
    let texts: Vec<String> = crossovers.map(text).collect();
    if !texts.is_empty() {
        return texts.join("; ");
    }
    let cells = cells(run, kind).filter(|cell| cell.shape() == shape);
    no_crossover(&cells.collect::<Vec<_>>())
}

fn cells<'a>(run: &'a Results, kind: &'a Conditions) -> impl Iterator<Item = &'a Cell> {
    let cells = run.cells.iter();
    cells.filter(move |cell| cell.conditions == *kind && cell.swept_bytes().is_some())
}

pub(crate) fn shapes<'a>(cells: impl Iterator<Item = &'a Cell>) -> Vec<ListShape<'a>> {
    let swept = cells.filter(|cell| cell.swept_bytes().is_some());
    distinct(swept.map(Cell::shape))
}

/// `host, 6.18.0`; several runs on one machine are distinguished by their start.
fn machine_name(run: &Results, runs: &[&Results]) -> String {
    fn machine(run: &Results) -> (&str, &str) {
        let kernel = &run.host.kernel;
        (&run.host.name, kernel.split(' ').next().unwrap_or(kernel))
    }
    let (host, release) = machine(run);
    let alike = runs
        .iter()
        .filter(|other| machine(other) == (host, release));
    let detail = if alike.count() > 1 { &run.started_at } else { release };
    visible(&format!("{host}, {detail}"))
}

/// The size of a crossover, with the interval: `1.40 KiB [1.31, 1.52]`.
pub(crate) fn place(of: &Crossover) -> String {
    about_within(of.at_bytes, of.low_bytes, of.high_bytes)
}

/// The text for `cells` of one shape that have no crossover: `none: copy-then-write` if this technique wins each cell,
/// `none: tie` if all tie, otherwise `not decided`.
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
