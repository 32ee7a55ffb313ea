//! Curves on logarithmic axes, as wide as their place on the page, with letters of one size.
//!
//! Positions across are shares of the width, from 0 to 1; positions down are pixels. Colours and dashes are in the style
//! sheet of the page, by class.
//!
//! A curve far above all others would press the others together. If the highest curve would make the axis more than half as
//! long again, the axis ends a little above the middle curve. Then arrows stand where a curve is beyond the axis, and a line
//! below says how far the curve goes.

use maud::{Markup, html};

use crate::chart::{Chart, Curve, Mark, Point, Series};
use crate::html::scale::Scale;
use crate::words;

pub(super) const STYLE: &str = include_str!("../../assets/drawing.css");

/// Units across, in which lines and areas are drawn.
const UNITS: f64 = 1000.0;
/// The edges of the plot. Above the plot are labels of marks, below it labels of positions.
const TOP: f64 = 18.0;
const BOTTOM: f64 = 260.0;
const HEIGHT: f64 = BOTTOM - TOP;
/// The width of a letter, as a share of the narrowest chart, 290 pixels.
const LETTER: f64 = 6.4 / 290.0;
/// How far the axis goes beyond the middle curve.
const BEYOND_MIDDLE: f64 = 1.5;
/// How many times as long an axis may be that shows all curves.
const BEYOND_LENGTH: f64 = 1.5;

/// The chart with its title and its legend; empty if there is nothing to draw.
pub(super) fn figure(chart: &Chart) -> Markup {
    let Some(plot) = Plot::of(chart) else {
        return html! {};
    };
    let beyond = plot.beyond();
    html! {
        figure.drawn {
            figcaption { (chart.title) }
            (plot.drawing())
            p.legend {
                @for curve in &chart.curves {
                    span.key {
                        svg.line-key { path class={ "line " (series(curve.series)) } d="M0 6H26" {} }
                        (curve.name)
                    }
                    " "
                }
                @if !beyond.is_empty() {
                    span { "▲ beyond the axis: " (beyond) }
                }
            }
        }
    }
}

/// The class of a series. The style sheet gives the class a colour and dashes.
pub(super) fn series(series: Series) -> String {
    let other = if series.is_other { " other" } else { "" };
    format!("s{}{other}", series.hue.min(5))
}

fn is_sound(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

fn sound_points(curve: &Curve) -> impl Iterator<Item = &Point> + Clone {
    let points = curve.points.iter();
    points.filter(|point| point.at > 0 && is_sound(point.value))
}

struct Plot<'a> {
    chart: &'a Chart,
    across: Scale,
    up: Scale,
}

impl<'a> Plot<'a> {
    fn of(chart: &'a Chart) -> Option<Self> {
        let points = || chart.curves.iter().flat_map(sound_points);
        let across = Scale::of(points().map(|point| point.at as f64), (0.0, 1.0), 1.15)?;
        let most = Plot::most(chart);
        let base = chart.is_ratio.then_some(1.0);
        let values = points().map(|point| point.value).chain(base);
        let values = values.filter(|&value| value <= most);
        let up = Scale::of(values, (BOTTOM, TOP), 1.08)?;
        Some(Plot { chart, across, up })
    }

    fn most(chart: &Chart) -> f64 {
        let values = |curve| sound_points(curve).map(|point| point.value);
        let highest = |curve| values(curve).reduce(f64::max);
        let mut tops: Vec<f64> = chart.curves.iter().filter_map(highest).collect();
        tops.sort_unstable_by(f64::total_cmp);
        let lowest = chart.curves.iter().flat_map(values).reduce(f64::min);
        match (&tops[..], lowest) {
            ([.., last], Some(lowest)) if tops.len() > 2 => {
                let limit = tops[tops.len() / 2] * BEYOND_MIDDLE;
                let [shorter, longer] = [limit, *last].map(|high| (high / lowest).ln());
                if longer > BEYOND_LENGTH * shorter { limit } else { *last }
            }
            _ => f64::INFINITY,
        }
    }

