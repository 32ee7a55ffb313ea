//! Curves on logarithmic axes.

use crate::report::page::escape::escape;
use crate::report::svg::drawing::{Anchor, Drawing};
use crate::report::svg::scale::Scale;

/// A value at a position along the axis.
pub struct Point {
    pub at: f64,
    pub value: f64,
    pub interval: Option<(f64, f64)>,
    /// What a pointer shows.
    pub words: String,
}

/// A curve; its class has the colour and the dashes.
pub struct Curve {
    pub name: String,
    pub class: String,
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
    /// A value that the axis includes, with a line of its own.
    pub base: Option<f64>,
    /// Put positions and values into words; a position without words has no label.
    pub along: &'a dyn Fn(f64) -> String,
    pub up: &'a dyn Fn(f64) -> String,
}

const TOP: f64 = 18.0;
const BOTTOM: f64 = 220.0;
/// Below the axis are the labels of positions.
const HEIGHT: f64 = BOTTOM + 22.0;
/// The width of a letter, as a share of the narrowest chart, 230 pixels.
const LETTER: f64 = 6.4 / 230.0;

/// The chart with its title and its legend; `None` if there is nothing to draw.
pub fn figure(chart: &Chart<'_>) -> Option<String> {
    let drawing = draw(chart)?;
    let mut text = format!(
        "<figure class=\"drawn\"><figcaption>{}</figcaption>\n{}<p class=\"legend\">",
        escape(&chart.title),
        drawing.svg(&chart.title)
    );
    for curve in &chart.curves {
        text += &format!(
            "<span><svg class=\"key\"><path class=\"line {}\" d=\"M0 6H26\"/></svg>{}</span> ",
            curve.class,
            escape(&curve.name)
        );
    }
    Some(text.trim_end().to_owned() + "</p></figure>\n")
}

fn sound(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

fn draw(chart: &Chart<'_>) -> Option<Drawing> {
    let curves: Vec<(&str, Vec<&Point>)> = chart
        .curves
        .iter()
        .map(|curve| {
            let sound = |point: &&Point| sound(point.at) && sound(point.value);
            (&*curve.class, curve.points.iter().filter(sound).collect())
        })
        .collect();
    let points = || curves.iter().flat_map(|(_, points)| points);
    let across = Scale::of(points().map(|point| point.at), (0.0, 1.0), 1.15)?;
    let values = points().map(|point| point.value).chain(chart.base);
    let up = Scale::of(values, (BOTTOM, TOP), 1.08)?;
    let mut drawing = Drawing::new(HEIGHT);
    for value in up.ticks() {
        let y = up.place(value);
        drawing.line(&[(0.0, y), (1.0, y)], "grid");
        drawing.text((0.0, y + 4.0), Anchor::Left, &(chart.up)(value));
    }
    if let Some(base) = chart.base {
        let y = up.place(base);
        drawing.line(&[(0.0, y), (1.0, y)], "base");
    }
    labels(chart, points().map(|point| point.at), &across, &mut drawing);
    for mark in chart.marks.iter().filter(|mark| sound(mark.at)) {
        let [low, at, high] = [mark.low, mark.at, mark.high].map(|bytes| across.place(bytes));
        let corners = [(low, TOP), (high, TOP), (high, BOTTOM), (low, BOTTOM)];
        drawing.area(&corners, "shade");
        drawing.line(&[(at, TOP), (at, BOTTOM)], "mark");
        let half = LETTER / 2.0 * mark.label.chars().count() as f64;
        let middle = at.clamp(half.min(0.5), 1.0 - half.min(0.5));
        drawing.text((middle, TOP - 6.0), Anchor::Centred, &mark.label);
    }
    for (class, points) in &curves {
        let ends = points.iter().filter_map(|point| {
            let (low, high) = point.interval?;
            (sound(low) && sound(high)).then(|| (across.place(point.at), low, high))
        });
        let ends: Vec<_> = ends.collect();
        let above = ends.iter().map(|&(x, _, high)| (x, up.place(high)));
        let below = ends.iter().rev().map(|&(x, low, _)| (x, up.place(low)));
        drawing.area(&above.chain(below).collect::<Vec<_>>(), class);
    }
    for (class, points) in &curves {
        let places = points
            .iter()
            .map(|point| (across.place(point.at), up.place(point.value)));
        let places: Vec<(f64, f64)> = places.collect();
        if places.len() > 1 {
            drawing.line(&places, class);
        }
        for (place, point) in std::iter::zip(places, points) {
            drawing.point(place, class, &point.words);
        }
    }
    Some(drawing)
}

/// Labels of positions, as many as have room.
fn labels(
    chart: &Chart<'_>,
    positions: impl Iterator<Item = f64>,
    across: &Scale,
    drawing: &mut Drawing,
) {
    let mut positions: Vec<f64> = positions.collect();
    positions.sort_by(f64::total_cmp);
    positions.dedup();
    let mut taken = f64::NEG_INFINITY;
    for position in positions {
        let x = across.place(position);
        drawing.line(&[(x, BOTTOM), (x, BOTTOM + 4.0)], "tick");
        let words = (chart.along)(position);
        let half = LETTER / 2.0 * words.chars().count() as f64;
        if !words.is_empty() && x - half > taken {
            drawing.text((x, BOTTOM + 18.0), Anchor::Centred, &words);
            taken = x + half + LETTER;
        }
    }
}
