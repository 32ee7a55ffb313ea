//! The maps: who wins where, and by how much.

use vectored_report::sort::distinct;
use vectored_report::words::{ratio, ratio_within};
use vectored_report::{Key, Map, MapRow, Maps, Role, Series, Square, Text, words};

use crate::model::{Cell, Drain, ListShape, Results, TechniqueName, Verdict};
use crate::report::machines::shapes;
use crate::report::measured::Group;
use crate::report::shape_text::{list_of_cell, shape_in_words};
use crate::report::words::{Words, named_leader, nearest_rival, verdict_in_words};

/// Copies share one map.
pub(super) fn maps(groups: &[Group<'_>], results: &Results) -> Option<Maps> {
    let letters = letters(&results.rivals);
    let square = |cell: &Cell| square(cell, &results.rivals, &letters);
    let (copies, lists): (Vec<&Group<'_>>, Vec<&Group<'_>>) = groups
        .iter()
        .partition(|group| group.conditions.from.is_some());
    let mut maps: Vec<Map> = Vec::new();
    for group in lists {
        let (sized, mixed): (Vec<&Cell>, Vec<&Cell>) = group
            .cells
            .iter()
            .partition(|cell| cell.swept_bytes().is_some());
        let row = |shape: ListShape<'_>| {
            let head = match shape.swept_mix {
                Some(_) => shape_in_words(shape),
                None => shape.segment_count.to_string(),
            };
            let cells = sized.iter().filter(|cell| cell.shape() == shape);
            (head, cells.copied().collect())
        };
        let shapes = shapes(group.cells.iter().copied());
        let rows = shapes.into_iter().map(row).collect();
        maps.extend(by_size(&group.title, "segments", rows, square));
        let rows = mixed
            .into_iter()
            .map(|cell| (list_of_cell(cell), vec![cell]));
        maps.extend(by_size(&group.title, "list", rows.collect(), square));
    }
    let pairs = copies
        .iter()
        .map(|group| (group.title.clone(), group.cells.clone()));
    maps.extend(by_size("copy", "from … to", pairs.collect(), square));

    let figures = "2×: the next best takes twice as long.";
    let has_winner = results.cells.iter().any(|cell| cell.winner.is_some());
    (!maps.is_empty()).then(|| Maps {
        keys: keys(results, &letters),
        figures: if has_winner { figures } else { "" }.into(),
        legend: legend(&maps, results),
        maps,
    })
}

fn by_size(
    title: &str,
    row_head: &str,
    rows: Vec<(String, Vec<&Cell>)>,
    square: impl Fn(&Cell) -> Square,
) -> Option<Map> {
    let cells = rows.iter().flat_map(|(_, cells)| cells);
    // A fixed mix has no size.
    let sizes = distinct(cells.map(|cell| cell.swept_bytes()));
    let row = |(head, cells): (String, Vec<&Cell>)| {
        let square_at = |bytes: &Option<usize>| {
            let mut cells = cells.iter();
            let found = cells.find(|cell| cell.swept_bytes() == *bytes);
            found.map(|cell| square(cell))
        };
        MapRow {
            head: head.into(),
            squares: sizes.iter().map(square_at).collect(),
        }
    };
    let head = |bytes: usize| words::bytes(bytes as u64);
    let heads = sizes
        .iter()
        .map(|bytes| bytes.map_or("winner".to_owned(), head));
    (!sizes.is_empty()).then(|| Map {
        title: title.into(),
        row_head: row_head.into(),
        heads: heads.map(Text::from).collect(),
        rows: rows.into_iter().map(row).collect(),
    })
}

fn square(cell: &Cell, rivals: &[TechniqueName], letters: &[(TechniqueName, char)]) -> Square {
    let nearest = nearest_rival(cell, rivals);
    let technique = named_leader(cell, rivals);
    let letter_of = |technique: Option<TechniqueName>| {
        let letter = letters.iter().find(|(other, _)| Some(*other) == technique);
        let letter = letter.map_or('-', |&(_, letter)| letter);
        if has_helper(cell) { letter.to_ascii_lowercase() } else { letter }.to_string()
    };
    let figure = nearest.map_or(String::new(), |rival| ratio(rival.ratio_to_leader));
    let (letter, figure, role) = match cell.verdict {
        Verdict::Faster => (letter_of(technique), figure, Role::Winner),
        Verdict::Tie => ("=".to_owned(), String::new(), Role::Tie),
        Verdict::Close => {
            let percent = (cell.at_most.unwrap_or_default() * 100.0).ceil();
            let letter = CLOSE.to_owned() + &letter_of(cell.choice);
            (letter, format!("{percent} %"), Role::Tie)
        }
        Verdict::Open => {
            let letter = probable(cell, rivals).map_or(String::new(), |one| letter_of(Some(one)));
            (OPEN.to_owned() + &letter, String::new(), Role::Open)
        }
    };
    let tied = nearest.filter(|_| cell.verdict == Verdict::Tie);
    let interval = tied.map_or(String::new(), |rival| {
        ratio_within(rival.ratio_to_leader, rival.ratio_low.zip(rival.ratio_high))
    });
    let words = format!(
        "{}: {} {interval}",
        list_of_cell(cell),
        verdict_in_words(cell, rivals, TechniqueName::as_str)
    );
    Square {
        letter: letter.into(),
        figure: figure.into(),
        words: words.trim_end().into(),
        role,
        strength: strength(cell, nearest.map(|rival| rival.ratio_to_leader)),
        series: technique.map_or(Series::default(), |technique| {
            Series::new(Words::of(technique).hue)
        }),
    }
}

