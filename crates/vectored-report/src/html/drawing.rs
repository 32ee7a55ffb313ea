//! Shapes of a drawing that is as wide as its place on the page, with letters of one size.
//!
//! Positions across are shares of the width, from 0 to 1; positions down are pixels. Lines and areas are stretched, and cut
//! off at the edges of the plot; texts and points lie above them and are not. Colours and dashes are in the style sheet
//! of the page, by class.

use maud::{Markup, html};

use crate::chart::Series;

/// Units across, in which lines and areas are drawn.
const UNITS: f64 = 1000.0;

/// The edges of the plot. Above the plot are labels of marks, below it labels of positions.
pub(super) const TOP: f64 = 18.0;
pub(super) const BOTTOM: f64 = 260.0;
const HEIGHT: f64 = BOTTOM + 22.0;

pub(super) const STYLE: &str = include_str!("../../assets/drawing.css");

/// The class of a series, which has its colour and dashes.
pub(super) fn series(series: Series) -> String {
    let other = if series.is_other { " other" } else { "" };
    format!("s{}{other}", series.hue.min(5))
}

#[derive(Default)]
pub(super) struct Drawing {
    stretched: Vec<Markup>,
    above: Vec<Markup>,
}

impl Drawing {
    /// A text around its position.
    pub fn text(&mut self, (x, y): (f64, f64), text: &str) {
        self.above.push(html! {
            text x=(percent(x)) y=(pixels(y)) text-anchor="middle" dx="0" { (text) }
        });
    }

    /// A text to the left of the plot.
    pub fn value(&mut self, y: f64, text: &str) {
        self.above.push(html! {
            text x=(percent(0.0)) y=(pixels(y + 4.0)) text-anchor="end" dx="-6" { (text) }
        });
    }

    pub fn line(&mut self, points: &[(f64, f64)], class: &str) {
        self.stretched
            .push(html! { path class={ "line " (class) } d={ "M" (path(points)) } {} });
    }

    pub fn area(&mut self, points: &[(f64, f64)], class: &str) {
        if !points.is_empty() {
            self.stretched
                .push(html! { path class={ "area " (class) } d={ "M" (path(points)) "Z" } {} });
        }
    }

    pub fn tick(&mut self, x: f64) {
        let x = percent(x);
        self.above.push(html! {
            line.tick x1=(x) x2=(x) y1=(pixels(BOTTOM)) y2=(pixels(BOTTOM + 4.0)) {}
        });
    }

    /// A point; a pointer near it shows the words.
    pub fn point(&mut self, (x, y): (f64, f64), class: &str, words: &str) {
        let (x, y) = (percent(x), pixels(y));
        self.above.push(html! {
            g class={ "point " (class) } {
                title { (words) }
                circle cx=(x) cy=(y) r="9" fill-opacity="0" {}
                circle cx=(x) cy=(y) r="3" {}
            }
        });
    }

    /// An arrow at the upper edge: a point lies beyond it.
    pub fn arrow(&mut self, x: f64, class: &str, words: &str) {
        self.above.push(html! {
            text class={ "point " (class) } x=(percent(x)) y=(pixels(TOP + 10.0)) text-anchor="middle" {
                title { (words) }
                "▲"
            }
        });
    }

    /// The element; `label` is what a screen reader says.
    pub fn svg(&self, label: &str) -> Markup {
        let height = BOTTOM - TOP;
        html! {
            svg height=(HEIGHT) role="img" aria-label=(label) {
                svg y=(TOP) width="100%" height=(height) viewBox={ "0 " (TOP) " " (UNITS) " " (height) }
                    preserveAspectRatio="none" {
                    @for shape in &self.stretched { (shape) }
                }
                @for shape in &self.above { (shape) }
            }
        }
    }
}

fn percent(x: f64) -> String {
    format!("{:.2}%", x * 100.0)
}

fn pixels(y: f64) -> String {
    format!("{y:.1}")
}

fn path(points: &[(f64, f64)]) -> String {
    let places = points
        .iter()
        .map(|(x, y)| format!("{:.1} {y:.1}", x * UNITS));
    places.collect::<Vec<_>>().join("L")
}
