//! The results of one command, by time and commit.

use serde::Serialize;
use vectored_report::words::{NONE, count, grouped};
use vectored_report::{Block, Cell, Column, Document, Sentence, Table, Tone};

use crate::model::{Compared, Versus};
use crate::report::answer::ratio_in_words;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryRow {
    /// The name that `vectored report` and `vectored compare` accept.
    pub name: String,
    pub started_at: String,
    pub commit: Option<String>,
    pub old_command: String,
    pub rounds: usize,
    pub time: Option<Compared>,
    pub calls: Option<Compared>,
    pub writes: Option<Compared>,
}

pub fn history_rows(name: &str, of: &Versus, command: &str) -> Vec<HistoryRow> {
    let found = of.new.iter().filter(|one| one.side.command == command);
    let row = found.map(|one| HistoryRow {
        name: name.to_owned(),
        started_at: of.started_at.clone(),
        commit: of.commit.clone(),
        old_command: of.old.command.clone(),
        rounds: of.old.runs.len(),
        time: one.figure("wall_ns").cloned(),
        calls: one.figure("calls").cloned(),
        writes: one.figure("writes").cloned(),
    });
    row.collect()
}

/// `rows` has the newest result first.
pub fn history_document(command: &str, rows: &[HistoryRow]) -> Document {
    let cells = |row: &HistoryRow| -> Vec<Cell> {
        let time = row.time.as_ref().and_then(ratio_in_words);
        let number = |of: &Option<Compared>| {
            let number = of.as_ref().map(|of| grouped(of.new.round() as u64));
            number.unwrap_or_else(|| NONE.to_owned()).into()
        };
        vec![
            row.name.as_str().into(),
            row.started_at.as_str().into(),
            row.commit.as_deref().unwrap_or(NONE).into(),
            row.old_command.as_str().into(),
            time.unwrap_or_else(|| NONE.to_owned()).into(),
            number(&row.calls),
            number(&row.writes),
        ]
    };
    let mut columns: Vec<Column> = ["result", "began", "commit", "old"]
        .map(Column::words)
        .into();
    columns.extend(["time, new ÷ old", "calls", "writes"].map(Column::figures));
    let answer = format!(
        "{} in which '{command}' is new",
        count(rows.len(), "result")
    );
    Document {
        title: command.into(),
        lead: "Results of `vectored versus`, the newest first.".into(),
        answer: vec![Block::Sentence(Sentence::toned(Tone::Plain, answer))],
        body: vec![Block::Table(Table {
            columns,
            rows: rows.iter().map(cells).collect(),
            ..Table::default()
        })],
        ..Document::default()
    }
}
