//! Curves and bars for a terminal.

use crate::report::canvas::{Canvas, Style, side_by_side};
use crate::report::plot::PlotOptions;
use crate::text::wrap::wrapped;

/// Rows between the lowest and the highest value.
const ROWS: usize = 14;

/// Columns of the labels of the vertical axis, with the axis.
const LABEL: usize = 9;

const NARROWEST: usize = 40;
const WIDEST: usize = 78;

/// A curve: its letter, its name, and its points as (x, y).
pub struct Curve {
    pub letter: char,
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// Curves on logarithmic axes with a legend; empty if there is nothing to draw or no room. `along` and
/// `up` put values into words. If several letters fall on one place, the first is shown.
pub fn curves(
    curves: &[Curve],
    along: impl Fn(f64) -> String,
    up: impl Fn(f64) -> String,
    options: PlotOptions,
) -> String {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let sound = |value: &f64| value.is_finite() && *value > 0.0;
    let places: Vec<f64> = points().map(|point| point.0).filter(sound).collect();
    let values: Vec<f64> = points().map(|point| point.1).filter(sound).collect();
    let (Some(across), Some(down)) = (Axis::of(&places), Axis::of(&values)) else {
        return String::new();
    };
    if options.width < NARROWEST {
        return String::new();
    }
    let width = options.width.min(WIDEST);
    let column_of = |place: f64| {
        LABEL + 1 + (across.share(place) * (width - LABEL - 3) as f64).round() as usize
    };
    let row_of = |value: f64| ((1.0 - down.share(value)) * (ROWS - 1) as f64).round() as usize;
    let mut canvas = Canvas::new(width, ROWS + 2);
    for row in 0..ROWS {
        canvas.put(row, LABEL - 1, '│', Style::None);
    }
    canvas.put(ROWS, LABEL - 1, '└', Style::None);
    for column in LABEL..width {
        canvas.put(ROWS, column, '─', Style::None);
    }
    for (row, label) in ticks(&down, row_of, up) {
        canvas.write(row, 0, &format!("{label:>0$}┤", LABEL - 1), Style::None);
    }
    let mut ends = Vec::new();
    let mut sizes = places.clone();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    // Labels at the ends have priority.
    let last = sizes.len() - 1;
    for place in [sizes[0], sizes[last]]
        .into_iter()
        .chain(sizes[1..last.max(1)].iter().copied())
    {
        let text = along(place);
        let length = text.chars().count();
        let begin = column_of(place)
            .saturating_sub(length / 2)
            .min(width - length.min(width));
        let is_clear = |&(from, to): &(usize, usize)| begin > to + 1 || begin + length + 1 < from;
        canvas.put(ROWS, column_of(place), '┴', Style::None);
        if ends.iter().all(is_clear) {
            canvas.write(ROWS + 1, begin, &text, Style::None);
            ends.push((begin, begin + length));
        }
    }
    // Drawn in reverse order, so that the first curve is on top.
    for (index, curve) in curves.iter().enumerate().rev() {
        let drawn = curve.points.iter().filter(|(x, y)| sound(x) && sound(y));
        for &(place, value) in drawn {
            canvas.put(
                row_of(value),
                column_of(place),
                curve.letter,
                Style::of(index),
            );
        }
    }
    for (index, curve) in curves.iter().enumerate() {
        let drawn = curve.points.iter().filter(|(x, y)| sound(x) && sound(y));
        let mut drawn: Vec<_> = drawn.collect();
        // A line runs along the axis, also where the file's rows do not.
        drawn.sort_by(|a, b| a.0.total_cmp(&b.0));
        for pair in drawn.windows(2) {
            let steps = column_of(pair[0].0).abs_diff(column_of(pair[1].0)).max(1) * 4;
            for step in 1..steps {
                let share = step as f64 / steps as f64;
                let between =
                    |from: f64, to: f64| (from.ln() + share * (to.ln() - from.ln())).exp();
                let place = between(pair[0].0, pair[1].0);
                let value = between(pair[0].1, pair[1].1);
                let x =
                    (LABEL as f64 + 1.5 + across.share(place) * (width - LABEL - 3) as f64) * 2.0;
                let y = ((1.0 - down.share(value)) * (ROWS - 1) as f64 + 0.5) * 4.0;
                let (x, y) = (x as usize, y as usize);
                canvas.dot((y / 4, x / 2), (y % 4, x % 2), Style::of(index));
            }
        }
    }
    let mut text = side_by_side(&[canvas], options.color);
    let parts = curves.iter().enumerate().map(|(index, curve)| {
        let plain = format!(" {} ", curve.name);
        let sign = Style::of(index).paint(curve.letter, options.color);
        (format!("{sign}{plain}"), 1 + plain.chars().count())
    });
    for line in wrapped(parts, options.width) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// A logarithmic axis.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    fn of(values: &[f64]) -> Option<Self> {
        let low = values.iter().copied().min_by(f64::total_cmp)?;
        let high = values.iter().copied().max_by(f64::total_cmp)?;
        // The axis has a minimum span, so that noise does not look like a difference.
        Some(Axis {
            low,
            high: high.max(low * 1.25),
        })
    }

    fn share(&self, value: f64) -> f64 {
        (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln())
    }
}

