//! Tables on a terminal.
//!
//! A table that is too wide becomes narrower step by step: short texts, fewer columns, cells broken into several lines. A table
//! that is still too wide is split between its groups, and each part repeats the names. Without groups, each row becomes a
//! list.

use crate::document::{Align, Cell, Column, Role, Table};
use crate::sort::distinct;
use crate::terminal::lines::{BOLD, Screen, left, right, style_of, width};
use crate::words;

const GAP: usize = 2;

pub(super) fn table(table: &Table, screen: &mut Screen) {
    if !table.title.is_empty() {
        screen.paragraph(BOLD, "", 2, &table.title);
    }
    let room = screen.options.width;
    let sets = narrower(table);
    let last = sets.last().expect("the whole table at least");
    let views = sets.iter().flat_map(|set| [(set, false), (set, true)]);
    let mut views = views.map(|(set, is_short)| (set, View::of(table, set, is_short)));
    let has_groups = table.columns.iter().any(|column| !column.group.is_empty());
    let mut shown = last;
    if let Some((set, view)) = views.find(|(_, view)| view.width(1) <= room) {
        view.print(screen);
        shown = set;
    } else if let Some(view) = View::of(table, last, true).narrowed(room) {
        view.print(screen);
    } else if let Some(parts) = has_groups.then(|| parts(table, last, room)).flatten() {
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                screen.gap();
            }
            part.print(screen);
        }
    } else {
        lists(table, last, screen);
    }
    let columns = table.columns.iter().enumerate();
    let dropped = columns.filter(|(index, _)| !shown.contains(index));
    let dropped: Vec<String> = dropped.map(|(_, column)| column.full_head()).collect();
    if !dropped.is_empty() {
        let names = words::enumerated(&dropped);
        let text = format!("Left out, since the terminal is too narrow: {names}.");
        screen.paragraph("", "", 2, &text);
    }
}

/// The columns that stay, with more columns dropped step by step.
fn narrower(table: &Table) -> Vec<Vec<usize>> {
    let order = |column: usize| table.columns[column].drop_order;
    let all = 0..table.columns.len();
    let stays = |column: usize, dropped: u8| order(column) == 0 || order(column) > dropped;
    let left = |dropped| {
        all.clone()
            .filter(|&column| stays(column, dropped))
            .collect()
    };
    let orders = distinct(all.clone().map(order).chain([0]));
    orders.into_iter().map(left).collect()
}

/// Columns side by side.
struct View<'a>(Vec<Shown<'a>>);

struct Shown<'a> {
    column: &'a Column,
    cells: Vec<(&'a str, Role)>,
    /// Whether some figure has a mark: then every figure leaves room for a mark.
    is_marked: bool,
    width: usize,
}

impl Shown<'_> {
    /// The width that the head, or a cell, needs.
    fn widest(&self, of: impl Fn(&str, Align) -> usize) -> usize {
        let cells = self
            .cells
            .iter()
            .map(|(text, _)| of(text, self.column.align));
        let head = longest(&head_pieces(&self.column.head));
        cells.fold(head, usize::max)
    }
}