const CLOSE: &str = "~";
const OPEN: &str = "?";

/// The only technique of an open cell that may be the fastest by the intervals. The intervals are not adjusted for the number
/// of cells.
fn probable(cell: &Cell, rivals: &[TechniqueName]) -> Option<TechniqueName> {
    match cell.candidates(rivals)[..] {
        [only] if cell.verdict == Verdict::Open && nearest_rival(cell, rivals).is_some() => {
            Some(only.name)
        }
        _ => None,
    }
}

/// The strength of the colour: 0 at the tie zone, 1 at twice the time.
fn strength(cell: &Cell, ratio: Option<f64>) -> f64 {
    match (cell.verdict, ratio) {
        (Verdict::Faster, Some(ratio)) if ratio.is_finite() && ratio > 1.0 => {
            ratio.log2().clamp(0.0, 1.0).sqrt()
        }
        _ => 0.0,
    }
}

/// Whether a thread at the other end worked during the timed calls of a list that needs none. A copy to or from a stream
/// always has a thread at the other end.
pub(super) fn has_helper(cell: &Cell) -> bool {
    cell.drain.is_some_and(Drain::has_thread) && cell.conditions.from.is_none()
}

/// A letter for each rival: the first letter of its short name that no other rival has.
fn letters(rivals: &[TechniqueName]) -> Vec<(TechniqueName, char)> {
    let mut letters: Vec<(TechniqueName, char)> = Vec::new();
    for &rival in rivals {
        let of_name = Words::of(rival)
            .short
            .chars()
            .filter(char::is_ascii_alphabetic);
        let all = of_name
            .map(|letter| letter.to_ascii_uppercase())
            .chain('A'..='Z');
        let is_free = |letter: &char| letters.iter().all(|(_, other)| other != letter);
        let letter = all.into_iter().find(is_free).unwrap_or('-');
        letters.push((rival, letter));
    }
    letters
}

fn keys(results: &Results, letters: &[(TechniqueName, char)]) -> Vec<Key> {
    let is_on_square = |technique: TechniqueName| {
        results.cells.iter().any(|cell| {
            let closest = cell.choice.filter(|_| cell.verdict == Verdict::Close);
            let named = [cell.winner, closest, probable(cell, &results.rivals)];
            named.contains(&Some(technique))
        })
    };
    let shown = letters
        .iter()
        .filter(|(technique, _)| is_on_square(*technique));
    let key = |&(technique, letter): &(TechniqueName, char)| {
        let words = Words::of(technique);
        Key {
            letter: letter.to_string().into(),
            name: words.short.into(),
            series: Series::new(words.hue),
        }
    };
    shown.map(key).collect()
}

fn legend(maps: &[Map], results: &Results) -> Text {
    let cells = || results.cells.iter();
    let is = |verdict: Verdict| cells().any(|cell| cell.verdict == verdict);
    let mut rows = maps.iter().flat_map(|map| &map.rows);
    let has_hole = rows.any(|row| row.squares.contains(&None));
    let parts = [
        (is(Verdict::Tie), "= tie"),
        (
            is(Verdict::Close),
            "~C 3 %: C takes at most 3 % longer than the fastest",
        ),
        (is(Verdict::Open), "? open"),
        (
            cells().any(|cell| probable(cell, &results.rivals).is_some()),
            "?C probably C",
        ),
        (has_hole, "- not measured"),
        (
            cells()
                .any(|cell| has_helper(cell) && (cell.winner.is_some() || cell.choice.is_some())),
            "small letters, such as c for C: a thread at the other end worked meanwhile",
        ),
    ];
    let parts = parts
        .into_iter()
        .filter(|(is, _)| *is)
        .map(|(_, words)| words);
    let legend = parts.collect::<Vec<_>>().join(", ");
    if legend.is_empty() { legend } else { legend + "." }.into()
}
