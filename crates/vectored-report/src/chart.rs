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
    /// The series of this number.
    pub fn new(hue: u8) -> Self {
        Series {
            hue,
            is_other: false,
        }
    }
}

/// The unit of the numbers of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Times in nanoseconds.
    #[default]
    Nanoseconds,
    /// Sizes in bytes.
    Bytes,
    /// Ratios.
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
    /// The title.
    pub title: Text,
    /// The unit of the horizontal axis.
    pub along: Unit,
    /// The unit of the vertical axis.
    pub up: Unit,
    /// The curves.
    pub curves: Vec<Curve>,
    /// Marked positions.
    pub marks: Vec<Mark>,
    /// Positions with a label; all if it is empty.
    pub labelled: Vec<f64>,
    /// A value that the axis includes, with a line of its own.
    pub base: Option<f64>,
}

/// A curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// The name.
    pub name: Text,
    /// The colour and dashes of the curve.
    pub series: Series,
    /// The points, by ascending position.
    pub points: Vec<Point>,
}

/// A value at a position along the axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// The position.
    pub at: f64,
    /// The value.
    pub value: f64,
    /// The ends of its interval.
    pub interval: Option<(f64, f64)>,
    /// The text that a pointer at the point shows.
    pub words: Text,
}

/// A position that is marked from top to bottom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mark {
    /// The position.
    pub at: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end of its interval.
    pub high: f64,
    /// The text over it.
    pub label: Text,
}

/// Bars on one axis, each with a name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    /// The title.
    pub title: Text,
    /// The unit of the axis.
    pub unit: Unit,
    /// Whether the axis is logarithmic. Bars have no length there, only a mark and their interval.
    pub is_logarithmic: bool,
    /// A value that the axis includes, with a line of its own.
    pub base: Option<f64>,
    /// The bars.
    pub bars: Vec<Bar>,
}

/// A bar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bar {
    /// The group, which stands over its first bar; may be empty.
    pub group: Text,
    /// The name.
    pub name: Text,
    /// The colour of the bar.
    pub series: Series,
    /// The value; `None` if there is none, and `words` say why.
    pub value: Option<f64>,
    /// The ends of its interval.
    pub interval: Option<(f64, f64)>,
    /// The value in words.
    pub words: Text,
}
