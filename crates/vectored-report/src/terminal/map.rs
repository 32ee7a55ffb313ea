//! Maps on a terminal: coloured squares, with letters that say the same.

use crate::chart::Series;
use crate::document::{Map, Role, Square};
use crate::terminal::lines::{BOLD, Screen, left, right, width};

/// A longer title stands on a line of its own.
const LONGEST_TITLE: usize = 24;

/// Prints maps with the same columns below one line of heads. Returns whether the squares show figures. If the maps are too
/// wide with figures, the squares show only letters. If the maps are still too wide, they are split at a column.
pub(super) fn maps(maps: &[Map], screen: &mut Screen) -> bool {
    let widths = maps.iter().map(|map| width(&map.title));
    let titles = widths.filter(|width| *width <= LONGEST_TITLE).max();
    let title_width = titles.map_or(0, |title| title + 2);
    let heads = maps.iter().flat_map(|map| &map.rows).map(|row| &row.head);
    let heads = heads.chain(maps.iter().map(|map| &map.row_head));
    let head_width = heads.map(|head| width(head)).max().unwrap_or(0);
    let room = screen.options.width;
    let room = room.saturating_sub(title_width + head_width);
    let columns = maps[0].heads.len();
    let whole = Shape::of(maps, true);
    let shape = if whole.width(columns) <= room { whole } else { Shape::of(maps, false) };
    let at_once = (room / shape.width(1)).max(1);
    for first in (0..columns.max(1)).step_by(at_once) {
        let shown = first..columns.min(first + at_once);
        let mut line = right(&maps[0].row_head, title_width + head_width);
        for head in &maps[0].heads[shown.clone()] {
            line += &right(head, shape.width(1));
        }
        screen.painted_line(BOLD, &line);
        for map in maps {
            let mut title = &*map.title;
            if width(title) > LONGEST_TITLE {
                screen.paragraph(BOLD, "", 2, title);
                title = "";
            }
            for row in &map.rows {
                let mut line = screen.painted(BOLD, &left(title, title_width));
                line += &right(&row.head, head_width);
                title = "";
                for column in shown.clone() {
                    let square = row.squares.get(column).and_then(Option::as_ref);
                    line += &" ".repeat(GAP + shape.head - shape.square());
                    line += &screen.painted(&style(square), &shape.set(square));
                }
                screen.line(&line);
            }
        }
    }
    shape.figure > 0
}

const GAP: usize = 1;

struct Shape {
    letter: usize,
    /// 0 if figures are left out.
    figure: usize,
    head: usize,
}

impl Shape {
    fn of(maps: &[Map], has_figures: bool) -> Self {
        let rows = || maps.iter().flat_map(|map| &map.rows);
        let squares = || rows().flat_map(|row| row.squares.iter().flatten());
        let widest = |of: fn(&Square) -> usize| squares().map(of).max().unwrap_or(0);
        let letter = widest(|square| width(&square.letter)).max(1);
        let figure = if has_figures { widest(|square| width(&square.figure)) } else { 0 };
        let mut shape = Shape {
            letter,
            figure,
            head: 0,
        };
        let heads = maps[0].heads.iter().map(|head| width(head));
        shape.head = heads.chain([shape.square()]).max().unwrap_or(0);
        shape
    }

    /// Letter, blank and figure, with a blank at each end.
    fn square(&self) -> usize {
        self.letter + self.figure + if self.figure == 0 { 2 } else { 3 }
    }

    fn width(&self, squares: usize) -> usize {
        (GAP + self.head) * squares
    }

    fn set(&self, square: Option<&Square>) -> String {
        let Some(square) = square else {
            return right("- ", self.square());
        };
        let letter = left(&square.letter, self.letter);
        match self.figure {
            0 => format!(" {letter} "),
            columns => format!(" {letter} {} ", right(&square.figure, columns)),
        }
    }
}

/// Three strengths of each series: colours of the usual 256, with letters that can be read on them.
const PALETTE: [[&str; 3]; 6] = [
    ["30;48;5;182", "30;48;5;139", "97;48;5;96"],
    ["30;48;5;223", "30;48;5;209", "97;48;5;166"],
    ["30;48;5;153", "30;48;5;75", "97;48;5;25"],
    ["30;48;5;229", "30;48;5;221", "30;48;5;178"],
    ["30;48;5;151", "30;48;5;79", "97;48;5;29"],
    ["30;48;5;254", "30;48;5;249", "97;48;5;242"],
];

fn style(square: Option<&Square>) -> String {
    match square {
        Some(square) if square.role == Role::Winner => {
            let Series { hue, .. } = square.series;
            let hues = PALETTE.get(usize::from(hue)).unwrap_or(&PALETTE[0]);
            // NaN counts as weak.
            hues[(square.strength * 3.0).clamp(0.0, 2.0) as usize].to_owned()
        }
        Some(square) if square.role == Role::Tie => "30;48;5;252".to_owned(),
        _ => String::new(),
    }
}
