//! Tables of what is promised and what was found.

use std::fmt::Write as _;

/// One row of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The name of the row.
    pub what: String,
    /// The figures, one for each column.
    pub found: Vec<String>,
    /// Whether the promise is kept; `None` if nothing is promised.
    pub met: Option<bool>,
}

impl Row {
    /// A row without a promise.
    pub fn plain(what: impl Into<String>, found: Vec<String>) -> Self {
        Row {
            what: what.into(),
            found,
            met: None,
        }
    }
}

/// A table with a title.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The content of the rows, and the promise that they test.
    pub title: String,
    /// Names of the columns of [`Row::found`].
    pub columns: Vec<String>,
    /// The rows in the order of the output.
    pub rows: Vec<Row>,
    /// Lines below the table.
    pub notes: Vec<String>,
}

impl Section {
    /// The table as text. A row with a promise ends with `ok` or `NOT MET`.
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

/// Names of columns.
pub fn names(columns: &[&str]) -> Vec<String> {
    columns.iter().map(|&column| column.to_owned()).collect()
}

/// A share, in percent.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A ratio with three decimals, or a dash.
pub fn factor_or_dash(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "–".to_owned(), factor)
}

/// A ratio, with three decimals.
pub fn factor(ratio: f64) -> String {
    format!("{ratio:.3}")
}
