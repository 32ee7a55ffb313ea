//! Tables on a terminal.
//!
//! A table that is too wide becomes narrower step by step: short texts, fewer columns, cells broken into several lines.
//! If that does not help it is split between its groups, and each part repeats the names; without groups each row
//! becomes a list.

use crate::document::{Align, Column, Role, Table};
use crate::sort::sort;
use crate::terminal::lines::{BOLD, Screen, left, right, style_of, width};
use crate::words;

const GAP: usize = 2;

pub(super) fn table(table: &Table, screen: &mut Screen) {
    if !table.title.is_empty() {
        screen.paragraph(BOLD, "", 2, &table.title);
    }
    let room = screen.options.width;
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let sets = narrower(table);
    let mut views = sets
        .iter()
        .flat_map(|set| [View::of(table, set, false), View::of(table, set, true)]);
    if let Some(view) = views.find(|view| view.width(1) <= room) {
        view.print(screen);
        left_out(&all, &view.columns, table, screen);
        return;
    }
    let last = sets.last().expect("the whole table at least");
    let has_groups = table.columns.iter().any(|column| !column.group.is_empty());
    let short = View::of(table, last, true);
    if let Some(view) = short.narrowed(room) {
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
    left_out(&all, last, table, screen);
}

/// The columns that stay, with more columns dropped step by step.
fn narrower(table: &Table) -> Vec<Vec<usize>> {
    let orders = table.columns.iter().map(|column| column.drop_order);
    let mut orders: Vec<u8> = orders.chain([0]).collect();
    sort(&mut orders);
    orders.dedup();
    let left = |dropped: u8| {
        let stays = |column: &&usize| {
            let order = table.columns[**column].drop_order;
            order == 0 || order > dropped
        };
        let all: Vec<usize> = (0..table.columns.len()).collect();
        all.iter().filter(stays).copied().collect()
    };
    orders.into_iter().map(left).collect()
}

fn left_out(all: &[usize], shown: &[usize], table: &Table, screen: &mut Screen) {
    let dropped = all.iter().filter(|column| !shown.contains(column));
    let dropped: Vec<String> = dropped
        .map(|&column| table.columns[column].full_head())
        .collect();
    if !dropped.is_empty() {
        let names = words::enumerated(&dropped);
        screen.paragraph(
            "",
            "",
            2,
            &format!("Left out, since the terminal is too narrow: {names}."),
        );
    }
}

struct View<'a> {
    table: &'a Table,
    columns: Vec<usize>,
    is_short: bool,
    widths: Vec<usize>,
}

impl<'a> View<'a> {
    /// Columns as narrow as their cells and the words of their heads.
    fn of(table: &'a Table, columns: &[usize], is_short: bool) -> Self {
        let mut view = View {
            table,
            columns: columns.to_vec(),
            is_short,
            widths: Vec::new(),
        };
        view.widths = view.widest(|cell, _| width(cell));
        view
    }

    /// For each column the width that its head, or a cell of it, needs.
    fn widest(&self, of: impl Fn(&str, Align) -> usize) -> Vec<usize> {
        let column = |&column: &usize| {
            let head = &self.table.columns[column];
            let head_width = longest(&head_pieces(&head.head));
            let cells =
                (0..self.table.rows.len()).map(|row| of(self.cell(row, column), head.align));
            cells.chain([head_width]).max().unwrap_or(0)
        };
        self.columns.iter().map(column).collect()
    }

