//! Rows of a table: what is promised and what was found.

use std::fmt::Write as _;

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it is about.
    pub what: String,
    /// What was found, a column each.
    pub found: Vec<String>,
    /// Whether that is what is promised; `None` where nothing is.
    pub met: Option<bool>,
}

impl Row {
    /// A row about which nothing is promised.
    pub fn plain(what: impl Into<String>, found: Vec<String>) -> Self {
        Row {
            what: what.into(),
            found,
            met: None,
        }
    }
}

/// Rows of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// What the rows have in common, and what is promised.
    pub title: String,
    /// Names of the columns of [`Row::found`].
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
    /// What else is to be known, a line each.
    pub notes: Vec<String>,
}

impl Section {
    /// As text, columns under their names, `ok` or `NOT MET` at the end.
    pub fn text(&self) -> String {
        let cell = |row: &Row, column: usize| row.found.get(column).cloned().unwrap_or_default();
        let length = |text: &String| text.chars().count();
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|column| {
                let found = self.rows.iter().map(|row| length(&cell(row, column)));
                found
                    .chain([length(&self.columns[column])])
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let whats = self.rows.iter().map(|row| length(&row.what));
        let first = whats.max().unwrap_or(0);
        let line = |what: &str, found: &dyn Fn(usize) -> String, met: Option<bool>| {
            let mut line = format!("  {what:<first$}");
            for (column, &width) in widths.iter().enumerate() {
                let _ = write!(line, "  {:>width$}", found(column));
            }
            line += match met {
                Some(true) => "  ok",
                Some(false) => "  NOT MET",
                None => "",
            };
            line.trim_end().to_owned() + "\n"
        };
        let mut text = format!("{}\n", self.title);
        if self.rows.is_empty() {
            return text + "  no such cells\n";
        }
        text += &line("", &|column| self.columns[column].clone(), None);
        for row in &self.rows {
            text += &line(&row.what, &|column| cell(row, column), row.met);
        }
        for note in &self.notes {
            let _ = writeln!(text, "  {note}");
        }
        text
    }
}

/// A share as percent.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A ratio.
pub fn factor(ratio: f64) -> String {
    format!("{ratio:.3}")
}
