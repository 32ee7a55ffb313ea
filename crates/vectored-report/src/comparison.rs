//! Two sides compared, whatever they are: rows joined by a key, changes, limits, and one table.

use serde::{Deserialize, Serialize};

use crate::document::{Block, Cell, Column, Role, Sentence, Table, Tone};
use crate::text::Text;
use crate::words::NONE;

/// Whether two figures differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The new figure is smaller.
    Less,
    /// The new figure is larger.
    More,
    /// No difference was found.
    #[default]
    NotFound,
}

impl Change {
    /// The change of two ranges: no change if the ranges have a value in common.
    pub fn of_ranges<T: PartialOrd>((old_low, old_high): (T, T), (low, high): (T, T)) -> Self {
        if high < old_low {
            Change::Less
        } else if low > old_high {
            Change::More
        } else {
            Change::NotFound
        }
    }

    /// The change in a word, for readers who see no colours. Less is better.
    pub fn cell(self) -> Cell {
        match self {
            Change::Less => Cell::with_role("less", Role::Winner),
            Change::More => Cell::with_role("more", Role::Loser),
            Change::NotFound => "".into(),
        }
    }
}

/// Whether a limit is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// The whole interval is within the limit.
    Within,
    /// The whole interval is beyond the limit.
    Beyond,
    /// The limit lies within the interval, or an end of the interval is unknown.
    Undecided,
}

impl Ruling {
    /// Whether a ratio in this interval is at most 1 + `limit`.
    pub fn of_ratio((low, high): (Option<f64>, Option<f64>), limit: f64) -> Self {
        match (low, high) {
            (Some(low), _) if low > 1.0 + limit => Ruling::Beyond,
            (_, Some(high)) if high <= 1.0 + limit => Ruling::Within,
            _ => Ruling::Undecided,
        }
    }

    pub fn sentence(self, text: impl Into<Text>) -> Block {
        let tone = if self == Ruling::Within { Tone::Plain } else { Tone::Warning };
        Block::Sentence(Sentence::toned(tone, text))
    }
}

/// The values of each key, in the order in which keys are first seen.
pub fn by_key<K: PartialEq, V>(items: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in items {
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, group)) => group.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// The values that each side has for a key, in the order in which keys are first seen.
pub fn join<K: PartialEq, V, S: IntoIterator<Item = (K, V)>>(
    sides: Vec<S>,
) -> Vec<(K, Vec<Vec<V>>)> {
    let count = sides.len();
    let sides = sides.into_iter().enumerate();
    let all = sides.flat_map(|(side, values)| values.into_iter().map(move |(k, v)| (k, (side, v))));
    let row = |(key, values): (K, Vec<(usize, V)>)| {
        let mut row: Vec<Vec<V>> = (0..count).map(|_| Vec::new()).collect();
        for (side, value) in values {
            row[side].push(value);
        }
        (key, row)
    };
    by_key(all).into_iter().map(row).collect()
}

/// The items in the order in which they are first seen.
pub fn each_once<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    for item in items {
        if !all.contains(&item) {
            all.push(item);
        }
    }
    all
}

#[derive(Clone, Debug, PartialEq)]
pub struct ComparedRow {
    pub names: Vec<Cell>,
    pub sides: [Text; 2],
    pub ratio: Option<String>,
    /// [`Change::cell`], or another word for the change.
    pub change: Cell,
}

/// The table of a comparison: names, both sides, their ratio and the change. Columns at the end that would be empty are left out.
pub fn comparison_table(
    title: impl Into<Text>,
    names: &[&str],
    [old, new]: [&str; 2],
    rows: Vec<ComparedRow>,
) -> Table {
    let has_change = rows.iter().any(|row| row.change != Cell::from(""));
    let has_ratio = has_change || rows.iter().any(|row| row.ratio.is_some());
    let mut columns: Vec<Column> = names.iter().map(|name| Column::words(*name)).collect();
    columns.extend([old, new].map(Column::figures));
    columns.extend(has_ratio.then(|| Column::figures(format!("{new} ÷ {old}"))));
    columns.extend(has_change.then(|| Column::words("change")));
    let row = |row: ComparedRow| {
        let mut cells = row.names;
        cells.extend(row.sides.map(Cell::from));
        cells.push(row.ratio.unwrap_or_else(|| NONE.to_owned()).into());
        cells.push(row.change);
        cells.truncate(columns.len());
        cells
    };
    Table {
        title: title.into(),
        rows: rows.into_iter().map(row).collect(),
        columns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_found_where_ranges_have_nothing_in_common() {
        for (new, change) in [
            ((1, 4), Change::Less),
            ((1, 5), Change::NotFound),
            ((6, 6), Change::NotFound),
            ((7, 9), Change::NotFound),
            ((8, 9), Change::More),
        ] {
            assert_eq!(Change::of_ranges((5, 7), new), change, "{new:?}");
        }
    }

    #[test]
    fn a_limit_is_decided_by_the_whole_interval() {
        for (ends, ruling) in [
            ((1.011, 1.2), Ruling::Beyond),
            ((1.01, 1.2), Ruling::Undecided),
            ((0.9, 1.01), Ruling::Within),
            ((0.9, 1.011), Ruling::Undecided),
        ] {
            let found = Ruling::of_ratio((Some(ends.0), Some(ends.1)), 0.01);
            assert_eq!(found, ruling, "{ends:?}");
        }
        assert_eq!(Ruling::of_ratio((None, None), 0.01), Ruling::Undecided);
    }

    #[test]
    fn rows_are_joined_by_their_key() {
        let sides = vec![vec![("b", 1), ("a", 2), ("b", 3)], vec![("c", 4), ("a", 5)]];
        let joined = [
            ("b", vec![vec![1, 3], vec![]]),
            ("a", vec![vec![2], vec![5]]),
            ("c", vec![vec![], vec![4]]),
        ];
        assert_eq!(join(sides), joined);
    }

    #[test]
    fn empty_columns_at_the_end_are_left_out() {
        let columns = |ratio: Option<&str>, change: Change| {
            let row = ComparedRow {
                names: vec!["x".into()],
                sides: ["1".into(), "2".into()],
                ratio: ratio.map(str::to_owned),
                change: change.cell(),
            };
            let table = comparison_table("", &["name"], ["old", "new"], vec![row]);
            assert_eq!(table.rows[0].len(), table.columns.len());
            table.columns.len()
        };
        assert_eq!(columns(None, Change::NotFound), 3);
        assert_eq!(columns(Some("2×"), Change::NotFound), 4);
        assert_eq!(columns(None, Change::More), 5);
    }
}
