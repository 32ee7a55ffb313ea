//! The answer for one set of conditions, in a sentence that could be said aloud.
//!
//! It says what is certain: where copying ends and gathering begins, which technique wins everywhere, which one never
//! pays, and what remains undecided. Cells in which a thread at the other end worked are told apart, since their times
//! depend on two threads.

use vectored_report::words::{about, count, enumerated};
use vectored_report::{Block, Sentence};

use crate::model::{Cell, Crossover, ListShape, Results, TechniqueName, Verdict};
use crate::report::measured::Group;
use crate::report::measured::crossings::{contradicts, crossovers};
use crate::report::measured::maps::has_helper;
use crate::report::shape_text::{SIZE, list_of_cell, shape_in_words};
use crate::report::words::{Words, tally};
use crate::stats::TIE_ZONE;

/// Lists of a fixed mix that the sentence names.
const MAX_MIXES: usize = 3;

/// The sentence.
pub(super) fn answer(group: &Group<'_>, results: &Results) -> Block {
    let (helped, own): (Vec<&Cell>, Vec<&Cell>) =
        group.cells.iter().partition(|cell| has_helper(cell));
    let rivals = results.rivals.iter();
    let here = rivals.filter(|rival| own.iter().any(|cell| cell.technique(**rival).is_some()));
    let mut parts = match (here.count(), &own[..]) {
        (_, []) => Vec::new(),
        (0 | 1, _) => vec![tally(&own, &results.rivals)],
        _ => clauses(group, &own, results),
    };
    parts.extend(losers(&own, &helped, results));
    let mut text = if parts.is_empty() { String::new() } else { format!("{}.", parts.join("; ")) };
    // Beside cells without such a thread, the small letters of the map are enough.
    if own.is_empty() {
        text = format!(
            "with a thread at the other end {}.",
            tally(&helped, &results.rivals)
        );
    }
    Block::Sentence(Sentence::of(group.title.as_str(), text.trim_start()))
}

/// The winners of the cells of one shape.
enum Outcome<'a> {
    /// The winner changes once.
    Crosses(&'a Crossover),
    /// One technique wins in all cells that have a winner.
    Wins {
        winner: TechniqueName,
        everywhere: bool,
    },
    /// All that is known is which techniques may be the fastest: these.
    Undecided {
        candidates: Vec<TechniqueName>,
        is_tie: bool,
    },
    /// Several winners, without a rule.
    Mixed,
}

impl Outcome<'_> {
    /// Whether one clause can be about both.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Outcome::Crosses(one), Outcome::Crosses(other)) => {
                (one.below, one.above) == (other.below, other.above)
            }
            (
                Outcome::Wins { winner, everywhere },
                Outcome::Wins {
                    winner: other,
                    everywhere: others,
                },
            ) => winner == other && everywhere == others,
            (
                Outcome::Undecided { candidates, is_tie },
                Outcome::Undecided {
                    candidates: others,
                    is_tie: other,
                },
            ) => candidates == others && is_tie == other,
            (Outcome::Mixed, Outcome::Mixed) => true,
            _ => false,
        }
    }
}

/// The cells of a shape, with what happens in them.
struct OfShape<'a> {
    shape: ListShape<'a>,
    /// All cells of the shape, also those with a thread at the other end.
    cells: Vec<&'a Cell>,
    outcome: Outcome<'a>,
}