    fn in_words(&self, value: f64) -> String {
        if self.chart.is_ratio { words::ratio(value) } else { words::time(value) }
    }

    fn is_beyond(&self, point: &Point) -> bool {
        point.value > self.up.high
    }

    /// `write-each up to 70.2×`.
    fn beyond(&self) -> String {
        let curves = self.chart.curves.iter();
        let beyond = curves.filter_map(|curve| {
            let far = sound_points(curve).filter(|point| self.is_beyond(point));
            let most = far.map(|point| point.value).reduce(f64::max)?;
            Some(format!("{} up to {}", curve.name, self.in_words(most)))
        });
        words::enumerated(&beyond.collect::<Vec<_>>())
    }

    /// Lines and areas are stretched, and cut off at the edges of the plot. Texts and points lie above the lines and areas, and
    /// are neither stretched nor cut off.
    fn drawing(&self) -> Markup {
        let Chart { title, curves, .. } = self.chart;
        let level = |value| [0.0, 1.0].map(|x| (x, self.up.place(value)));
        let marks: Vec<(&Mark, [f64; 3])> = self.marks().collect();
        html! {
            svg height=(BOTTOM + 22.0) role="img" aria-label=(title) {
                svg y=(TOP) width="100%" height=(HEIGHT) viewBox={ "0 " (TOP) " " (UNITS) " " (HEIGHT) }
                    preserveAspectRatio="none" {
                    @for value in self.up.ticks() { (path("line grid", &level(value))) }
                    @if self.chart.is_ratio { (path("line base", &level(1.0))) }
                    @for (_, [low, at, high]) in &marks {
                        (path("area shade", &[(*low, TOP), (*high, TOP), (*high, BOTTOM), (*low, BOTTOM)]))
                        (path("line mark", &[(*at, TOP), (*at, BOTTOM)]))
                    }
                    @for curve in curves { (self.interval(curve)) }
                    @for curve in curves { (self.line(curve)) }
                }
                @for value in self.up.ticks() {
                    text x="0.00%" y=(pixels(self.up.place(value) + 4.0)) text-anchor="end" dx="-6" { (self.in_words(value)) }
                }
                @for (x, words) in self.labels() {
                    line.tick x1=(percent(x)) x2=(percent(x)) y1=(pixels(BOTTOM)) y2=(pixels(BOTTOM + 4.0)) {}
                    @if let Some(words) = words { (text(x, BOTTOM + 18.0, &words)) }
                }
                @for (mark, [_, at, _]) in &marks {
                    @let half = (LETTER / 2.0 * mark.label.chars().count() as f64).min(0.5);
                    (text(at.clamp(half, 1.0 - half), TOP - 6.0, &mark.label))
                }
                @for curve in curves {
                    @for point in sound_points(curve) { (self.point(point, &series(curve.series))) }
                }
            }
        }
    }

    /// The sizes, the largest first. A size has a label if there is room.
    fn labels(&self) -> Vec<(f64, Option<String>)> {
        let points = self.chart.curves.iter().flat_map(sound_points);
        let mut sizes: Vec<u64> = points.map(|point| point.at).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let mut room = f64::INFINITY;
        let label = |size: u64| {
            let x = self.across.place(size as f64);
            let words = words::bytes(size);
            let half = LETTER / 2.0 * words.chars().count() as f64;
            let fits = x + half < room;
            if fits {
                room = x - half - LETTER;
            }
            (x, fits.then_some(words))
        };
        sizes.into_iter().rev().map(label).collect()
    }

    /// The marks, each with its low end, its place and its high end.
    fn marks(&self) -> impl Iterator<Item = (&Mark, [f64; 3])> {
        let marks = self.chart.marks.iter().filter(|mark| is_sound(mark.at));
        marks.map(|mark| {
            let ends = [mark.low, mark.at, mark.high];
            let ends = ends.map(|end| if is_sound(end) { end } else { mark.at });
            (mark, ends.map(|end| self.across.place(end).clamp(0.0, 1.0)))
        })
    }

