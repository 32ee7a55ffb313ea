//! The table of any experiment.

use vectored_report::{Align, Cell, Column, Table};

use crate::model::{ExperimentRow, Reproduction};
use crate::report::experiments::layout::{Layout, comparable};

/// A line for all rows of the same names; columns for the figures of each group.
pub fn table(experiment: &Reproduction, layout: &Layout) -> Table {
    let named = |row| (layout.names(row), (layout.group)(row), row);
    let here = experiment.rows.iter().map(named);
    let published = comparable(experiment).iter().map(named);
    let rows: Vec<(Vec<String>, String, &ExperimentRow)> = here.chain(published).collect();
    let lines = lines(experiment.rows.iter().map(|row| layout.names(row)));
    let names = layout.names.iter().enumerate().map(|(index, (head, _))| {
        let cells = lines.iter().map(|line| {
            let is_part = |row: &ExperimentRow| row.copied_bytes.is_some_and(|bytes| bytes > 0);
            let mut of_line = rows.iter().filter(|(names, ..)| names == line);
            let mark = if index == 0 && of_line.any(|row| is_part(row.2)) { " *" } else { "" };
            Some(format!("{}{mark}", line[index]))
        });
        (Column::words(*head), cells.collect())
    });
    let mut columns: Vec<(Column, Vec<Option<String>>)> = names.collect();
    let mut groups: Vec<&String> = Vec::new();
    for (_, group, _) in &rows {
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    for group in groups {
        for figure in layout.figures {
            let cells = lines.iter().map(|line| {
                let mut rows = rows.iter();
                let (.., row) = rows.find(|(names, of, _)| (names, of) == (line, group))?;
                figure.text(experiment, layout.in_seconds, row)
            });
            let cells: Vec<Option<String>> = cells.collect();
            let column = Column {
                head: figure.head(experiment, layout.in_seconds).into(),
                group: format!("{group}:").into(),
                align: Align::Right,
                tooltip: figure.meaning().1.into(),
                ..Column::default()
            };
            let mut texts = cells.iter().flatten();
            // A column of bases alone says nothing.
            if texts.any(|text| text != "1") {
                columns.push((column, cells));
            }
        }
    }
    let cell = |text: &Option<String>| Cell::from(text.as_deref().unwrap_or("–"));
    Table {
        rows: (0..lines.len())
            .map(|line| {
                columns
                    .iter()
                    .map(|(_, cells)| cell(&cells[line]))
                    .collect()
            })
            .collect(),
        columns: columns.into_iter().map(|(column, _)| column).collect(),
        ..Table::default()
    }
}

/// The names, each once. Lines that differ in their last name alone stand together.
pub fn lines(names: impl Iterator<Item = Vec<String>>) -> Vec<Vec<String>> {
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
