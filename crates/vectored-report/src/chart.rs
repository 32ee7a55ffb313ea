//! The content of charts.

use crate::text::Text;

/// The colour and dashes of a thing in charts and maps, by number. Things without a number of their own have 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// The number, at most 5.
    pub hue: u8,
    /// Whether this is a second thing with the same number, such as earlier figures.
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

/// Curves by size, on logarithmic axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    pub title: Text,
    /// Whether values are ratios, not times in nanoseconds. The axis of ratios includes 1.
    pub is_ratio: bool,
    pub curves: Vec<Curve>,
    pub marks: Vec<Mark>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    pub name: Text,
    pub series: Series,
    /// By ascending size.
    pub points: Vec<Point>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// The size, in bytes.
    pub at: u64,
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
