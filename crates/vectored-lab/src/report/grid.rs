//! Simple tables of texts, for a terminal and for Markdown.

use crate::report::screen::width as length;
use crate::text::format::escape_markdown;

/// A title, column heads, and rows of texts.
pub(crate) struct Grid {
    pub title: String,
    pub heads: Vec<String>,
    /// The number of columns on the left that hold names. The others hold figures, which are
    /// right-aligned.
    pub names: usize,
    pub rows: Vec<Vec<String>>,
}

/// Blanks between two columns.
const GAP: usize = 2;

/// Tables for a terminal of `width` columns, separated by an empty line.
pub(crate) fn texts(grids: &[Grid], width: usize) -> String {
    let texts = grids.iter().map(|grid| text(grid, width));
    texts.collect::<Vec<_>>().join("\n")
}

/// Tables for Markdown.
pub(crate) fn markdowns(grids: &[Grid]) -> String {
    grids.iter().map(markdown).collect::<Vec<_>>().join("\n")
}

/// Breaks a text between words into lines of `width` columns, all but the first indented by
/// `indent` blanks. A longer word has a line of its own.
pub fn paragraph(text: &str, indent: usize, width: usize) -> String {
    let words = text.split(' ').map(str::to_owned);
    let lines = filled(words, width.saturating_sub(indent));
    let separator = format!("\n{:indent$}", "");
    format!("{}\n", lines.join(&separator))
}

/// A table. If it is too wide, cells are broken into several lines; if it still is, each row becomes a
/// list of its cells.
pub(crate) fn text(grid: &Grid, width: usize) -> String {
    let mut text = paragraph(&grid.title, 2, width);
    let Some(widths) = column_widths(grid, width) else {
        let lists = grid.rows.iter().map(|row| list(&grid.heads, row, width));
        return text + &lists.collect::<Vec<_>>().join("\n");
    };
    for (index, row) in [&grid.heads].into_iter().chain(&grid.rows).enumerate() {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let is_name = index == 0 || column < grid.names;
            filled(pieces(cell, is_name), widths[column])
        });
        let cells: Vec<Vec<String>> = cells.collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        for level in 0..height {
            let mut line = String::new();
            for (column, lines) in cells.iter().enumerate() {
                let width = widths[column];
                // Heads are bottom-aligned, other cells top-aligned.
                let skipped = if index == 0 { height - lines.len() } else { 0 };
                let piece = level
                    .checked_sub(skipped)
                    .and_then(|place| lines.get(place));
                let piece = piece.map_or("", String::as_str);
                line += &match column < grid.names {
                    true => format!("{piece:<width$}"),
                    false => format!("{piece:>width$}"),
                };
                line += &" ".repeat(GAP);
            }
            text += line.trim_end();
            text.push('\n');
        }
    }
    text
}

