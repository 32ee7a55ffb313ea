//! Curves on logarithmic axes.

use crate::report::svg::drawing::{Anchor, Drawing};
use crate::report::svg::palette::{Color, dashes};

/// A position along the axis, a value, and its interval if it has one.
pub type Point = (f64, f64, Option<(f64, f64)>);

/// A curve.
pub struct Curve {
    pub name: String,
    pub color: Color,
    pub points: Vec<Point>,
}

/// A position that is marked from top to bottom.
pub struct Mark {
    pub at: f64,
    pub low: f64,
    pub high: f64,
    pub label: String,
}

/// The content of a chart.
pub struct Chart<'a> {
    pub title: String,
    pub curves: Vec<Curve>,
    pub marks: Vec<Mark>,
    /// Put positions and values into words; a position without words has no label.
    pub along: &'a dyn Fn(f64) -> String,
    pub up: &'a dyn Fn(f64) -> String,
}

const WIDTH: f64 = 340.0;
const HEIGHT: f64 = 230.0;
const LEFT: f64 = 58.0;
const TOP: f64 = 26.0;
const LEGEND: f64 = 16.0;
/// Number of letters of a title that fit the width.
const TITLE_LETTERS: usize = 44;
const TITLE_LINE: f64 = 17.0;

/// `None` if there is nothing to draw.
pub fn draw(chart: &Chart<'_>) -> Option<Drawing> {
    let sound = |value: f64| value.is_finite() && value > 0.0;
    let curves: Vec<(&Curve, Vec<_>)> = chart
        .curves
        .iter()
        .map(|curve| {
            let points = curve.points.iter().copied();
            (curve, points.filter(|p| sound(p.0) && sound(p.1)).collect())
        })
        .filter(|(_, points): &(_, Vec<_>)| !points.is_empty())
        .collect();
    let points = || curves.iter().flat_map(|(_, points)| points);
    let across = Scale::of(points().map(|p| p.0), LEFT, WIDTH - 12.0, 1.15)?;
    let up = Scale::of(points().map(|p| p.1), HEIGHT - 34.0, TOP, 1.08)?;
    let height = HEIGHT + LEGEND * (curves.len() as f64 + 1.0);
    let mut drawing = Drawing::new(WIDTH, height);
    let (bottom, right) = (HEIGHT - 34.0, WIDTH - 12.0);
    for value in ticks(up.low, up.high) {
        let y = up.place(value);
        drawing.line((LEFT, y), (right, y), Color::Line, "none");
        drawing.text(
            LEFT - 6.0,
            y + 4.0,
            Anchor::End,
            11.0,
            Color::Faint,
            &(chart.up)(value),
        );
    }
    let mut places: Vec<f64> = points().map(|p| p.0).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let mut taken = f64::NEG_INFINITY;
    for place in places {
        let x = across.place(place);
        drawing.line((x, bottom), (x, bottom + 4.0), Color::Faint, "none");
        let words = (chart.along)(place);
        if x > taken && !words.is_empty() {
            drawing.text(x, bottom + 17.0, Anchor::Middle, 11.0, Color::Faint, &words);
            taken = x + 22.0 + 3.5 * words.chars().count() as f64;
        }
    }
    for mark in chart
        .marks
        .iter()
        .filter(|mark| sound(mark.at) && sound(mark.low))
    {
        let within = |bytes: f64| across.place(bytes).clamp(LEFT, right);
        let (low, at, high) = (within(mark.low), within(mark.at), within(mark.high));
        let shade = [(low, TOP), (high, TOP), (high, bottom), (low, bottom)];
        drawing.area(&shade, Color::Faint, 0.15);
        drawing.line((at, TOP), (at, bottom), Color::Text, "4 3");
        // Placed on the other side if it would be cut off.
        let (x, anchor) = match at + 7.0 * mark.label.chars().count() as f64 > right {
            true => (at - 4.0, Anchor::End),
            false => (at + 4.0, Anchor::Start),
        };
        drawing.text(x, TOP + 11.0, anchor, 11.0, Color::Text, &mark.label);
    }
    for (curve, points) in &curves {
        let banded = || points.iter().filter_map(|p| Some((p.0, p.2?)));
        let banded = || banded().filter(|(_, (low, high))| sound(*low) && sound(*high));
        let above = banded().map(|(x, (_, high))| (across.place(x), up.place(high)));
        let below = banded().map(|(x, (low, _))| (across.place(x), up.place(low)));
        let mut outline: Vec<(f64, f64)> = above.collect();
        outline.extend(below.collect::<Vec<_>>().into_iter().rev());
        drawing.area(&outline, curve.color, 0.22);
    }
    for (curve, points) in &curves {
        let line: Vec<(f64, f64)> = points
            .iter()
            .map(|p| (across.place(p.0), up.place(p.1)))
            .collect();
        drawing.chain(&line, curve.color, dashes(curve.color));
        for (x, y) in line {
            let corners = [(x - 2.5, y), (x, y - 2.5), (x + 2.5, y), (x, y + 2.5)];
            drawing.area(&corners, curve.color, 1.0);
        }
    }
    for (row, (curve, _)) in curves.iter().enumerate() {
        let y = HEIGHT + LEGEND * row as f64;
        drawing.chain(
            &[(LEFT, y - 4.0), (LEFT + 26.0, y - 4.0)],
            curve.color,
            dashes(curve.color),
        );
        drawing.text(
            LEFT + 34.0,
            y,
            Anchor::Start,
            11.0,
            Color::Text,
            &curve.name,
        );
    }
    Some(titled(&chart.title, &drawing))
}

