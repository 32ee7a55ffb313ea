//! A result as a document, for any format.

use crate::chart::{Chart, Series};
use crate::text::Text;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    pub title: Text,
    /// The explanation of this kind of result, in a sentence or two. Only the page shows the explanation.
    pub lead: Text,
    /// The answer in sentences: what a reader must not miss. The answer stands last on a terminal, where it is in sight, and
    /// first in other formats.
    pub answer: Vec<Block>,
    /// What disturbed the measurement, or makes the answer less certain. Warnings stand next to the answer.
    pub warnings: Vec<Block>,
    pub body: Vec<Block>,
    /// All other figures. A terminal shows these figures only if the details are asked for.
    pub sections: Vec<Section>,
}

impl Document {
    pub(crate) fn answer_first(&self) -> Vec<Block> {
        [&*self.answer, &*self.warnings].concat()
    }

    pub(crate) fn answer_last(&self) -> Vec<Block> {
        [&*self.warnings, &*self.answer].concat()
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    pub title: Text,
    pub blocks: Vec<Block>,
}

impl Section {
    pub fn new(title: impl Into<Text>, blocks: Vec<Block>) -> Self {
        Section {
            title: title.into(),
            blocks,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    Sentence(Sentence),
    Item(Item),
    Table(Table),
    Maps(Maps),
    /// Curves. Only the page draws curves; a table has the figures.
    Chart(Chart),
    /// How to read the figures.
    Note(Text),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    #[default]
    Plain,
    Strong,
    Warning,
    /// The circumstances.
    Quiet,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sentence {
    /// The subject, set apart before a colon; may be empty.
    pub subject: Text,
    pub text: Text,
    pub tone: Tone,
}

impl Sentence {
    pub fn of(subject: impl Into<Text>, text: impl Into<Text>) -> Self {
        Sentence {
            subject: subject.into(),
            text: text.into(),
            tone: Tone::Plain,
        }
    }

    pub fn toned(tone: Tone, text: impl Into<Text>) -> Self {
        Sentence {
            subject: Text::default(),
            text: text.into(),
            tone,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Item {
    pub title: Text,
    /// The worth of the finding.
    pub headline: Text,
    pub lines: Vec<Text>,
    pub choices: Option<Choices>,
}

/// Alternative texts. What stands between backticks is code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// Whom the texts are for: a language.
    pub label: Text,
    pub texts: Vec<Text>,
}

impl Choices {
    /// The parts of a text, and whether each part is code. A text whose backticks form no pairs is one part.
    pub(crate) fn parts(text: &str) -> Vec<(bool, &str)> {
        let parts: Vec<&str> = text.split('`').collect();
        if parts.len().is_multiple_of(2) {
            return vec![(false, text)];
        }
        let parts = parts.into_iter().enumerate();
        let parts = parts.map(|(index, part)| (index % 2 == 1, part));
        parts.filter(|(_, part)| !part.is_empty()).collect()
    }
}

/// Figures in rows. The columns before the first right-aligned column name the row. There is at least one name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub title: Text,
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table of columns of words, then of figures.
    pub fn new<const N: usize, const F: usize, T: Into<Cell>>(
        title: impl Into<Text>,
        names: [&str; N],
        figures: [&str; F],
        rows: impl IntoIterator<Item = Vec<T>>,
    ) -> Self {
        let cells = |row: Vec<T>| row.into_iter().map(T::into).collect();
        let names = names.into_iter().map(Column::words);
        Table {
            title: title.into(),
            columns: names.chain(figures.map(Column::figures)).collect(),
            rows: rows.into_iter().map(cells).collect(),
        }
    }

    /// How many columns on the left name the row.
    pub(crate) fn names(&self) -> usize {
        let is_name = |column: &&Column| column.align == Align::Left;
        self.columns.iter().take_while(is_name).count().max(1)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    /// Words. A line may end between any two words.
    Left,
    /// Figures. A figure stays with its unit.
    #[default]
    Right,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    pub head: Text,
    /// The head of a group of neighbouring columns, such as "here, seconds:". Empty if the column is in no group.
    pub group: Text,
    pub align: Align,
    /// The order in which columns are left out where a table is too wide for a terminal: first columns with 1, then columns
    /// with 2, and so on. Columns with 0 stay.
    pub drop_order: u8,
}

impl Column {
    pub fn words(head: impl Into<Text>) -> Self {
        Column {
            head: head.into(),
            align: Align::Left,
            ..Column::default()
        }
    }

    pub fn figures(head: impl Into<Text>) -> Self {
        Column {
            head: head.into(),
            ..Column::default()
        }
    }

    /// The mark behind a figure. Words have none.
    pub(crate) fn mark(&self, role: Role) -> &'static str {
        if self.align == Align::Right { role.mark() } else { "" }
    }

    /// The head after its group: `here, seconds: user`.
    pub(crate) fn full_head(&self) -> String {
        format!("{} {}", self.group, self.head).trim().to_owned()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    #[default]
    Plain,
    /// The best, or what got better.
    Winner,
    Tie,
    Open,
    /// A change for the worse.
    Loser,
}

impl Role {
    /// The mark behind a figure: it shows the role of the figure without colours.
    pub(crate) fn mark(self) -> &'static str {
        match self {
            Role::Winner => "*",
            Role::Tie => "=",
            Role::Plain | Role::Open | Role::Loser => "",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    pub text: Text,
    /// A shorter text for narrow terminals.
    pub short: Option<Text>,
    pub role: Role,
}

impl Cell {
    pub fn with_role(text: impl Into<Text>, role: Role) -> Self {
        Cell {
            text: text.into(),
            short: None,
            role,
        }
    }
}

impl<T: Into<Text>> From<T> for Cell {
    fn from(text: T) -> Self {
        Cell::with_role(text, Role::Plain)
    }
}

/// Maps with one legend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Maps {
    pub maps: Vec<Map>,
    pub keys: Vec<Key>,
    /// How to read the figures of the squares: a sentence.
    pub figures: Text,
    /// How to read the squares otherwise.
    pub legend: Text,
}

impl Maps {
    pub(crate) fn legend_in_words(&self, has_figures: bool) -> String {
        let keys = self.keys.iter();
        let keys = keys.map(|key| format!("{} {}", key.letter, key.name));
        let keys = keys.collect::<Vec<_>>().join(", ");
        let stop = if keys.is_empty() { "" } else { "." };
        let figures = if has_figures { &*self.figures } else { "" };
        let parts = [&(keys + stop), figures, &*self.legend];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(" ")
    }
}

/// Who wins where: squares in rows and columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map {
    pub title: Text,
    /// The head of the column of row heads.
    pub row_head: Text,
    pub heads: Vec<Text>,
    pub rows: Vec<MapRow>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct MapRow {
    pub head: Text,
    /// A square for each column; `None` where nothing was measured.
    pub squares: Vec<Option<Square>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Key {
    pub letter: Text,
    pub name: Text,
    pub series: Series,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Square {
    /// The winner: one letter.
    pub letter: Text,
    /// By how much the winner wins: a few letters.
    pub figure: Text,
    /// All that is known of the square. The page shows these words at a pointer.
    pub words: Text,
    pub role: Role,
    /// How strong the colour is, from 0 to 1.
    pub strength: f64,
    pub series: Series,
}
