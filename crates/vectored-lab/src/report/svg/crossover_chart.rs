//! Crossovers of several machines, a row each, on one logarithmic axis.

use crate::report::svg::drawing::{Anchor, Drawing};
use crate::report::svg::palette::Color;
use crate::text::format::bytes_in_words;

/// The crossover of one machine from copying to gathering.
pub struct MachineCrossover {
    pub machine: String,
    /// Size, lower and upper end of the interval, in bytes; or the text to show if there is none.
    pub at: Result<(f64, f64, f64), String>,
}

/// The machines of one segment count.
pub struct Group {
    pub title: String,
    pub machines: Vec<MachineCrossover>,
}

/// The length of the axis, and the width of a letter of the name of a machine.
const AXIS: f64 = 320.0;
const LETTER: f64 = 6.2;
const ROW: f64 = 18.0;
/// Longer names are cut here; the table has them in full.
const NAME: usize = 38;

/// `None` if no machine has a crossover.
pub fn draw(groups: &[Group]) -> Option<Drawing> {
    let all = || groups.iter().flat_map(|group| &group.machines);
    let found = || all().filter_map(|crossover| crossover.at.clone().ok());
    let low = found().map(|(_, low, _)| low).fold(f64::INFINITY, f64::min);
    let high = found().map(|(_, _, high)| high).fold(0.0, f64::max);
    if !(low > 0.0 && low.is_finite() && high.is_finite() && low <= high) {
        return None;
    }
    let (first, last) = ((low / 1.2).log2(), (high * 1.2).log2());
    let names = all().map(|crossover| crossover.machine.chars().count().min(NAME));
    let left = 30.0 + LETTER * names.max().unwrap_or(0).max(10) as f64;
    let across = |bytes: f64| left + (bytes.log2() - first) / (last - first) * AXIS;
    let rows = all().count() + groups.len();
    let bottom = ROW * (rows as f64 + 0.5);
    let mut drawing = Drawing::new(left + AXIS + 20.0, bottom + 22.0);
    let powers = first.ceil() as i32..=last.floor() as i32;
    // No size has more than 62 powers of two, but a malformed file may claim it.
    let stride = ((last - first) / 6.0).ceil().max(1.0) as usize;
    for power in powers.filter(|power| *power >= 0).step_by(stride) {
        let x = across(f64::from(power).exp2());
        drawing.line((x, 0.0), (x, bottom), Color::Line, "none");
        let words = bytes_in_words(1_u64 << power.min(62));
        drawing.text(x, bottom + 15.0, Anchor::Middle, 11.0, Color::Faint, &words);
    }
    let mut y = 0.0;
    for group in groups {
        y += ROW;
        drawing.text(0.0, y, Anchor::Start, 12.0, Color::Text, &group.title);
        for crossover in &group.machines {
            y += ROW;
            let name = match crossover.machine.chars().nth(NAME) {
                None => crossover.machine.clone(),
                Some(_) => crossover
                    .machine
                    .chars()
                    .take(NAME - 1)
                    .chain(['…'])
                    .collect(),
            };
            drawing.text(12.0, y, Anchor::Start, 11.5, Color::Text, &name);
            let middle = y - 4.0;
            let [at, low, high] = match &crossover.at {
                Ok((at, low, high)) => [*at, *low, *high].map(across),
                Err(words) => {
                    drawing.text(left, y, Anchor::Start, 11.0, Color::Faint, words);
                    continue;
                }
            };
            drawing.chain(&[(low, middle), (high, middle)], Color::Gather, "none");
            for end in [low, high] {
                drawing.line(
                    (end, middle - 4.0),
                    (end, middle + 4.0),
                    Color::Gather,
                    "none",
                );
            }
            let corners = [
                (at - 4.0, middle),
                (at, middle - 4.0),
                (at + 4.0, middle),
                (at, middle + 4.0),
            ];
            drawing.area(&corners, Color::Text, 1.0);
        }
    }
    Some(drawing)
}