fn clauses(group: &Group<'_>, cells: &[&Cell], results: &Results) -> Vec<String> {
    let mut shapes: Vec<ListShape<'_>> = cells
        .iter()
        .filter(|cell| cell.swept_bytes().is_some())
        .map(|cell| cell.shape())
        .collect();
    shapes.sort_unstable();
    shapes.dedup();
    let all: Vec<OfShape<'_>> = shapes
        .into_iter()
        .map(|shape| {
            let is_here = |cell: &&&Cell| cell.shape() == shape && cell.swept_bytes().is_some();
            let own: Vec<&Cell> = cells.iter().filter(is_here).copied().collect();
            let cells: Vec<&Cell> = group.cells.iter().filter(is_here).copied().collect();
            let outcome = outcome(group, shape, (&own, &cells), results);
            OfShape {
                shape,
                cells,
                outcome,
            }
        })
        .collect();
    let alike: Vec<&[OfShape<'_>]> = all
        .chunk_by(|one, other| one.outcome.is_like(&other.outcome))
        .collect();
    let mut clauses: Vec<String> = Vec::new();
    for together in &alike {
        let clause = clause(together, &results.rivals, alike.len() == 1);
        // The places of a crossover name their lists.
        let is_swept = together.iter().any(|one| one.shape.swept_mix.is_some());
        let names_lists = matches!(together[0].outcome, Outcome::Crosses(_)) && !is_swept;
        clauses.push(if is_swept || (alike.len() > 1 && !names_lists) {
            format!("{}: {clause}", shapes_in_words(together))
        } else {
            clause
        });
    }
    let mixes = cells.iter().filter(|cell| cell.swept_bytes().is_none());
    let mixes: Vec<&Cell> = mixes.copied().collect();
    clauses.extend(
        mixes
            .iter()
            .take(MAX_MIXES)
            .map(|cell| mix(cell, &results.rivals)),
    );
    if let Some(more) = mixes.len().checked_sub(MAX_MIXES).filter(|&more| more > 0) {
        clauses.push(format!("{} on the map", count(more, "more list")));
    }
    clauses
}

/// `2 segments`; `16 and 1000 segments`; mixes by their sizes.
fn shapes_in_words(together: &[OfShape<'_>]) -> String {
    let swept = together.iter().any(|one| one.shape.swept_mix.is_some());
    if swept || together.len() == 1 {
        let names: Vec<String> = together
            .iter()
            .map(|one| shape_in_words(one.shape))
            .collect();
        return enumerated(&names);
    }
    let counts: Vec<String> = together
        .iter()
        .map(|one| one.shape.segment_count.to_string())
        .collect();
    format!("{} segments", enumerated(&counts))
}

fn outcome<'a>(
    group: &Group<'_>,
    shape: ListShape<'_>,
    (cells, all): (&[&'a Cell], &[&Cell]),
    results: &'a Results,
) -> Outcome<'a> {
    let here = crossovers(group, shape, results);
    if let [only] = here[..]
        && !contradicts(all, &here)
    {
        return Outcome::Crosses(only);
    }
    let mut winners: Vec<TechniqueName> = cells.iter().filter_map(|cell| cell.winner).collect();
    winners.sort_unstable();
    winners.dedup();
    match winners[..] {
        [winner] if here.is_empty() => Outcome::Wins {
            winner,
            everywhere: all.iter().all(|cell| cell.winner == Some(winner)),
        },
        [] => Outcome::Undecided {
            candidates: candidates(cells, &results.rivals),
            is_tie: cells.iter().all(|cell| cell.verdict == Verdict::Tie),
        },
        _ => Outcome::Mixed,
    }
}

/// The rivals that are not certainly slower than another in each of the cells.
fn candidates(cells: &[&Cell], rivals: &[TechniqueName]) -> Vec<TechniqueName> {
    let measured =
        |rival: &&TechniqueName| cells.iter().any(|cell| cell.technique(**rival).is_some());
    let all = rivals.iter().filter(measured).copied();
    all.filter(|&rival| ratios_of_loser(cells, rival).is_none())
        .collect()
}

/// The times of a technique ÷ those of the fastest, if it is certainly slower in every cell.
fn ratios_of_loser(cells: &[&Cell], technique: TechniqueName) -> Option<Vec<f64>> {
    let ratio = |cell: &&Cell| {
        let result = cell.technique(technique)?;
        // In a tie only what is beyond the tie zone is slower.
        let least = match cell.verdict {
            Verdict::Tie => 1.0 + TIE_ZONE,
            _ => 1.0,
        };
        let is_slower = cell.leader != Some(technique) && result.ratio_low? > least;
        is_slower.then_some(result.ratio_to_leader)
    };
    let ratios: Option<Vec<f64>> = cells.iter().map(ratio).collect();
    ratios.filter(|ratios| !ratios.is_empty())
}

fn clause(together: &[OfShape<'_>], rivals: &[TechniqueName], is_alone: bool) -> String {
    let verb = |technique: TechniqueName| Words::among(technique, rivals).verb;
    let first = &together[0];
    match &first.outcome {
        Outcome::Crosses(crossover) => {
            let (below, above) = (verb(crossover.below), verb(crossover.above));
            if first.shape.swept_mix.is_some() {
                return format!(
                    "{below} if {SIZE} is below {}, otherwise {above}",
                    places(together, is_alone)
                );
            }
            format!(
                "{below} below {}, {above} above",
                places(together, is_alone)
            )
        }
        Outcome::Wins {
            winner,
            everywhere: true,
        } => format!("always {}", verb(*winner)),
        Outcome::Wins { winner, .. } => {
            let cells = || together.iter().flat_map(|one| &one.cells);
            let won = cells().filter(|cell| cell.winner == Some(*winner)).count();
            format!(
                "{} in {won} of {}",
                verb(*winner),
                count(cells().count(), "cell")
            )
        }
        Outcome::Undecided { candidates, is_tie } => undecided(candidates, *is_tie, rivals),
        Outcome::Mixed => {
            let cells: Vec<&Cell> = together
                .iter()
                .flat_map(|one| one.cells.iter().copied())
                .collect();
            tally(&cells, rivals)
        }
    }
}

/// `copy or gather undecided`, `copy and gather take the same time`.
fn undecided(candidates: &[TechniqueName], is_tie: bool, rivals: &[TechniqueName]) -> String {
    let names = candidates.iter().map(|&one| Words::among(one, rivals).way);
    match &names.collect::<Vec<_>>()[..] {
        names if is_tie => format!("{} take the same time", enumerated(names)),
        [only] => format!("probably {only}"),
        names => format!("{} undecided", names.join(" or ")),
    }
}

/// `936 B`; `936 B (2 segments), 462 B (16) and 272 B (1000)`; of many shapes the first and the last.
fn places(together: &[OfShape<'_>], is_alone: bool) -> String {
    let mut places: Vec<(String, String)> = Vec::new();
    for one in together {
        if let Outcome::Crosses(crossover) = &one.outcome {
            let shape = match one.shape.swept_mix {
                Some(_) => String::new(),
                None if places.is_empty() => count(one.shape.segment_count, "segment"),
                None => one.shape.segment_count.to_string(),
            };
            places.push((about(crossover.at_bytes), shape));
        }
    }
    let with_shape = |(at, shape): &(String, String)| {
        if shape.is_empty() { at.clone() } else { format!("{at} ({shape})") }
    };
    match &places[..] {
        [(at, _)] if is_alone => at.clone(),
        [first, _, _, .., last] => format!("{} to {}", with_shape(first), with_shape(last)),
        all => enumerated(&all.iter().map(with_shape).collect::<Vec<_>>()),
    }
}

/// `9 × 16 B + 1 × 4 KiB: copy (1.34×)`.
fn mix(cell: &Cell, rivals: &[TechniqueName]) -> String {
    let cells = [cell];
    let list = list_of_cell(cell);
    let words = match (cell.verdict, cell.winner) {
        (Verdict::Faster, Some(winner)) => Words::among(winner, rivals).verb.to_owned(),
        (verdict, _) => undecided(&candidates(&cells, rivals), verdict == Verdict::Tie, rivals),
    };
    format!("{list}: {words}")
}

/// `never one by one (1.4 to 39 times as long)`, and of one that may be the fastest beside a thread at the other end: `never one
/// by one without a thread at the other end (1.4 to 39 times as long)`.
fn losers(cells: &[&Cell], helped: &[&Cell], results: &Results) -> Option<String> {
    let losers = results.rivals.iter().filter_map(|&rival| {
        let ratios = ratios_of_loser(cells, rival)?;
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let most = ratios.iter().copied().fold(0.0, f64::max);
        let (least, most) = (aloud(least), aloud(most));
        let times = if least == most { most } else { format!("{least} to {most}") };
        let place = if helped.is_empty() || ratios_of_loser(helped, rival).is_some() {
            ""
        } else {
            " without a thread at the other end"
        };
        let way = Words::among(rival, &results.rivals).way;
        Some(format!("{way}{place} ({times} times as long)"))
    });
    let losers: Vec<String> = losers.collect();
    (!losers.is_empty()).then(|| format!("never {}", losers.join(" or ")))
}

/// A ratio as it is said: `1.08`, `1.4`, `39`.
fn aloud(ratio: f64) -> String {
    match ratio {
        _ if ratio < 1.095 => format!("{ratio:.2}"),
        _ if ratio < 9.95 => format!("{ratio:.1}"),
        _ => format!("{ratio:.0}"),
    }
}