/// The drawing below its title, which is broken if it is too wide.
fn titled(title: &str, drawing: &Drawing) -> Drawing {
    let mut lines = vec![String::new()];
    for word in title.split(' ') {
        let line = lines.last_mut().expect("begun with one");
        let length = line.chars().count() + 1 + word.chars().count();
        if length > TITLE_LETTERS && !line.is_empty() {
            lines.push(word.to_owned());
        } else {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    let more = TITLE_LINE * (lines.len() - 1) as f64;
    let mut all = Drawing::new(drawing.width, drawing.height + more);
    for (index, line) in lines.iter().enumerate() {
        let y = 14.0 + TITLE_LINE * index as f64;
        all.text(0.0, y, Anchor::Start, 13.0, Color::Text, line);
    }
    all.place(0.0, more, drawing);
    all
}

/// A logarithmic axis.
struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// From `from` to `to`, with a margin; `None` without values.
    fn of(values: impl Iterator<Item = f64>, from: f64, to: f64, margin: f64) -> Option<Self> {
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        for value in values {
            low = low.min(value);
            high = high.max(value);
        }
        let scale = Scale {
            low: low / margin,
            high: high * margin,
            from,
            to,
        };
        let is_sound = 0.0 < scale.low && scale.low < scale.high && scale.high.is_finite();
        is_sound.then_some(scale)
    }

    fn place(&self, value: f64) -> f64 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        self.from + share.clamp(-0.05, 1.05) * (self.to - self.from)
    }
}

/// Round values on a logarithmic axis, finer if the axis is short.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let span = high / low;
    let marks: &[f64] = match span {
        _ if span < 1.6 => &[
            1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.7, 2.0, 3.0, 5.0, 8.0,
        ],
        _ if span < 6.0 => &[1.0, 1.2, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
        _ if span < 100.0 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    // A malformed file may span hundreds of decades.
    let stride = ((last - first) / 8 + 1) as usize;
    (first..=last)
        .step_by(stride)
        .flat_map(|decade| marks.iter().map(move |mark| mark * 10f64.powi(decade)))
        .filter(|value| (low..=high).contains(value))
        .collect()
}
