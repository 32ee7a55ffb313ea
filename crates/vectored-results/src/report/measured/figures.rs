//! The figures of each cell, as a table.

use vectored_report::words::{ratio, time};
use vectored_report::{Cell as Entry, Column, Role, Table};

use crate::model::{Cell, Drain, Results, TechniqueName, Verdict};
use crate::report::measured::{Group, columns};
use crate::report::shape_text::list_of_cell;
use crate::report::target_names::has_tax;
use crate::report::words::{Words, verdict_in_words};
use crate::stats::TIE_ZONE;

/// The mark behind the list of a cell that was measured between the requested cells.
const REFINED_MARK: &str = "+";

/// A row for each cell: the requested cells in their order, with the cells between them inserted by size.
pub(super) fn table(group: &Group<'_>, results: &Results) -> Table {
    let techniques = columns(results);
    let has_tax = group.cells.iter().all(|cell| has_tax(cell));
    let row = |(is_refined, cell)| row(is_refined, cell, &techniques, &results.rivals);
    Table {
        title: if has_tax { "Time ÷ floor" } else { "Time per call" }.into(),
        columns: heads(group, &techniques, &results.rivals),
        rows: cells(group).into_iter().map(row).collect(),
    }
}

fn heads(group: &Group<'_>, techniques: &[TechniqueName], rivals: &[TechniqueName]) -> Vec<Column> {
    let list = if group.conditions.from.is_some() { "size" } else { "list" };
    let figures = |head: String, drop_order| Column {
        drop_order,
        ..Column::figures(head)
    };
    let mut heads = vec![Column::words(list), figures("floor".to_owned(), 3)];
    // Where room is short, unranked techniques leave first, then techniques that make a call for each segment, since these are
    // rarely near the fastest. The floor stays longer, since it is the only time in a row.
    heads.extend(techniques.iter().map(|&technique| match technique {
        _ if !rivals.contains(&technique) => figures(format!("unranked {technique}"), 1),
        TechniqueName::WRITE_EACH | TechniqueName::READ_EACH => figures(technique.to_string(), 2),
        _ => figures(technique.to_string(), 4),
    }));
    heads.push(Column::words("verdict"));
    heads
}

fn cells<'a>(group: &Group<'a>) -> Vec<(bool, &'a Cell)> {
    let mut cells: Vec<(bool, &Cell)> = group.cells.iter().map(|&cell| (false, cell)).collect();
    // Requested cells keep their order, and lists of one shape stay together.
    for &cell in &group.refined {
        let list = |cell: &Cell| (cell.segment_count, cell.swept_bytes());
        let is_below = |(_, other): &(bool, &Cell)| list(other) <= list(cell);
        let is_like = |(_, other): &(bool, &Cell)| other.shape() == cell.shape();
        let of_shape = cells
            .iter()
            .rposition(|other| is_like(other) && is_below(other));
        let last = of_shape.or_else(|| cells.iter().rposition(is_below));
        cells.insert(last.map_or(0, |last| last + 1), (true, cell));
    }
    cells
}

fn row(
    is_refined: bool,
    cell: &Cell,
    techniques: &[TechniqueName],
    rivals: &[TechniqueName],
) -> Vec<Entry> {
    let thread_mark = match cell.drain {
        Some(Drain::ReaderThread) => "r",
        Some(Drain::WriterThread) => "w",
        Some(Drain::BothThreads) => "rw",
        Some(Drain::BetweenSamples | Drain::Peer) | None => "",
    };
    let between = if is_refined { REFINED_MARK } else { "" };
    let label = format!("{} {between}{thread_mark}", list_of_cell(cell));
    let mut row: Vec<Entry> = vec![label.trim_end().into(), time(cell.floor_ns).into()];
    row.extend(
        techniques
            .iter()
            .map(|&technique| entry(cell, technique, rivals)),
    );
    row.push(Entry {
        text: verdict_in_words(cell, rivals, TechniqueName::as_str).into(),
        short: Some(verdict_in_words(cell, rivals, |technique| Words::of(technique).short).into()),
        role: match cell.verdict {
            Verdict::Faster => Role::Plain,
            Verdict::Tie => Role::Tie,
            Verdict::Close | Verdict::Open => Role::Open,
        },
    });
    row
}

fn entry(cell: &Cell, technique: TechniqueName, rivals: &[TechniqueName]) -> Entry {
    let Some(result) = cell.technique(technique) else {
        return "–".into();
    };
    let in_tie_zone = || {
        let rival = rivals.contains(&technique);
        let low = result.ratio_low.is_some_and(|low| low >= 1.0 - TIE_ZONE);
        let high = result.ratio_high.is_some_and(|high| high <= 1.0 + TIE_ZONE);
        cell.leader == Some(technique) || (rival && low && high)
    };
    let role = match cell.verdict {
        Verdict::Faster if cell.winner == Some(technique) => Role::Winner,
        Verdict::Tie if in_tie_zone() => Role::Tie,
        _ => Role::Plain,
    };
    let text = if has_tax(cell) {
        // Paired by round, as in verdicts and curves.
        ratio(result.floor_ratio.unwrap_or(result.gather_tax + 1.0))
    } else {
        time(result.median_ns)
    };
    Entry::with_role(text, role)
}
