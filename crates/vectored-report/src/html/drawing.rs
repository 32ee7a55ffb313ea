//! Shapes of a drawing that is as wide as its place on the page, with letters of one size.
//!
//! Positions across are shares of the width, from 0 to 1; those down are pixels. Lines and areas are stretched, and cut
//! off at the edges of the plot; texts and points lie above them and are not. Colours and dashes are in the style sheet
//! of the page, by class.

use maud::{Markup, html};

use crate::chart::Series;

/// Units across, in which lines and areas are drawn.
const UNITS: f64 = 1000.0;

pub(super) const STYLE: &str = include_str!("../../assets/drawing.css");

/// The class of a series, which has its colour and dashes.
pub(super) fn series(series: Series) -> String {
    let other = if series.is_other { " other" } else { "" };
    format!("s{}{other}", series.hue.min(5))
}

/// A drawing of a fixed height.
pub struct Drawing {
    height: f64,
    /// Top and bottom of the plot.
    plot: (f64, f64),
    stretched: Vec<Markup>,
    above: Vec<Markup>,
}

/// The alignment of a text to its position.
#[derive(Clone, Copy)]
pub enum Anchor {
    /// Around its position.
    Centred,
    /// A little to the left of its position.
    Left,
}

impl Drawing {
    /// An empty drawing with a plot between these heights.
    pub fn new(height: f64, plot: (f64, f64)) -> Self {
        Drawing {
            height,
            plot,
            stretched: Vec::new(),
            above: Vec::new(),
        }
    }

    pub fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let (anchor, dx) = match anchor {
            Anchor::Centred => ("middle", "0"),
            Anchor::Left => ("end", "-6"),
        };
        self.above.push(html! {
            text x=(percent(x)) y=(pixels(y)) text-anchor=(anchor) dx=(dx) { (text) }
        });
    }

    /// Straight lines from point to point.
    pub fn line(&mut self, points: &[(f64, f64)], class: &str) {
        self.stretched
            .push(html! { path class={ "line " (class) } d={ "M" (path(points)) } {} });
    }

    /// A filled outline.
    pub fn area(&mut self, points: &[(f64, f64)], class: &str) {
        if !points.is_empty() {
            self.stretched
                .push(html! { path class={ "area " (class) } d={ "M" (path(points)) "Z" } {} });
        }
    }

    /// A short line down, also beyond the plot.
    pub fn tick(&mut self, x: f64, (from, to): (f64, f64)) {
        self.above.push(html! {
            line.tick x1=(percent(x)) x2=(percent(x)) y1=(pixels(from)) y2=(pixels(to)) {}
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
            text class={ "point " (class) } x=(percent(x)) y=(pixels(self.plot.0 + 10.0)) text-anchor="middle" {
                title { (words) }
                "▲"
            }
        });
    }

    /// The element; `label` is what a screen reader says.
    pub(super) fn svg(&self, label: &str) -> Markup {
        html! {
            svg height=(self.height) role="img" aria-label=(label) { (self.shapes()) }
        }
    }

    fn shapes(&self) -> Markup {
        let (top, bottom) = self.plot;
        let height = bottom - top;
        html! {
            svg y=(top) width="100%" height=(height) viewBox={ "0 " (top) " " (UNITS) " " (height) }
                preserveAspectRatio="none" {
                @for shape in &self.stretched { (shape) }
            }
            @for shape in &self.above { (shape) }
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
