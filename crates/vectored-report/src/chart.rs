//! The content of charts.

use crate::text::Text;
use crate::words;

/// A colour and dashes, by number: they tell one thing from others in charts and maps. 0 is for all that has no
/// number of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// The number, at most 5.
    pub hue: u8,
    /// Whether it stands for something else with the same number, such as earlier figures.
    pub is_other: bool,
}

impl Series {
    pub fn new(hue: u8) -> Self {
        Series {
            hue,
            is_other: false,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    #[default]
    Nanoseconds,
    Bytes,
    Ratio,
}

impl Unit {
    /// A value in words: `1.25×`, `8.31 µs`, `4.38 KiB`.
    pub fn words(self, value: f64) -> String {
        match self {
            Unit::Nanoseconds => words::time(value),
            // Sizes that were chosen are whole, those that were computed are not.
            Unit::Bytes if value.fract() == 0.0 && value < 9e18 => words::bytes(value as u64),
            Unit::Bytes => words::about(value),
            Unit::Ratio => words::ratio(value),
        }
    }
}

/// Curves on logarithmic axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    pub title: Text,
    pub along: Unit,
    pub up: Unit,
    pub curves: Vec<Curve>,
    pub marks: Vec<Mark>,
    /// Positions with a label; all if it is empty.
    pub labelled: Vec<f64>,
    /// A value that the axis includes, with a line of its own.
    pub base: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    pub name: Text,
    pub series: Series,
    /// The points, by ascending position.
    pub points: Vec<Point>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    pub at: f64,
    pub value: f64,
    pub interval: Option<(f64, f64)>,
    /// The text that a pointer at the point shows.
    pub words: Text,
}

/// A position that is marked from top to bottom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mark {
    pub at: f64,
    pub low: f64,
    pub high: f64,
    pub label: Text,
}
