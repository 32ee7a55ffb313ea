//! Curves on logarithmic axes.
//!
//! A curve far above all others would press them together. So the axis ends a little above the middle curve if the highest
//! curve would make it more than half as long again: arrows stand where a curve is beyond the axis, and a line below says
//! how far it goes.

use maud::{Markup, html};

use crate::chart::{Chart, Curve, Point};
use crate::html::drawing::{BOTTOM, Drawing, TOP, series};
use crate::html::scale::Scale;
use crate::words;

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
            (plot.drawing().svg(&chart.title))
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

fn base(chart: &Chart) -> Option<f64> {
    chart.is_ratio.then_some(1.0)
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
        let values = points().map(|point| point.value).chain(base(chart));
        let values = values.filter(|&value| value <= most);
        let up = Scale::of(values, (BOTTOM, TOP), 1.08)?;
        Some(Plot { chart, across, up })
    }

    fn most(chart: &Chart) -> f64 {
        let highest = |curve: &Curve| {
            sound_points(curve)
                .map(|point| point.value)
                .reduce(f64::max)
        };
        let mut tops: Vec<f64> = chart.curves.iter().filter_map(highest).collect();
        tops.sort_unstable_by(f64::total_cmp);
        let points = chart.curves.iter().flat_map(sound_points);
        let lowest = points.map(|point| point.value).reduce(f64::min);
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

    fn drawing(&self) -> Drawing {
        let mut drawing = Drawing::default();
        for value in self.up.ticks() {
            let y = self.up.place(value);
            drawing.line(&[(0.0, y), (1.0, y)], "grid");
            drawing.value(y, &self.in_words(value));
        }
        if let Some(base) = base(self.chart) {
            let y = self.up.place(base);
            drawing.line(&[(0.0, y), (1.0, y)], "base");
        }
        self.labels(&mut drawing);
        self.marks(&mut drawing);
        for curve in &self.chart.curves {
            self.interval(curve, &mut drawing);
        }
        for curve in &self.chart.curves {
            self.curve(curve, &mut drawing);
        }
        drawing
    }

    /// Labels of sizes: the last, and as many before it as have room.
    fn labels(&self, drawing: &mut Drawing) {
        let points = self.chart.curves.iter().flat_map(sound_points);
        let mut sizes: Vec<u64> = points.map(|point| point.at).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let mut room = f64::INFINITY;
        for size in sizes.into_iter().rev() {
            let x = self.across.place(size as f64);
            drawing.tick(x);
            let words = words::bytes(size);
            let half = LETTER / 2.0 * words.chars().count() as f64;
            if x + half < room {
                drawing.text((x, BOTTOM + 18.0), &words);
                room = x - half - LETTER;
            }
        }
    }

    fn marks(&self, drawing: &mut Drawing) {
        for mark in self.chart.marks.iter().filter(|mark| is_sound(mark.at)) {
            let ends = [mark.low, mark.high].map(|end| if is_sound(end) { end } else { mark.at });
            let [low, high] = ends.map(|end| self.across.place(end).clamp(0.0, 1.0));
            let at = self.across.place(mark.at).clamp(0.0, 1.0);
            let corners = [(low, TOP), (high, TOP), (high, BOTTOM), (low, BOTTOM)];
            drawing.area(&corners, "shade");
            drawing.line(&[(at, TOP), (at, BOTTOM)], "mark");
            let half = LETTER / 2.0 * mark.label.chars().count() as f64;
            let middle = at.clamp(half.min(0.5), 1.0 - half.min(0.5));
            drawing.text((middle, TOP - 6.0), &mark.label);
        }
    }

    fn interval(&self, curve: &Curve, drawing: &mut Drawing) {
        let ends = sound_points(curve).filter_map(|point| {
            let (low, high) = point
                .interval
                .filter(|(low, high)| is_sound(*low) && is_sound(*high))?;
            let x = self.across.place(point.at as f64);
            Some([(x, self.up.place(high)), (x, self.up.place(low))])
        });
        let (mut outline, below): (Vec<_>, Vec<_>) = ends.map(<(_, _)>::from).unzip();
        outline.extend(below.into_iter().rev());
        drawing.area(&outline, &series(curve.series));
    }

    fn curve(&self, curve: &Curve, drawing: &mut Drawing) {
        let class = series(curve.series);
        let place = |point: &Point| {
            (
                self.across.place(point.at as f64),
                self.up.place(point.value),
            )
        };
        let places: Vec<(f64, f64)> = sound_points(curve).map(place).collect();
        if places.len() > 1 {
            drawing.line(&places, &class);
        }
        for point in sound_points(curve) {
            let (x, y) = place(point);
            if self.is_beyond(point) {
                drawing.arrow(x, &class, &point.words);
            } else {
                drawing.point((x, y), &class, &point.words);
            }
        }
    }
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
    }
}
