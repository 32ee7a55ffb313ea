//! Shapes of a drawing that is as wide as its place on the page, with letters of one size.
//!
//! Positions across are shares of the width, from 0 to 1; those down are pixels. Lines and areas are stretched; texts and
//! points lie above them and are not. Colours and dashes are in the style sheet of the page, by class.

use crate::report::page::escape::escape;

/// Units across, in which lines and areas are drawn.
const UNITS: f64 = 1000.0;

/// A drawing of a fixed height.
pub struct Drawing {
    height: f64,
    stretched: String,
    above: String,
}

/// Where a text lies.
pub enum Anchor {
    Centred,
    /// A little to the left of its position.
    Left,
}

impl Drawing {
    pub fn new(height: f64) -> Self {
        Drawing {
            height,
            stretched: String::new(),
            above: String::new(),
        }
    }

    pub fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Centred => "text-anchor=\"middle\"",
            Anchor::Left => "text-anchor=\"end\" dx=\"-6\"",
        };
        self.above += &format!(
            "<text x=\"{:.2}%\" y=\"{y:.1}\" {anchor}>{}</text>\n",
            x * 100.0,
            escape(text)
        );
    }

    /// Straight lines from point to point.
    pub fn line(&mut self, points: &[(f64, f64)], class: &str) {
        self.stretched += &format!("<path class=\"line {class}\" d=\"M{}\"/>\n", path(points));
    }

    /// A filled outline.
    pub fn area(&mut self, points: &[(f64, f64)], class: &str) {
        if !points.is_empty() {
            self.stretched += &format!("<path class=\"area {class}\" d=\"M{}Z\"/>\n", path(points));
        }
    }

    /// A point; a pointer near it shows the words.
    pub fn point(&mut self, (x, y): (f64, f64), class: &str, words: &str) {
        let place = format!("cx=\"{:.2}%\" cy=\"{y:.1}\"", x * 100.0);
        self.above += &format!(
            "<g class=\"point {class}\"><title>{}</title><circle {place} r=\"9\" fill-opacity=\"0\"/><circle {place} \
             r=\"3\"/></g>\n",
            escape(words)
        );
    }

    /// The element; `label` is what a screen reader says.
    pub fn svg(&self, label: &str) -> String {
        let height = self.height;
        format!(
            "<svg height=\"{height}\" role=\"img\" aria-label=\"{}\">\n<svg width=\"100%\" height=\"{height}\" \
             viewBox=\"0 0 {UNITS} {height}\" preserveAspectRatio=\"none\">\n{}</svg>\n{}</svg>\n",
            escape(label),
            self.stretched,
            self.above
        )
    }
}

fn path(points: &[(f64, f64)]) -> String {
    let places = points
        .iter()
        .map(|(x, y)| format!("{:.1} {y:.1}", x * UNITS));
    places.collect::<Vec<_>>().join("L")
}