    fn cell(&self, row: usize, column: usize) -> &'a str {
        let cell = &self.table.rows[row][column];
        match &cell.short {
            Some(short) if self.is_short => short,
            _ => &cell.text,
        }
    }

    /// Whether some figure of the column has a mark: then every figure leaves room for a mark.
    fn is_marked(&self, column: usize) -> bool {
        let mut rows = self.table.rows.iter();
        self.table.columns[column].align == Align::Right
            && rows.any(|row| !row[column].role.mark().is_empty())
    }

    fn width(&self, gap: usize) -> usize {
        let marks = self
            .columns
            .iter()
            .filter(|&&column| self.is_marked(column))
            .count();
        let widths: usize = self.widths.iter().sum();
        widths + marks + gap * self.columns.len().saturating_sub(1)
    }

    /// The widest columns are narrowed, down to their longest piece. `None` if the table remains too wide.
    fn narrowed(mut self, room: usize) -> Option<Self> {
        let least = self.widest(|cell, align| longest(&pieces(cell, align)));
        while self.width(1) > room {
            let narrowable = (0..least.len()).filter(|&index| self.widths[index] > least[index]);
            let index = narrowable.max_by_key(|&index| self.widths[index])?;
            self.widths[index] -= 1;
        }
        Some(self)
    }

    fn print(&self, screen: &mut Screen) {
        let gap = if self.width(GAP) <= screen.options.width { GAP } else { 1 };
        self.print_groups(gap, screen);
        let columns = || std::iter::zip(&self.columns, &self.widths);
        let heads = columns().map(|(&column, &width)| {
            let head = &self.table.columns[column];
            (
                filled(&head_pieces(&head.head), width),
                head.align,
                Role::Plain,
                width,
            )
        });
        if self
            .columns
            .iter()
            .any(|&column| !self.table.columns[column].head.is_empty())
        {
            self.print_row(&heads.collect::<Vec<_>>(), BOLD, gap, screen);
        }
        for row in 0..self.table.rows.len() {
            let cells = columns().map(|(&column, &width)| {
                let align = self.table.columns[column].align;
                let lines = filled(&pieces(self.cell(row, column), align), width);
                (lines, align, self.table.rows[row][column].role, width)
            });
            self.print_row(&cells.collect::<Vec<_>>(), "", gap, screen);
        }
    }

    /// The names of groups, each over its first column.
    fn print_groups(&self, gap: usize, screen: &mut Screen) {
        let mut line = String::new();
        let (mut begin, mut last) = (0, "");
        for (&column, width_of) in std::iter::zip(&self.columns, &self.widths) {
            let group = &*self.table.columns[column].group;
            if group != last && !group.is_empty() {
                // A name does not reach into another group.
                let blanks = begin - width(&line).min(begin);
                line += &" ".repeat(blanks.max(usize::from(!line.is_empty())));
                line += group;
            }
            last = group;
            begin += width_of + usize::from(self.is_marked(column)) + gap;
        }
        if !line.is_empty() {
            screen.painted_line(BOLD, &line);
        }
    }

    /// Prints the lines of cells: heads are bottom-aligned, others top-aligned.
    fn print_row(
        &self,
        cells: &[(Vec<String>, Align, Role, usize)],
        style: &str,
        gap: usize,
        screen: &mut Screen,
    ) {
        let height = cells
            .iter()
            .map(|(lines, ..)| lines.len())
            .max()
            .unwrap_or(0);
        let is_head = !style.is_empty();
        for level in 0..height {
            let mut line = String::new();
            for (&column, (lines, align, role, width)) in std::iter::zip(&self.columns, cells) {
                let skipped = if is_head { height - lines.len() } else { 0 };
                let piece = level
                    .checked_sub(skipped)
                    .and_then(|index| lines.get(index));
                let piece = piece.map_or("", String::as_str);
                let is_last = Some(&column) == self.columns.last();
                let mut set = match align {
                    Align::Left if is_last => piece.to_owned(),
                    Align::Left => left(piece, *width),
                    Align::Right => right(piece, *width),
                };
                if self.is_marked(column) {
                    let mark = if level == 0 { role.mark() } else { "" };
                    set += &left(mark, 1);
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
    let fits = |columns: &[usize]| View::of(table, columns, true).width(1) <= room;
    let with_names = |columns: &[usize]| [&names, columns].concat();
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for together in others.chunk_by(|&one, &other| group(one) == group(other)) {
        // A group that is too wide is split between its columns.
        let size = if fits(&with_names(together)) { together.len() } else { 1 };
        for piece in together.chunks(size) {
            match parts.last_mut() {
                Some(part) if fits(&[part, piece].concat()) => part.extend(piece),
                _ => parts.push(with_names(piece)),
            }
        }
    }
    let is_sound = !parts.is_empty() && parts.iter().all(|part| fits(part));
    is_sound.then(|| {
        parts
            .iter()
            .map(|part| View::of(table, part, true))
            .collect()
    })
}

/// Each row as a line for each head and cell.
fn lists(table: &Table, columns: &[usize], screen: &mut Screen) {
    let heads: Vec<String> = columns
        .iter()
        .map(|&column| table.columns[column].full_head())
        .collect();
    let head_width = heads.iter().map(|head| width(head)).max().unwrap_or(0);
    let indent = head_width + GAP;
    for (index, row) in table.rows.iter().enumerate() {
        if index > 0 {
            screen.gap();
        }
        for (&column, head) in std::iter::zip(columns, &heads) {
            let Column { align, .. } = table.columns[column];
            let cell = &row[column];
            if cell.text.is_empty() {
                continue;
            }
            let mark = if align == Align::Right { cell.role.mark() } else { "" };
            let first = left(head, indent);
            screen.paragraph(
                style_of(cell.role),
                &first,
                indent,
                &format!("{}{mark}", cell.text),
            );
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

/// The unbreakable pieces of a cell: a word; of figures a figure with its unit, and an interval. The blank before a piece
/// stands between this piece and the piece before.
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
