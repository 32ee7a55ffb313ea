//! The table of any experiment.

use vectored_report::words::NONE;
use vectored_report::{Cell, Column, Table, each_once};

use crate::model::{ExperimentRow, Reproduction};
use crate::report::experiments::layout::{Layout, comparable};

/// A line for all rows of the same names; columns for the figures of each group.
pub fn table(experiment: &Reproduction, layout: &Layout) -> Table {
    let named = |row| (layout.names(row), (layout.group)(row), row);
    let here = experiment.rows.iter().map(named);
    let published = comparable(experiment).iter().map(named);
    let rows: Vec<(Vec<String>, String, &ExperimentRow)> = here.chain(published).collect();
    let lines = lines(experiment.rows.iter().map(|row| layout.names(row)));
    let mut columns: Vec<Column> = Vec::new();
    let mut cells: Vec<Vec<Cell>> = vec![Vec::new(); lines.len()];
    for (index, (head, _)) in layout.names.iter().enumerate() {
        columns.push(Column::words(*head));
        for (line, cells) in std::iter::zip(&lines, &mut cells) {
            let is_part = |row: &ExperimentRow| row.copied_bytes.is_some_and(|bytes| bytes > 0);
            let mut of_line = rows.iter().filter(|(names, ..)| names == line);
            let mark = if index == 0 && of_line.any(|row| is_part(row.2)) { " *" } else { "" };
            cells.push(format!("{}{mark}", line[index]).into());
        }
    }
    let groups = each_once(rows.iter().map(|(_, group, _)| group));
    let of_group = |group| layout.figures.iter().map(move |figure| (group, figure));
    for (group, figure) in groups.into_iter().flat_map(of_group) {
        let text = |line| {
            let mut rows = rows.iter();
            let (.., row) = rows.find(|(names, of, _)| (names, of) == (line, group))?;
            figure.text(experiment, layout.in_seconds, row)
        };
        let texts: Vec<Option<String>> = lines.iter().map(text).collect();
        // A column of bases alone says nothing.
        if texts.iter().flatten().all(|text| text == "1") {
            continue;
        }
        columns.push(Column {
            group: format!("{group}:").into(),
            ..Column::figures(figure.head(experiment, layout.in_seconds))
        });
        for (text, cells) in std::iter::zip(texts, &mut cells) {
            cells.push(text.as_deref().unwrap_or(NONE).into());
        }
    }
    Table {
        rows: cells,
        columns,
        ..Table::default()
    }
}

/// The names, each once. Lines that differ in their last name alone stand together.
fn lines(names: impl Iterator<Item = Vec<String>>) -> Vec<Vec<String>> {
    let mut lines: Vec<Vec<String>> = Vec::new();
    for line in names {
        let group = |other: &Vec<String>| other.split_last().map(|(_, group)| group.to_vec());
        let last = lines.iter().rposition(|other| group(other) == group(&line));
        if !lines.contains(&line) {
            lines.insert(last.map_or(lines.len(), |last| last + 1), line);
        }
    }
    lines
}
