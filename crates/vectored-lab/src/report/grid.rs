//! Plain tables of texts, for a terminal and for a document.

use super::markdown::escape;

/// A title, heads, and rows of as many texts.
pub(super) struct Grid {
    pub title: String,
    pub heads: Vec<String>,
    /// How many columns from the left are names, rather than figures, which are
    /// set to the right.
    pub names: usize,
    pub rows: Vec<Vec<String>>,
}

/// For a terminal, an empty line between two.
pub(super) fn texts(grids: &[Grid]) -> String {
    grids.iter().map(text).collect::<Vec<_>>().join("\n")
}

/// For a document.
pub(super) fn markdowns(grids: &[Grid]) -> String {
    grids.iter().map(markdown).collect::<Vec<_>>().join("\n")
}

pub(super) fn text(grid: &Grid) -> String {
    let width = |text: &String| text.chars().count();
    let widths: Vec<usize> = (0..grid.heads.len())
        .map(|column| {
            let cells = grid.rows.iter().map(|row| width(&row[column]));
            cells.chain([width(&grid.heads[column])]).max().unwrap_or(0)
        })
        .collect();
    let mut text = format!("{}\n", grid.title);
    for row in [&grid.heads].into_iter().chain(&grid.rows) {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            line += &match column < grid.names {
                true => format!("{cell:<width$}  "),
                false => format!("{cell:>width$}  "),
            };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

pub(super) fn markdown(grid: &Grid) -> String {
    let mut text = format!("**{}**\n\n|", escape(&grid.title));
    for head in &grid.heads {
        text += &format!(" {} |", escape(head));
    }
    text += "\n|";
    for column in 0..grid.heads.len() {
        text += if column < grid.names { "---|" } else { "---:|" };
    }
    text.push('\n');
    for row in &grid.rows {
        text.push('|');
        for cell in row {
            text += &format!(" {} |", escape(cell));
        }
        text.push('\n');
    }
    text
}
