//! Times of single transfers.

use vectored_report::words::{grouped, time};
use vectored_report::{Block, Cell as Entry, Column, Section, Table};

use crate::model::{Cell, Results};
use crate::report::measured::groups;
use crate::report::shape_text::list_of_cell;

/// A table for each set of conditions with latencies.
pub(super) fn sections(results: &Results) -> Vec<Section> {
    let groups = groups(results).into_iter().filter_map(|group| {
        let rows: Vec<Vec<Entry>> = group.cells.iter().flat_map(|cell| rows(cell)).collect();
        (!rows.is_empty()).then(|| Section {
            title: format!("Latency of a transfer: {}", group.title).into(),
            blocks: vec![Block::Table(Table {
                columns: columns(),
                rows,
                ..Table::default()
            })],
        })
    });
    groups.collect()
}

fn columns() -> Vec<Column> {
    let figures = ["median", "99 %", "99.9 %", "transfers"].map(Column::figures);
    let names = ["list", "technique"].map(Column::words);
    names.into_iter().chain(figures).collect()
}

/// A row for each technique; only the first one has the list.
fn rows(cell: &Cell) -> Vec<Vec<Entry>> {
    let mut list = list_of_cell(cell);
    let shown = |ns: Option<f64>| ns.map_or_else(|| "–".to_owned(), time);
    let rows = cell.techniques.iter().filter_map(|technique| {
        let latency = &technique.latency;
        let transfers = latency.latency_transfers?;
        let texts = [
            std::mem::take(&mut list),
            technique.name.to_string(),
            shown(latency.latency_p50_ns),
            shown(latency.latency_p99_ns),
            shown(latency.latency_p999_ns),
            grouped(transfers),
        ];
        Some(texts.map(Entry::from).to_vec())
    });
    rows.collect()
}