    fn place(&self, point: &Point, value: f64) -> (f64, f64) {
        (self.across.place(point.at as f64), self.up.place(value))
    }

    fn interval(&self, curve: &Curve) -> Markup {
        let ends = sound_points(curve).filter_map(|point| {
            let (low, high) = point.interval?;
            let is_drawn = is_sound(low) && is_sound(high);
            is_drawn.then(|| (self.place(point, high), self.place(point, low)))
        });
        let (mut outline, below): (Vec<_>, Vec<_>) = ends.unzip();
        outline.extend(below.into_iter().rev());
        html! {
            @if !outline.is_empty() { (path(&format!("area {}", series(curve.series)), &outline)) }
        }
    }

    fn line(&self, curve: &Curve) -> Markup {
        let places = sound_points(curve).map(|point| self.place(point, point.value));
        let places: Vec<(f64, f64)> = places.collect();
        html! {
            @if places.len() > 1 { (path(&format!("line {}", series(curve.series)), &places)) }
        }
    }

    /// A point, or an arrow at the upper edge if the point lies beyond this edge. A pointer near the point shows the words.
    fn point(&self, point: &Point, class: &str) -> Markup {
        let (x, y) = self.place(point, point.value);
        let (x, y) = (percent(x), pixels(y));
        html! {
            @if self.is_beyond(point) {
                text class={ "point " (class) } x=(x) y=(pixels(TOP + 10.0)) text-anchor="middle" {
                    title { (point.words) }
                    "▲"
                }
            } @else {
                g class={ "point " (class) } {
                    title { (point.words) }
                    circle cx=(x) cy=(y) r="9" fill-opacity="0" {}
                    circle cx=(x) cy=(y) r="3" {}
                }
            }
        }
    }
}

/// A text around its position.
fn text(x: f64, y: f64, text: &str) -> Markup {
    html! { text x=(percent(x)) y=(pixels(y)) text-anchor="middle" dx="0" { (text) } }
}

/// A line, or the outline of an area.
fn path(class: &str, points: &[(f64, f64)]) -> Markup {
    let place = |(x, y): &(f64, f64)| format!("{:.1} {y:.1}", x * UNITS);
    let places: Vec<String> = points.iter().map(place).collect();
    let end = if class.starts_with("area") { "Z" } else { "" };
    html! { path class=(class) d={ "M" (places.join("L")) (end) } {} }
}

fn percent(x: f64) -> String {
    format!("{:.2}%", x * 100.0)
}

fn pixels(y: f64) -> String {
    format!("{y:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Series;

    fn chart(values: [fn(f64) -> f64; 3]) -> String {
        let curves = values.iter().map(|value| Curve {
            name: "name".into(),
            series: Series::new(1),
            points: (0..20)
                .map(|power| Point {
                    at: 1 << power,
                    value: value(f64::from(1 << power)),
                    interval: None,
                    words: "words".into(),
                })
                .collect(),
        });
        let chart = Chart {
            curves: curves.collect(),
            ..Chart::default()
        };
        figure(&chart).into_string()
    }

    #[test]
    fn a_curve_is_cut_off_only_if_it_would_press_the_others_together() {
        let flat = |_| 1.0;
        let cut = chart([flat, |at| 1.0 + at / 1e6, |at| 1.0 + 70.0 / at]);
        assert!(cut.contains("▲ beyond the axis: name up to 71"), "{cut}");
        // Copies with ever larger buffers, here and on a machine that took ten times as long.
        let copies = |at: f64| 1e7 + 1e11 / at;
        let whole = chart([copies, copies, |at| 1e8 + 1e12 / at]);
        assert!(!whole.contains("beyond"), "{whole}");
        assert!(whole.contains(">100 s<"), "{whole}");
    }

    #[test]
    fn the_last_position_has_a_label() {
        let flat = |_| 1.0;
        let drawn = chart([flat, flat, |_| 2.0]);
        assert!(drawn.contains(">512 KiB<"), "{drawn}");
        assert!(!drawn.contains(">256 KiB<"), "{drawn}");
    }
}
