//! Techniques and verdicts in words.

use vectored_report::words::{count, percent, ratio_within};
use vectored_report::{by_key, each_once, sort};

use crate::model::{Cell, Results, TechniqueName, TechniqueResult, Verdict, measured_in};
use crate::report::target_names::{place, sections};
use crate::stats::TIE_ZONE;

/// The words that stand for a technique where a sentence or a column does not use its name.
pub(crate) struct Words {
    /// For narrow columns and maps.
    pub short: &'static str,
    /// An order: "copy".
    pub verb: &'static str,
    /// A way, as in "never one by one": "one by one".
    pub way: &'static str,
    /// The subject of a sentence: "copying".
    pub gerund: &'static str,
    /// The number of the technique's colour and dashes: see [`Series`](vectored_report::Series).
    pub hue: u8,
}

impl Words {
    /// The words beside `rivals`: where rivals join messages, the same technique has other words.
    pub fn among(technique: TechniqueName, rivals: &[TechniqueName]) -> Self {
        let joining = is_joining(rivals).then(|| Self::named(&format!("{technique} that joins")));
        joining.flatten().unwrap_or_else(|| Self::of(technique))
    }

    pub fn of(technique: TechniqueName) -> Self {
        let name = technique.as_str();
        Self::named(name).unwrap_or(Words {
            short: name,
            verb: name,
            way: name,
            gerund: name,
            hue: match name {
                "copy-file-range" => 2,
                "splice" => 3,
                "sendfile" => 5,
                _ => 0,
            },
        })
    }

    fn named(name: &str) -> Option<Self> {
        let line = |line: &'static str| line.strip_prefix(name)?.strip_prefix(": ");
        let words: Vec<&str> = WORDS.lines().find_map(line)?.split(", ").collect();
        let [short, verb, way, gerund, hue] = words[..] else {
            return None;
        };
        Some(Words {
            short,
            verb,
            way,
            gerund,
            hue: hue.parse().expect("a number ends each line"),
        })
    }
}

/// The techniques that are not called by their names, each with the fields of [`Words`].
const WORDS: &str = "\
write-each: each, write one by one, one by one, writing one by one, 1
read-each: each, read one by one, one by one, reading one by one, 1
copy-then-write: copy, copy, copy, copying, 2
read-then-split: split, read and split, split, splitting, 2
writev: gather, gather, gather, gathering, 3
readv: scatter, scatter, scatter, scattering, 3
adaptive: adaptive, let adaptive choose, adaptive, adaptive, 4
read-write: plain, plain copying, plain copying, plain copying, 1
write-each that joins: each, a call for each, a call for each, a call for each, 1
copy-then-write that joins: copy, join messages into one call, joining messages, joining messages, 2";

pub(crate) fn is_joining(rivals: &[TechniqueName]) -> bool {
    rivals.len() == 2
        && rivals.contains(&TechniqueName::WRITE_EACH)
        && rivals.contains(&TechniqueName::COPY_THEN_WRITE)
}

pub fn nearest_rival<'a>(cell: &'a Cell, rivals: &[TechniqueName]) -> Option<&'a TechniqueResult> {
    let all = cell.techniques.iter();
    let rivals = all.filter(|one| rivals.contains(&one.name) && Some(one.name) != cell.leader);
    rivals.min_by(|a, b| a.ratio_to_leader.total_cmp(&b.ratio_to_leader))
}

/// The technique that a report names as the leader. `None` if a rival takes less time on average. This can happen, since robust
/// means of ratios are not transitive.
pub(crate) fn named_leader(cell: &Cell, rivals: &[TechniqueName]) -> Option<TechniqueName> {
    let nearest = nearest_rival(cell, rivals).map(|rival| rival.ratio_to_leader);
    let trails = cell.winner.is_none()
        && cell.verdict != Verdict::Tie
        && nearest.is_some_and(|ratio| ratio < 1.0);
    cell.winner.or(cell.leader).filter(|_| !trails)
}

/// The verdict, with the 95 % interval of the ratio in it: `writev by 1.09× [1.07, 1.11]`,
/// `open (noise): writev by 1.03× [0.99, 1.08]`.
pub(crate) fn verdict_in_words(
    cell: &Cell,
    rivals: &[TechniqueName],
    name: fn(TechniqueName) -> &'static str,
) -> String {
    let Some(nearest) = nearest_rival(cell, rivals).filter(|_| cell.leader.is_some()) else {
        return "no rival".to_owned();
    };
    let interval = nearest.ratio_low.zip(nearest.ratio_high);
    let margin = ratio_within(nearest.ratio_to_leader, interval);
    let open = match cell.open_because {
        Some(why) => format!("open ({})", why.name()),
        None => "open".to_owned(),
    };
    match (cell.verdict, named_leader(cell, rivals)) {
        (Verdict::Tie, _) => format!("tie (±{:.0} %)", TIE_ZONE * 100.0),
        (Verdict::Faster, Some(winner)) => format!("{} by {margin}", name(winner)),
        (Verdict::Close, _) => match cell.choice.zip(cell.at_most) {
            Some((choice, share)) => {
                format!("{} takes at most {} longer", name(choice), percent(share))
            }
            None => open,
        },
        (Verdict::Open, _) if interval.is_none() => {
            format!("{open}: {}", count(cell.rounds as usize, "round"))
        }
        (Verdict::Open, Some(leader)) => format!("{open}: {} by {margin}", name(leader)),
        (Verdict::Faster | Verdict::Open, None) => format!("{open}: no leader"),
    }
}