impl<'a> View<'a> {
    /// Columns as narrow as their cells and the words of their heads allow.
    fn of(table: &'a Table, columns: &[usize], is_short: bool) -> Self {
        let text = |cell: &'a Cell| match &cell.short {
            Some(short) if is_short => &**short,
            _ => &*cell.text,
        };
        let shown = |&index: &usize| {
            let column = &table.columns[index];
            let cells = table.rows.iter().map(|row| &row[index]);
            let cells: Vec<(&str, Role)> = cells.map(|cell| (text(cell), cell.role)).collect();
            let mut shown = Shown {
                column,
                is_marked: cells.iter().any(|(_, role)| !column.mark(*role).is_empty()),
                cells,
                width: 0,
            };
            shown.width = shown.widest(|cell, _| width(cell));
            shown
        };
        View(columns.iter().map(shown).collect())
    }

    fn width(&self, gap: usize) -> usize {
        let widths = self.0.iter().map(|of| of.width + usize::from(of.is_marked));
        widths.sum::<usize>() + gap * self.0.len().saturating_sub(1)
    }

    /// The widest columns are narrowed, down to their longest piece. `None` if the table remains too wide.
    fn narrowed(mut self, room: usize) -> Option<Self> {
        let least = |of: &Shown<'_>| of.widest(|cell, align| longest(&pieces(cell, align)));
        let least: Vec<usize> = self.0.iter().map(least).collect();
        while self.width(1) > room {
            let columns = std::iter::zip(&mut self.0, &least);
            let narrowable = columns.filter(|(of, least)| of.width > **least);
            narrowable.max_by_key(|(of, _)| of.width)?.0.width -= 1;
        }
        Some(self)
    }

    fn print(&self, screen: &mut Screen) {
        let gap = if self.width(GAP) <= screen.options.width { GAP } else { 1 };
        self.print_groups(gap, screen);
        let head = |of: &Shown<'_>| (filled(&head_pieces(&of.column.head), of.width), Role::Plain);
        if self.0.iter().any(|of| !of.column.head.is_empty()) {
            self.print_row(
                &self.0.iter().map(head).collect::<Vec<_>>(),
                BOLD,
                gap,
                screen,
            );
        }
        for row in 0..self.0.first().map_or(0, |of| of.cells.len()) {
            let cells = self.0.iter().map(|of| {
                let (text, role) = of.cells[row];
                (filled(&pieces(text, of.column.align), of.width), role)
            });
            self.print_row(&cells.collect::<Vec<_>>(), "", gap, screen);
        }
    }

    /// The names of groups, each over the first column of the group.
    fn print_groups(&self, gap: usize, screen: &mut Screen) {
        let mut line = String::new();
        let (mut begin, mut last) = (0, "");
        for of in &self.0 {
            let group = &*of.column.group;
            if group != last && !group.is_empty() {
                // A name does not reach into another group.
                let blanks = begin - width(&line).min(begin);
                line += &" ".repeat(blanks.max(usize::from(!line.is_empty())));
                line += group;
            }
            last = group;
            begin += of.width + usize::from(of.is_marked) + gap;
        }
        if !line.is_empty() {
            screen.painted_line(BOLD, &line);
        }
    }

    /// Prints the lines of cells: heads are bottom-aligned, others top-aligned.
    fn print_row(
        &self,
        cells: &[(Vec<String>, Role)],
        style: &str,
        gap: usize,
        screen: &mut Screen,
    ) {
        let height = cells.iter().map(|(lines, _)| lines.len()).max();
        let height = height.unwrap_or(0);
        for level in 0..height {
            let mut line = String::new();
            for (index, (of, (lines, role))) in std::iter::zip(&self.0, cells).enumerate() {
                let skipped = if style.is_empty() { 0 } else { height - lines.len() };
                let piece = level.checked_sub(skipped).and_then(|at| lines.get(at));
                let piece = piece.map_or("", String::as_str);
                let mut set = match of.column.align {
                    Align::Left if index + 1 == self.0.len() => piece.to_owned(),
                    Align::Left => left(piece, of.width),
                    Align::Right => right(piece, of.width),
                };
                if of.is_marked {
                    set += &left(if level == 0 { role.mark() } else { "" }, 1);
                }
                line += &screen.painted(style_of(*role), &set);
                line += &" ".repeat(gap);
            }
            screen.painted_line(style, &line);
        }
    }
}