/// Round values with room between them.
fn ticks(
    axis: &Axis,
    row_of: impl Fn(f64) -> usize,
    words: impl Fn(f64) -> String,
) -> Vec<(usize, String)> {
    let mut ticks: Vec<(usize, String)> = Vec::new();
    let decades = axis.low.log10().floor() as i32..=axis.high.log10().floor() as i32;
    for steps in [&[1.0][..], &[2.0, 5.0], &[1.5, 3.0, 7.0], &[1.2, 1.1]] {
        for decade in decades.clone() {
            for step in steps {
                let value = step * 10f64.powi(decade);
                if value < axis.low || value > axis.high {
                    continue;
                }
                let row = row_of(value);
                if ticks.iter().all(|(other, _)| row.abs_diff(*other) > 1) {
                    ticks.push((row, words(value)));
                }
            }
        }
    }
    ticks
}

/// A bar: its name, its value, and the text after it.
pub struct Line {
    pub name: String,
    pub value: f64,
    pub words: String,
}

/// Horizontal bars on a common scale from 0.
pub fn bars(lines: &[Line], options: PlotOptions) -> String {
    let widest = |of: &dyn Fn(&Line) -> usize| lines.iter().map(of).max().unwrap_or(0);
    let name_width = widest(&|line| line.name.chars().count());
    let words_width = widest(&|line| line.words.chars().count());
    let highest = lines.iter().map(|line| line.value).fold(0.0, f64::max);
    let room = options
        .width
        .saturating_sub(name_width + words_width + 4)
        .min(50);
    if room < 10 || highest <= 0.0 || !highest.is_finite() {
        return String::new();
    }
    let mut text = String::new();
    for line in lines {
        let bar = bar(line.value / highest * room as f64);
        let Line { name, words, .. } = line;
        text += &format!("{name:<name_width$}  {bar} {words}\n");
    }
    text
}

/// Whole blocks, then one block in eighths.
fn bar(length: f64) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (length * 8.0).round().max(0.0) as usize;
    format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: PlotOptions = PlotOptions {
        color: false,
        width: 60,
    };

    #[test]
    fn bars_are_as_long_as_their_values() {
        let line = |name: &str, value: f64| Line {
            name: name.to_owned(),
            value,
            words: format!("{value}"),
        };
        let lines = [line("one", 1.0), line("two", 2.0), line("most", 4.0)];
        let drawn = bars(&lines, OPTIONS);
        let lengths: Vec<usize> = drawn
            .lines()
            .map(|line| line.matches('█').count())
            .collect();
        // The longest is as long as a bar may be; of the shortest a half is left.
        assert_eq!(lengths, [12, 25, 50], "{drawn}");
        assert!(drawn.starts_with("one   ████████████▌ 1\n"), "{drawn}");
        assert!(drawn.lines().all(|line| line.chars().count() <= 60));
        assert_eq!(bars(&[], OPTIONS), "");
    }

    #[test]
    fn curves_stand_where_their_values_are() {
        let curve = Curve {
            letter: 'h',
            name: "here".to_owned(),
            points: vec![(1.0, 1.0), (10.0, 10.0), (100.0, 100.0)],
        };
        let drawn = curves(
            &[curve],
            |x| format!("{x} B"),
            |y| format!("{y} s"),
            OPTIONS,
        );
        let lines: Vec<&str> = drawn.lines().collect();
        let column = |line: &str| line.chars().position(|c| c == 'h');
        // From the lower left to the upper right, the middle one between.
        let places: Vec<_> = lines[..ROWS]
            .iter()
            .filter_map(|line| column(line))
            .collect();
        assert_eq!(places, [58, 34, 10], "{drawn}");
        assert_eq!(column(lines[0]), Some(58));
        assert_eq!(column(lines[ROWS - 1]), Some(10));
        assert!(lines[ROWS - 1].contains("1 s┤"), "{drawn}");
        assert!(lines[ROWS + 1].contains("100 B"), "{drawn}");
        assert!(lines[ROWS + 2].contains("h here"), "{drawn}");
    }

    #[test]
    fn a_line_runs_along_the_axis_whatever_the_order_of_its_points() {
        let drawn = |points: &[(f64, f64)]| {
            let curve = Curve {
                letter: 'h',
                name: "here".to_owned(),
                points: points.to_vec(),
            };
            let (along, up) = (|x: f64| format!("{x} B"), |y: f64| format!("{y} s"));
            curves(&[curve], along, up, OPTIONS)
        };
        let points = [(1.0, 1.0), (10.0, 100.0), (100.0, 10.0)];
        let [first, middle, last] = points;
        assert_eq!(drawn(&[last, first, middle]), drawn(&points));
    }

    #[test]
    fn what_makes_no_sense_is_not_drawn() {
        let curve = |value| Curve {
            letter: 'h',
            name: "here".to_owned(),
            points: vec![(1.0, value)],
        };
        for value in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
            let drawn = curves(
                &[curve(value)],
                |x| x.to_string(),
                |y| y.to_string(),
                OPTIONS,
            );
            assert_eq!(drawn, "");
        }
        let one = curves(&[curve(3.0)], |x| x.to_string(), |y| y.to_string(), OPTIONS);
        assert!(one.contains('h'), "{one}");
    }
}