/// `copy-then-write wins 7 cells, writev 5, tie 3, close 1, open 2`.
pub(crate) fn tally(cells: &[&Cell], rivals: &[TechniqueName]) -> String {
    let here = measured_in(cells.iter().copied());
    let here = rivals.iter().filter(|rival| here.contains(rival));
    let here: Vec<&TechniqueName> = here.collect();
    if let [only] = here[..] {
        return format!("{only} had no rival in {}", count(cells.len(), "cell"));
    }
    let count_of = |is: &dyn Fn(&Cell) -> bool| cells.iter().filter(|cell| is(cell)).count();
    let wins = here.into_iter();
    let wins = wins.map(|rival| (count_of(&|cell| cell.winner == Some(*rival)), rival));
    let mut wins: Vec<(usize, &TechniqueName)> = wins.collect();
    wins.retain(|(wins, _)| *wins > 0);
    sort::sort_by_key(&mut wins, |(wins, _)| std::cmp::Reverse(*wins));
    let wins = wins
        .iter()
        .enumerate()
        .map(|(index, (wins, technique))| match index {
            0 => format!("{technique} wins {}", count(*wins, "cell")),
            _ => format!("{technique} {wins}"),
        });
    let others = [
        (Verdict::Tie, "tie"),
        (Verdict::Close, "close"),
        (Verdict::Open, "open"),
    ];
    let others = others.map(|(verdict, word)| (word, count_of(&|cell| cell.verdict == verdict)));
    let others = others.into_iter().filter(|(_, count)| *count > 0);
    let others = others.map(|(word, count)| format!("{word} {count}"));
    wins.chain(others).collect::<Vec<_>>().join(", ")
}

/// A sentence for each rival that some targets do not support:
/// `mmap does not work on pipe, unix: it was not measured there`.
pub fn unsuited_in_words(results: &Results) -> Vec<String> {
    let sentence = |technique: &TechniqueName| {
        let lacks = |cell: &&Cell| {
            let is_refused = cell.refused.iter().any(|one| one.technique == *technique);
            cell.technique(*technique).is_none() && !is_refused
        };
        let places = places(results.cells.iter().filter(lacks))?;
        Some(format!(
            "{technique} does not work {places}: it was not measured there"
        ))
    };
    results.rivals.iter().filter_map(sentence).collect()
}

pub fn refused_in_words(results: &Results) -> Vec<String> {
    let mut all = by_key(results.cells.iter().flat_map(|cell| {
        let refused = cell.refused.iter();
        refused.map(move |one| ((one.technique, &one.error), cell))
    }));
    sort::sort_by_key(&mut all, |(key, _)| *key);
    let sentence = |((technique, error), cells): ((TechniqueName, &String), Vec<&Cell>)| {
        let places = places(cells)?;
        Some(format!(
            "{technique} was not measured {places}: the kernel refuses its calls here: {error}"
        ))
    };
    all.into_iter().filter_map(sentence).collect()
}

/// `on pipe, unix`, `from file to pipe`. `None` without cells.
fn places<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Option<String> {
    let all = sections(cells);
    let on = if all.first()?.from.is_some() { "from" } else { "on" };
    let names = each_once(all.into_iter().map(place));
    Some(format!("{on} {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_technique_with_the_most_wins_is_named_first() {
        let rivals = [TechniqueName::WRITEV, TechniqueName::WRITE_EACH];
        let techniques = rivals.map(|name| TechniqueResult {
            name,
            ..TechniqueResult::default()
        });
        let cells = [0, 1, 1].map(|winner| Cell {
            techniques: techniques.to_vec(),
            winner: Some(rivals[winner]),
            verdict: Verdict::Faster,
            ..Cell::default()
        });
        let said = tally(&cells.iter().collect::<Vec<_>>(), &rivals);
        assert_eq!(said, "write-each wins 2 cells, writev 1");
    }

    #[test]
    fn techniques_that_compete_have_colours_of_their_own() {
        for rivals in [
            ["write-each", "copy-then-write", "writev", "adaptive"],
            ["read-each", "read-then-split", "readv", "adaptive"],
            ["read-write", "copy-file-range", "splice", "sendfile"],
        ] {
            let mut hues = rivals.map(|name| Words::of(TechniqueName::new(name)).hue);
            hues.sort_unstable();
            assert!(hues.windows(2).all(|pair| pair[0] != pair[1]), "{rivals:?}");
        }
    }

    #[test]
    fn messages_are_joined_if_nothing_but_a_call_for_each_competes() {
        let each = TechniqueName::WRITE_EACH;
        let copy = TechniqueName::COPY_THEN_WRITE;
        let verb = |rivals: &[TechniqueName]| Words::among(copy, rivals).verb;
        assert_eq!(verb(&[each, copy]), "join messages into one call");
        assert_eq!(verb(&[each, copy, TechniqueName::WRITEV]), "copy");
    }
}
