//! Shapes with a size, arranged beside and below each other.

use crate::report::svg::palette::Color;
use crate::text::format::escape_control;

/// Shapes within `width` × `height`.
#[derive(Default)]
pub struct Drawing {
    pub width: f64,
    pub height: f64,
    pub shapes: String,
}

/// Alignment of a text.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Drawing {
    pub fn new(width: f64, height: f64) -> Self {
        Drawing {
            width,
            height,
            shapes: String::new(),
        }
    }

    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, size: f64, color: Color, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        self.shapes += &format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\" {}>{}</text>\n",
            color.fill(),
            escape(text)
        );
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), color: Color, dashes: &str) {
        self.shapes += &format!(
            "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" {} stroke-dasharray=\"{dashes}\"/>\n",
            from.0,
            from.1,
            to.0,
            to.1,
            color.stroke()
        );
    }

    /// A chain of lines, two units wide.
    pub fn chain(&mut self, points: &[(f64, f64)], color: Color, dashes: &str) {
        if points.is_empty() {
            return;
        }
        self.shapes += &format!(
            "<path d=\"M{}\" stroke-width=\"2\" {} stroke-dasharray=\"{dashes}\"/>\n",
            places(points),
            color.stroke()
        );
    }

    /// A filled outline.
    pub fn area(&mut self, points: &[(f64, f64)], color: Color, opacity: f64) {
        if points.is_empty() {
            return;
        }
        self.shapes += &format!(
            "<path d=\"M{}Z\" fill-opacity=\"{opacity:.2}\" {}/>\n",
            places(points),
            color.fill()
        );
    }

    /// Adds another drawing with its corner at this point.
    pub fn place(&mut self, x: f64, y: f64, other: &Drawing) {
        self.shapes += &format!(
            "<g transform=\"translate({x:.1} {y:.1})\">\n{}</g>\n",
            other.shapes
        );
        self.width = self.width.max(x + other.width);
        self.height = self.height.max(y + other.height);
    }
}

fn places(points: &[(f64, f64)]) -> String {
    let all: Vec<String> = points
        .iter()
        .map(|(x, y)| format!("{x:.1} {y:.1}"))
        .collect();
    all.join("L")
}

/// Escapes a text for XML.
pub fn escape(text: &str) -> String {
    escape_control(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
