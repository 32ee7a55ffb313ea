//! Colours: as attributes, which every SVG viewer supports, and as classes, which let browsers switch to
//! dark colours.

use crate::model::Technique;

/// A colour by its role: name, light and dark variant. Colours of techniques are those of Okabe and Ito,
/// chosen for all kinds of colour vision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    Page,
    Text,
    Faint,
    Line,
    Each,
    Copy,
    Gather,
    Adaptive,
    Other,
}

impl Color {
    const ALL: [Color; 9] = [
        Color::Page,
        Color::Text,
        Color::Faint,
        Color::Line,
        Color::Each,
        Color::Copy,
        Color::Gather,
        Color::Adaptive,
        Color::Other,
    ];

    fn tones(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Color::Page => ("page", "#ffffff", "#15171a"),
            Color::Text => ("text", "#1b1b1b", "#e8e8e8"),
            Color::Faint => ("faint", "#595959", "#aaaaaa"),
            Color::Line => ("line", "#c9c9c9", "#474b50"),
            Color::Each => ("each", "#d55e00", "#ff8a3c"),
            Color::Copy => ("copy", "#0072b2", "#56b4e9"),
            Color::Gather => ("gather", "#b87d00", "#f0b429"),
            Color::Adaptive => ("adaptive", "#007a56", "#3fc79a"),
            Color::Other => ("other", "#8a4f7d", "#d79bc8"),
        }
    }

    /// The colour of a technique, and of its counterpart for reads.
    pub fn of(technique: Technique) -> Self {
        match technique {
            Technique::WriteEach | Technique::ReadEach => Color::Each,
            Technique::CopyThenWrite | Technique::ReadThenSplit => Color::Copy,
            Technique::Writev | Technique::Readv => Color::Gather,
            Technique::Adaptive => Color::Adaptive,
            _ => Color::Other,
        }
    }

    /// Attributes of filled shapes.
    pub fn fill(self) -> String {
        let (name, day, _) = self.tones();
        format!("class=\"f-{name}\" fill=\"{day}\"")
    }

    /// Attributes of lines.
    pub fn stroke(self) -> String {
        let (name, day, _) = self.tones();
        format!("class=\"s-{name}\" stroke=\"{day}\" fill=\"none\"")
    }
}

/// The dashes of a technique, so that it is not told by colour alone.
pub fn dashes(color: Color) -> &'static str {
    match color {
        Color::Each => "2 3",
        Color::Copy => "8 3",
        Color::Adaptive => "8 3 2 3",
        _ => "none",
    }
}

/// The style rules of the dark variant.
pub fn style() -> String {
    let mut rules = String::new();
    for color in Color::ALL {
        let (name, _, night) = color.tones();
        rules += &format!(".f-{name}{{fill:{night}}}.s-{name}{{stroke:{night}}}");
    }
    format!("<style>@media (prefers-color-scheme:dark){{{rules}}}</style>")
}
