//! A table with one line for each cell of a run.

use vectored_results::model::{Cell, Drain, Results, TechniqueName};
use vectored_results::report::left_out_in_words;

use crate::grid::name_of;
use crate::promises::{Row, Section};
use crate::techniques::{ADAPTIVES, BY_HAND, CONTROL, peers_and_c_callers};

/// Every cell with its floor and the time ÷ floor of each technique, then the cells that were left out.
pub fn table(results: &Results) -> String {
    let all = [&BY_HAND[..], &[CONTROL], &ADAPTIVES, &peers_and_c_callers()].concat();
    let is_measured = |&technique: &TechniqueName| {
        let mut cells = results.cells.iter();
        cells.any(|cell| cell.technique(technique).is_some())
    };
    let columns: Vec<TechniqueName> = all.into_iter().filter(is_measured).collect();
    let names = columns.iter().map(TechniqueName::to_string);
    let section = Section {
        title: "Floor (one write of the same bytes), and time ÷ floor. r: a thread read meanwhile"
            .to_owned(),
        columns: ["floor".to_owned()].into_iter().chain(names).collect(),
        rows: results
            .cells
            .iter()
            .map(|cell| row(cell, &columns))
            .collect(),
        notes: left_out_in_words(&results.left_out)
            .into_iter()
            .map(|(reason, cells)| format!("Not measured ({reason}): {cells}"))
            .collect(),
    };
    section.text()
}

fn row(cell: &Cell, columns: &[TechniqueName]) -> Row {
    let mark = match cell.drain {
        Some(Drain::ReaderThread) => " r",
        _ => "",
    };
    let floor = format!("{:.0} ns{mark}", cell.floor_ns);
    let factors = columns.iter().map(|&technique| {
        let result = cell.technique(technique);
        result.map_or_else(
            || "–".to_owned(),
            |result| format!("{:.2}", 1.0 + result.gather_tax),
        )
    });
    Row::plain(name_of(cell), [floor].into_iter().chain(factors).collect())
}