/// The parts of a table, each with the names of the rows and as many groups as have room. `None` if a column is too wide
/// even beside the names alone.
fn parts<'a>(table: &'a Table, columns: &[usize], room: usize) -> Option<Vec<View<'a>>> {
    let (names, others): (Vec<usize>, Vec<usize>) =
        columns.iter().partition(|&&column| column < table.names());
    let group = |column: usize| &table.columns[column].group;
    let view = |columns: &[usize]| View::of(table, columns, true);
    let fits = |columns: &[usize]| view(columns).width(1) <= room;
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for together in others.chunk_by(|&one, &other| group(one) == group(other)) {
        // A group that is too wide is split between its columns.
        let size = if fits(&[&names, together].concat()) { together.len() } else { 1 };
        for piece in together.chunks(size) {
            match parts.last_mut() {
                Some(part) if fits(&[part, piece].concat()) => part.extend(piece),
                _ => parts.push([&names, piece].concat()),
            }
        }
    }
    let is_sound = !parts.is_empty() && parts.iter().all(|part| fits(part));
    is_sound.then(|| parts.iter().map(|part| view(part)).collect())
}

/// Each row as a line for each head and cell.
fn lists(table: &Table, columns: &[usize], screen: &mut Screen) {
    let heads = columns
        .iter()
        .map(|&column| table.columns[column].full_head());
    let heads: Vec<String> = heads.collect();
    let indent = GAP + heads.iter().map(|head| width(head)).max().unwrap_or(0);
    for (index, row) in table.rows.iter().enumerate() {
        if index > 0 {
            screen.gap();
        }
        for (&column, head) in std::iter::zip(columns, &heads) {
            let Cell { text, role, .. } = &row[column];
            if !text.is_empty() {
                let text = format!("{text}{}", table.columns[column].mark(*role));
                screen.paragraph(style_of(*role), &left(head, indent), indent, &text);
            }
        }
    }
}

/// A head may be broken between words, and after the hyphens of a name.
fn head_pieces(head: &str) -> Vec<String> {
    let words = head.split(' ').enumerate();
    words
        .flat_map(|(index, word)| {
            let parts = word.split_inclusive('-').enumerate();
            parts.map(move |(part, text)| {
                // A blank before a piece says that a new word begins.
                let blank = if part == 0 && index > 0 { " " } else { "" };
                format!("{blank}{text}")
            })
        })
        .collect()
}

/// The unbreakable pieces of a cell. In words, each word is a piece. In figures, a figure with its unit is a piece, and an
/// interval is a piece. The blank before a piece stands between this piece and the piece before.
fn pieces(cell: &str, align: Align) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for word in cell.split(' ') {
        let begins = |piece: &str| {
            align == Align::Left || word.starts_with('[') || piece.ends_with([';', ':'])
        };
        match pieces.last_mut() {
            None => pieces.push(word.to_owned()),
            Some(piece) if begins(piece) => pieces.push(format!(" {word}")),
            Some(piece) => *piece += &format!(" {word}"),
        }
    }
    pieces
}

fn longest(pieces: &[String]) -> usize {
    let widths = pieces.iter().map(|piece| width(piece.trim_start()));
    widths.max().unwrap_or(0)
}

/// Fills lines of at most `columns` with pieces; a longer piece has a line of its own.
fn filled(pieces: &[String], columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in pieces {
        match lines.last_mut() {
            Some(line) if width(line) + width(piece) <= columns => line.push_str(piece),
            _ => lines.push(piece.trim_start().to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::TerminalOptions;

    #[test]
    fn a_part_of_a_table_has_as_many_groups_as_have_room() {
        let group = |group: &str| Column {
            group: group.into(),
            ..Column::figures("figure")
        };
        let of_groups = Table {
            columns: [&[Column::words("name")][..], &["a", "b", "c"].map(group)].concat(),
            rows: vec![
                ["row", "1234567", "1234567", "1234567"]
                    .map(Cell::from)
                    .into(),
            ],
            ..Table::default()
        };
        let options = TerminalOptions {
            width: 21,
            ..TerminalOptions::default()
        };
        let text = String::new();
        let mut screen = Screen { text, options };
        table(&of_groups, &mut screen);
        assert_eq!(screen.text.matches("name").count(), 2, "{}", screen.text);
    }
}
