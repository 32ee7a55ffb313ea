//! The decision map: a square for each cell.

use crate::model::{ListShape, Verdict};
use crate::report::panels::{Map, Square};
use crate::report::shape_text::shape_in_words;
use crate::report::svg::drawing::{Anchor, Drawing};
use crate::report::svg::palette::Color;
use crate::text::format::bytes_in_words;

/// Wide enough for the longest name with the mark of an open cell.
const ACROSS: f64 = 122.0;
const DOWN: f64 = 40.0;
/// Room for the name of a row: at least this much, and so much for each letter.
const LEFT: f64 = 58.0;
const LETTER: f64 = 6.8;
const TOP: f64 = 24.0;

/// `None` without cells of equal segments or of a swept mix.
pub fn draw(map: &Map<'_>) -> Option<Drawing> {
    if map.shapes.is_empty() {
        return None;
    }
    let names: Vec<String> = map.shapes.iter().map(|shape| name_of(*shape)).collect();
    let letters = names.iter().map(|name| name.chars().count()).max();
    let left = LEFT.max(8.0 + LETTER * letters.unwrap_or(0) as f64);
    let width = left + ACROSS * map.sizes.len() as f64;
    let height = TOP + DOWN * map.shapes.len() as f64 + 8.0;
    let mut drawing = Drawing::new(width, height);
    for (column, &bytes) in map.sizes.iter().enumerate() {
        let x = left + ACROSS * (column as f64 + 0.5);
        let words = bytes_in_words(bytes as u64);
        drawing.text(x, TOP - 8.0, Anchor::Middle, 12.0, Color::Faint, &words);
    }
    for (row, (name, squares)) in std::iter::zip(&names, &map.squares).enumerate() {
        let y = TOP + DOWN * row as f64;
        drawing.text(
            left - 8.0,
            y + DOWN * 0.6,
            Anchor::End,
            12.0,
            Color::Faint,
            name,
        );
        for (column, square) in squares.iter().enumerate() {
            if let Some(square) = square {
                let x = left + ACROSS * column as f64;
                draw_square(&mut drawing, (x, y), square);
            }
        }
    }
    Some(drawing)
}

/// `16 ×`, `1 × 150 B + 1 × SIZE`.
fn name_of(shape: ListShape<'_>) -> String {
    match shape.swept_mix {
        Some(_) => shape_in_words(shape),
        None => format!("{} ×", shape.segment_count),
    }
}

fn draw_square(drawing: &mut Drawing, (x, y): (f64, f64), square: &Square<'_>) {
    let (left, right, top, bottom) = (x + 2.0, x + ACROSS - 2.0, y + 2.0, y + DOWN - 2.0);
    let corners = [(left, top), (right, top), (right, bottom), (left, bottom)];
    let color = square.technique.map_or(Color::Other, Color::of);
    let name = square
        .technique
        .map_or("none", |technique| technique.name());
    let middle = x + ACROSS / 2.0;
    match square.cell.verdict {
        Verdict::Faster => {
            drawing.area(&corners, color, 0.14 + 0.66 * square.strength());
            let size = name_size(name);
            drawing.text(middle, y + 17.0, Anchor::Middle, size, Color::Text, name);
            let words = format!("by {}", square.margin);
            drawing.text(middle, y + 31.0, Anchor::Middle, 11.0, Color::Text, &words);
        }
        Verdict::Tie => {
            drawing.area(&corners, Color::Line, 0.6);
            drawing.text(middle, y + 24.0, Anchor::Middle, 11.5, Color::Text, "= tie");
        }
        Verdict::Open => {
            let closed: Vec<(f64, f64)> = corners.iter().copied().chain([corners[0]]).collect();
            for side in closed.windows(2) {
                drawing.line(side[0], side[1], Color::Faint, "4 3");
            }
            let words = format!("? {name}");
            let size = name_size(&words);
            drawing.text(middle, y + 17.0, Anchor::Middle, size, Color::Faint, &words);
            drawing.text(
                middle,
                y + 31.0,
                Anchor::Middle,
                11.0,
                Color::Faint,
                &square.margin,
            );
        }
    }
}

/// Upper bound on the width of a letter, relative to the font size.
const WIDEST: f64 = 0.6;

/// The font size of a name: smaller if the name would exceed its square.
fn name_size(name: &str) -> f64 {
    let letters = name.chars().count() as f64;
    11.5_f64.min((ACROSS - 4.0) / (letters * WIDEST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Technique;

    #[test]
    fn names_of_open_cells_lie_within_their_squares() {
        for technique in Technique::ALL {
            let words = format!("? {technique}");
            let letters = words.chars().count() as f64;
            let size = name_size(&words);
            assert!(letters * WIDEST * size <= ACROSS - 3.9, "{technique}");
            assert!(size > 9.0, "{technique}: {size}");
        }
    }
}
