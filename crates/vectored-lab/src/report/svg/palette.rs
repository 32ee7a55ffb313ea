//! Colours: as attributes, which every program understands that reads SVG, and
//! as classes, by which a browser darkens them.

use crate::model::Technique;

/// A colour by its role: name, by day, by night. Those of techniques are Okabe
/// and Ito's, which people with any kind of colour vision tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
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

impl Ink {
    const ALL: [Ink; 9] = [
        Ink::Page,
        Ink::Text,
        Ink::Faint,
        Ink::Line,
        Ink::Each,
        Ink::Copy,
        Ink::Gather,
        Ink::Adaptive,
        Ink::Other,
    ];

    fn tones(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Ink::Page => ("page", "#ffffff", "#15171a"),
            Ink::Text => ("text", "#1b1b1b", "#e8e8e8"),
            Ink::Faint => ("faint", "#595959", "#aaaaaa"),
            Ink::Line => ("line", "#c9c9c9", "#474b50"),
            Ink::Each => ("each", "#d55e00", "#ff8a3c"),
            Ink::Copy => ("copy", "#0072b2", "#56b4e9"),
            Ink::Gather => ("gather", "#b87d00", "#f0b429"),
            Ink::Adaptive => ("adaptive", "#007a56", "#3fc79a"),
            Ink::Other => ("other", "#8a4f7d", "#d79bc8"),
        }
    }

    /// Of a technique, and of its counterpart for reads.
    pub fn of(technique: Technique) -> Self {
        match technique {
            Technique::WriteEach | Technique::ReadEach => Ink::Each,
            Technique::CopyThenWrite | Technique::ReadThenSplit => Ink::Copy,
            Technique::Writev | Technique::Readv => Ink::Gather,
            Technique::Adaptive => Ink::Adaptive,
            _ => Ink::Other,
        }
    }

    /// Attributes of what is filled.
    pub fn fill(self) -> String {
        let (name, day, _) = self.tones();
        format!("class=\"f-{name}\" fill=\"{day}\"")
    }

    /// Attributes of what is drawn.
    pub fn stroke(self) -> String {
        let (name, day, _) = self.tones();
        format!("class=\"s-{name}\" stroke=\"{day}\" fill=\"none\"")
    }
}

/// The dashes of a technique, so that its colour is not all that tells it.
pub fn dashes(ink: Ink) -> &'static str {
    match ink {
        Ink::Each => "2 3",
        Ink::Copy => "8 3",
        Ink::Adaptive => "8 3 2 3",
        _ => "none",
    }
}

/// The colours by night.
pub fn style() -> String {
    let mut rules = String::new();
    for ink in Ink::ALL {
        let (name, _, night) = ink.tones();
        rules += &format!(".f-{name}{{fill:{night}}}.s-{name}{{stroke:{night}}}");
    }
    format!("<style>@media (prefers-color-scheme:dark){{{rules}}}</style>")
}