/// The widths of the columns of a table of at most `width` columns: the widest columns are narrowed, down
/// to their longest piece. `None` if the table remains too wide.
fn column_widths(grid: &Grid, width: usize) -> Option<Vec<usize>> {
    let widest = |column: usize, of: &dyn Fn(&str, bool) -> usize| {
        let cells = grid
            .rows
            .iter()
            .map(|row| of(&row[column], column < grid.names));
        cells
            .chain([of(&grid.heads[column], true)])
            .max()
            .unwrap_or(0)
    };
    let columns = 0..grid.heads.len();
    let whole = |cell: &str, _: bool| length(cell);
    let longest = |cell: &str, is_name: bool| {
        let pieces = pieces(cell, is_name);
        pieces.map(|piece| length(&piece)).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = columns
        .clone()
        .map(|column| widest(column, &whole))
        .collect();
    let least: Vec<usize> = columns.map(|column| widest(column, &longest)).collect();
    let gaps = GAP * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > width {
        let narrowable = (0..widths.len()).filter(|&column| widths[column] > least[column]);
        let column = narrowable.max_by_key(|&column| widths[column])?;
        widths[column] -= 1;
    }
    // A narrowed column may use less than its width.
    let used = |cell: &str, is_name: bool, most: usize| {
        let lines = filled(pieces(cell, is_name), most);
        lines.iter().map(|line| length(line)).max().unwrap_or(0)
    };
    let used = (0..)
        .zip(&widths)
        .map(|(column, &most)| widest(column, &|cell: &str, is_name| used(cell, is_name, most)));
    Some(used.collect())
}

/// A row as one line for each head and cell.
fn list(heads: &[String], row: &[String], width: usize) -> String {
    let indent = heads.iter().map(|head| length(head)).max().unwrap_or(0) + GAP;
    let lines = std::iter::zip(heads, row).filter(|(_, cell)| !cell.is_empty());
    let lines = lines.map(|(head, cell)| {
        let head_width = indent - GAP;
        let head = format!("{head:<head_width$}{:GAP$}", "");
        head + &paragraph(cell, indent, width)
    });
    lines.collect()
}

/// The unbreakable pieces of a cell: a word of a name, a figure with its unit, an interval.
fn pieces(cell: &str, is_name: bool) -> impl Iterator<Item = String> {
    let mut pieces: Vec<String> = Vec::new();
    for word in cell.split(' ') {
        let begins = |piece: &str| is_name || word.starts_with('[') || piece.ends_with([';', ':']);
        match pieces.last_mut() {
            Some(piece) if !begins(piece) => {
                piece.push(' ');
                piece.push_str(word);
            }
            _ => pieces.push(word.to_owned()),
        }
    }
    pieces.into_iter()
}

/// Breaks `pieces` into lines of at most `width` columns; a longer piece has a line of its own.
fn filled(pieces: impl Iterator<Item = String>, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in pieces {
        match lines.last_mut() {
            Some(line) if length(line) + 1 + length(&piece) <= width => {
                line.push(' ');
                line.push_str(&piece);
            }
            _ => lines.push(piece),
        }
    }
    lines
}

pub(crate) fn markdown(grid: &Grid) -> String {
    let mut text = format!("**{}**\n\n|", escape_markdown(&grid.title));
    for head in &grid.heads {
        text += &format!(" {} |", escape_markdown(head));
    }
    text += "\n|";
    for column in 0..grid.heads.len() {
        text += if column < grid.names { "---|" } else { "---:|" };
    }
    text.push('\n');
    for row in &grid.rows {
        text.push('|');
        for cell in row {
            text += &format!(" {} |", escape_markdown(cell));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A table in which each word occurs once.
    fn grid(shape: Vec<Vec<usize>>, names: usize) -> Grid {
        let mut number = 0;
        let mut cell = |lengths: &usize| {
            let words = (1..=1 + lengths % 3).map(|word| {
                number += 1;
                format!("{number}{}", "x".repeat((lengths * word) % 9))
            });
            words.collect::<Vec<_>>().join(" ")
        };
        let mut rows: Vec<Vec<String>> = shape
            .iter()
            .map(|row| row.iter().map(&mut cell).collect())
            .collect();
        Grid {
            title: "a title of some words".to_owned(),
            heads: rows.remove(0),
            names,
            rows,
        }
    }

    proptest! {
        #[test]
        fn no_table_is_wider_than_its_words_ask_for(
            columns in 1_usize..7,
            cells in prop::collection::vec(0_usize..40, 14..60),
            names in 0_usize..7,
            width in 8_usize..120,
        ) {
            let shape: Vec<Vec<usize>> = cells.chunks_exact(columns).map(<[usize]>::to_vec).collect();
            let grid = grid(shape, names);
            let text = text(&grid, width);
            // In a list a head stands before each word.
            let cells = || grid.rows.iter().flatten();
            let word = cells().flat_map(|cell| cell.split(' ')).map(length).max();
            let head = grid.heads.iter().map(|head| length(head)).max();
            let least = head.unwrap_or(0) + GAP + word.unwrap_or(0);
            for line in text.lines() {
                prop_assert!(length(line) <= width.max(least), "{}", text);
            }
            let words: Vec<&str> = text.split_whitespace().collect();
            for word in grid.heads.iter().chain(cells()).flat_map(|cell| cell.split(' ')) {
                prop_assert!(words.contains(&word), "{} is cut in\n{}", word, text);
            }
        }
    }

    #[test]
    fn a_table_becomes_narrower_and_then_a_list() {
        let texts = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let grid = Grid {
            title: "A title".to_owned(),
            heads: texts(["host", "processor", "2 segments"]),
            names: 2,
            rows: vec![texts(["one", "Some Processor", "1.40 KiB [1.31, 1.52]"])],
        };
        let wide = "A title\n\
                    host  processor                  2 segments\n\
                    one   Some Processor  1.40 KiB [1.31, 1.52]\n";
        assert_eq!(text(&grid, 80), wide);
        assert_eq!(text(&grid, 43), wide);
        let narrow = "A title\n\
                      host  processor    2 segments\n\
                      one   Some           1.40 KiB\n\
                      \x20     Processor  [1.31, 1.52]\n";
        assert_eq!(text(&grid, 33), narrow);
        let list = "A title\n\
                    host        one\n\
                    processor   Some\n\
                    \x20           Processor\n\
                    2 segments  1.40 KiB\n\
                    \x20           [1.31,\n\
                    \x20           1.52]\n";
        assert_eq!(text(&grid, 22), list);
    }
}
