//! The answer in sentences that could be said aloud: for each set of conditions, then for all conditions together.
//!
//! The sentences say what is certain: where copying ends and gathering begins, which technique always wins, which technique
//! never pays, and what remains undecided. If a thread at the other end worked beside a list, its time depends on two threads.
//! Such a list gives no rule of its own, but ends a rule that the list contradicts.

use std::ops::Range;

use vectored_report::sort;
use vectored_report::words::{about, bytes, count, enumerated, percent};
use vectored_report::{Block, Sentence, Tone, by_key};

use crate::model::{Cell, Results, Role, TechniqueName, Verdict};
use crate::report::measured::Group;
use crate::report::measured::crossings::contradicts;
use crate::report::measured::maps::has_helper;
use crate::report::shape_text::{SIZE, list_of_cell, shape_in_words};
use crate::report::words::{Words, tally};

/// The most clauses of a sentence, each about other lists. The map shows all lists.
const MAX_CLAUSES: usize = 4;

/// A sentence for each set of conditions, and the sentences about all conditions together. `None` stands for conditions whose
/// lists all have one segment.
pub(super) fn answers(groups: &[Group<'_>], results: &Results) -> (Vec<Option<Block>>, Vec<Block>) {
    let rivals = &results.rivals[..];
    let all = lists(groups, results);
    // A technique that never wins is named once for all targets.
    let never_pays = |rival: &TechniqueName| groups.len() > 1 && slowness(&all, *rival).is_some();
    let (losers, others): (Vec<TechniqueName>, Vec<TechniqueName>) =
        rivals.iter().partition(|rival| never_pays(rival));
    let each = groups.iter().map(|group| {
        let cells = lists(std::slice::from_ref(group), results);
        (!cells.is_empty()).then(|| answer(group, &cells, (&others, groups.len() == 1), results))
    });
    let each = each.collect();
    let mut last = Vec::new();
    if groups.iter().map(|group| group.cells.len()).sum::<usize>() > all.len() {
        let text = "A list of one segment leaves nothing to copy or to gather.";
        last.push(Block::Sentence(Sentence::toned(Tone::Strong, text)));
    }
    if groups.len() > 1 && rivals.len() > 1 && !all.is_empty() {
        let mut parts = common_rules(&all, rivals);
        parts.extend(never(&all, &losers, true, rivals));
        if parts.is_empty() {
            parts.push("no rule holds everywhere".to_owned());
        }
        last.push(Block::Sentence(Sentence {
            tone: Tone::Strong,
            ..Sentence::of("overall", format!("{}.", parts.join("; ")))
        }));
    }
    (each, last)
}

/// The cells that leave a choice. With one segment, all techniques except the asynchronous ones make the same call.
fn lists<'a>(groups: &[Group<'a>], results: &Results) -> Vec<&'a Cell> {
    let mut rivals = results.rivals.iter();
    let has_others = rivals.any(|rival| rival.role() == Role::Other);
    let cells = groups.iter().flat_map(|group| &group.cells).copied();
    let is_list = |cell: &&Cell| cell.segment_count > 1 || has_others;
    cells.filter(is_list).collect()
}

fn answer(
    group: &Group<'_>,
    cells: &[&Cell],
    (may_lose, has_figures): (&[TechniqueName], bool),
    results: &Results,
) -> Block {
    let rivals = &results.rivals[..];
    let is_here =
        |rival: &&TechniqueName| cells.iter().any(|cell| cell.technique(**rival).is_some());
    let mut parts = match rivals.iter().filter(is_here).count() {
        0 | 1 => vec![tally(cells, rivals)],
        _ => {
            let verb = |technique| Words::among(technique, rivals).verb;
            let said = |series: &[&Cell]| {
                let here = results.crossovers_of(group.conditions, series[0].shape());
                let only = match here[..] {
                    [only] if !contradicts(series, &here) => only,
                    _ => return (of_sizes(series, rivals), None),
                };
                let (below, above) = (verb(only.below), verb(only.above));
                let words = match only.swept_mix {
                    Some(_) => format!("{below} if {SIZE} is below {{}}, otherwise {above}"),
                    None => format!("{below} below {{}}, {above} above"),
                };
                (words, Some(only.at_bytes))
            };
            clauses(cells, said)
        }
    };
    // Beside other parts, the part about techniques that never pay has figures.
    parts.extend(never(cells, may_lose, has_figures, rivals));
    let place = if is_alone(cells) { "" } else { "with a thread at the other end " };
    let text = format!("{place}{}.", parts.join("; "));
    Block::Sentence(Sentence::of(group.title.as_str(), text))
}

/// The rules that hold under all conditions: one rule for lists of every shape if that rule has both ends, otherwise one rule
/// for each shape.
fn common_rules(cells: &[&Cell], rivals: &[TechniqueName]) -> Vec<String> {
    let (text, between) = rule(cells, rivals);
    let has_one_size = |cell: &&Cell| cell.segment_bytes.is_some();
    if cells.iter().all(has_one_size) && between.start > 0 && between.end < by_size(cells).len() {
        return vec![text];
    }
    clauses(cells, |series| (rule(series, rivals).0, None))
}

/// The words about the lists of a series. If the winner changes once: the size at which it changes, and `{}` at the place of
/// this size in the words.
type Said = (String, Option<f64>);

/// A clause for all series that have the same finding. A series has the lists that differ in one size only, or one fixed
/// mix.
fn clauses<'a>(cells: &[&'a Cell], said: impl Fn(&[&'a Cell]) -> Said) -> Vec<String> {
    let name = |cell: &Cell| match cell.swept_bytes() {
        Some(_) => shape_in_words(cell.shape()),
        None => list_of_cell(cell),
    };
    let mut all = by_key(cells.iter().map(|&cell| (name(cell), cell)));
    all.retain(|(_, series)| is_alone(series) || !is_alone(cells));
    sort::sort_by_key(&mut all, |(_, series)| {
        let swept = series[0].swept_bytes().map(|_| series[0].shape());
        (swept.is_none(), swept)
    });
    let all = all
        .into_iter()
        .map(|(name, series)| (name, series[0], said(&series)));
    let all: Vec<(String, &Cell, Said)> = all.collect();
    let chunks: Vec<_> = all.chunk_by(|one, other| one.2.0 == other.2.0).collect();
    let mut clauses: Vec<String> = Vec::new();
    for chunk in &chunks {
        let (_, _, (words, at)) = &chunk[0];
        let mut cells = chunk.iter().map(|(_, cell, _)| cell);
        let is_uniform = cells.all(|cell| cell.segment_bytes.is_some());
        let names_lists = is_uniform && (chunks.len() == 1 || (at.is_some() && chunk.len() > 1));
        let lists = |(name, cell, _): &(String, &Cell, Said)| {
            if is_uniform { cell.segment_count.to_string() } else { name.clone() }
        };
        let lists = enumerated(&chunk.iter().map(lists).collect::<Vec<_>>());
        let segments = if is_uniform && clauses.is_empty() { " segments" } else { "" };
        let is_named = !names_lists && !words.is_empty();
        let about = if is_named { format!("{lists}{segments}: ") } else { String::new() };
        let text = about + &words.replace("{}", &places(chunk));
        clauses.extend((!text.is_empty()).then_some(text));
    }
    if clauses.len() > MAX_CLAUSES {
        clauses.truncate(MAX_CLAUSES);
        clauses.push("others on the map".to_owned());
    }
    clauses
}

/// `936 B`; `936 B (2 segments), 462 B (16) and 272 B (1000)`; of many series the first and the last.
fn places(series: &[(String, &Cell, Said)]) -> String {
    let place = |(index, (_, cell, (_, at))): (usize, &(String, &Cell, Said))| {
        let at = about((*at)?);
        Some(match index {
            _ if cell.swept_mix.is_some() || series.len() == 1 => at,
            0 => format!("{at} ({})", count(cell.segment_count, "segment")),
            _ => format!("{at} ({})", cell.segment_count),
        })
    };
    let words: Vec<String> = series.iter().enumerate().filter_map(place).collect();
    match &words[..] {
        [first, _, _, .., last] => format!("{first} to {last}"),
        all => enumerated(all),
    }
}

/// Whether no thread at the other end worked for some of these lists.
fn is_alone(cells: &[&Cell]) -> bool {
    cells.iter().any(|cell| !has_helper(cell))
}

fn by_size<'a>(cells: &[&'a Cell]) -> Vec<Vec<&'a Cell>> {
    let mut cells = cells.to_vec();
    sort::sort_by_key(&mut cells, |cell| cell.swept_bytes());
    let sizes = cells.chunk_by(|a, b| a.swept_bytes() == b.swept_bytes());
    sizes.map(<[&Cell]>::to_vec).collect()
}

/// The winner of the smallest sizes and the winner of the largest sizes: `copy up to 256 B, gather from 1 KiB on`. The range
/// has the indices of the sizes between.
fn rule(cells: &[&Cell], rivals: &[TechniqueName]) -> (String, Range<usize>) {
    let sizes = by_size(cells);
    let winners: Vec<Option<TechniqueName>> = sizes.iter().map(|cells| winner(cells)).collect();
    let all = winners.len();
    let is_sure = |sizes: &[Vec<&Cell>]| is_alone(&sizes.concat()) || !is_alone(cells);
    let is = |end: usize, one: &Option<TechniqueName>| one.is_some() && *one == winners[end];
    let low = winners.iter().take_while(|one| is(0, one)).count();
    let low = low * usize::from(is_sure(&sizes[..low]));
    let high = winners
        .iter()
        .rev()
        .take_while(|one| is(all - 1, one))
        .count();
    let high = high * usize::from(is_sure(&sizes[all - high..]));
    let verb = |index: usize| winners[index].map_or("", |winner| Words::among(winner, rivals).verb);
    let below = || format!("{} up to {}", verb(0), size(sizes[low - 1][0]));
    let above = |verb: &str| format!("{verb} from {} on", size(sizes[all - high][0]));
    let text = match (low, high) {
        (0, 0) => String::new(),
        (1, _) if sizes[0][0].swept_bytes().is_none() => verb(0).to_owned(),
        (low, _) if low == all => format!("always {}", verb(0)),
        (_, 0) => below(),
        (0, _) => above(verb(all - 1)),
        _ if winners[0] == winners[all - 1] => format!("{} {}", below(), above("and")),
        _ => format!("{}, {}", below(), above(verb(all - 1))),
    };
    (text, low..(all - high).max(low))
}

/// `4 KiB`, in a swept mix `SIZE = 4 KiB`.
fn size(cell: &Cell) -> String {
    let bytes = bytes(cell.swept_bytes().unwrap_or_default() as u64);
    match cell.swept_mix {
        Some(_) => format!("{SIZE} = {bytes}"),
        None => bytes,
    }
}

/// The technique that wins in at least half of these cells, and may be the fastest in the others.
fn winner(cells: &[&Cell]) -> Option<TechniqueName> {
    let winner = cells.iter().find_map(|cell| cell.winner)?;
    let wins = cells
        .iter()
        .filter(|cell| cell.winner == Some(winner))
        .count();
    let may_win = |cell: &&Cell| match cell.winner {
        Some(other) => other == winner,
        None => cell.technique(winner).is_some() && slower(cell, winner).is_none(),
    };
    (2 * wins >= cells.len() && cells.iter().all(may_win)).then_some(winner)
}

fn of_sizes(cells: &[&Cell], rivals: &[TechniqueName]) -> String {
    let (rule, between) = rule(cells, rivals);
    let sizes = by_size(cells);
    let rest: Vec<&Cell> = sizes[between.clone()].concat();
    let (decided, open): (Vec<&Cell>, Vec<&Cell>) =
        rest.iter().partition(|cell| cell.winner.is_some());
    let place = match between {
        _ if open.is_empty() || !decided.is_empty() => "",
        Range { start: 0, .. } => "below",
        Range { end, .. } if end == sizes.len() => "above",
        _ => "between",
    };
    match (rule.is_empty(), place) {
        (true, "") => match winner(&decided) {
            Some(only) => {
                let sizes: Vec<String> = decided.iter().map(|cell| size(cell)).collect();
                let verb = Words::among(only, rivals).verb;
                let otherwise = close(&open, rivals, "").unwrap_or("undecided".to_owned());
                format!("{verb} at {}, otherwise {otherwise}", enumerated(&sizes))
            }
            None => tally(cells, rivals),
        },
        (true, _) => undecided(cells, rivals),
        (false, "") => rule,
        (false, place) => match (close(&open, rivals, place), &candidates(&open, rivals)[..]) {
            (_, []) => rule,
            (Some(close), _) => format!("{rule}, {close}"),
            (None, [only]) => format!("{rule}, probably {only} {place}"),
            (None, all) if all.len() == rivals.len() => rule,
            (None, some) => format!("{rule}, {} {place}", some.join(" or ")),
        },
    }
}

/// The names of the rivals, without each rival that is certainly slower than another in all of the cells.
fn candidates(cells: &[&Cell], rivals: &[TechniqueName]) -> Vec<&'static str> {
    let is_here = |rival: TechniqueName| cells.iter().any(|cell| cell.technique(rival).is_some());
    let all = rivals.iter().copied();
    let all = all.filter(|&rival| is_here(rival) && slowness(cells, rival).is_none());
    all.map(|rival| Words::among(rival, rivals).way).collect()
}

/// `above undecided: copying, the simplest, takes at most 2.1 % longer than the fastest`, if that is the choice in all of these
/// cells.
fn close(cells: &[&Cell], rivals: &[TechniqueName], place: &str) -> Option<String> {
    let choice = cells.first()?.choice?;
    let is_choice = cells.iter().all(|cell| cell.choice == Some(choice));
    let may_win = cells.iter().flat_map(|cell| cell.candidates(rivals));
    let is_simplest = may_win.map(|one| one.name.effort()).min() == Some(choice.effort());
    let most = cells.iter().filter_map(|cell| cell.at_most);
    let most = percent(most.fold(0.0, f64::max));
    let gerund = Words::among(choice, rivals).gerund;
    let simplest = if is_simplest { ", the simplest," } else { "" };
    let text = format!(
        "{place} undecided: {gerund}{simplest} takes at most {most} longer than the fastest"
    );
    is_choice.then(|| text.trim_start().to_owned())
}

/// `copy or gather undecided`, `copy and gather take the same time`.
fn undecided(cells: &[&Cell], rivals: &[TechniqueName]) -> String {
    let is_tie = cells.iter().all(|cell| cell.verdict == Verdict::Tie);
    match (close(cells, rivals, ""), &candidates(cells, rivals)[..]) {
        (_, all) if is_tie => format!("{} take the same time", enumerated(all)),
        (Some(close), _) => close,
        (None, [only]) => format!("probably {only}"),
        (None, all) => format!("{} undecided", all.join(" or ")),
    }
}

fn slower(cell: &Cell, technique: TechniqueName) -> Option<f64> {
    let result = cell.technique(technique)?;
    cell.is_slower(result).then_some(result.ratio_to_leader)
}

/// The largest ratio of [`slower`] in these cells, if the technique is certainly slower in each.
fn slowness(cells: &[&Cell], technique: TechniqueName) -> Option<f64> {
    let ratios: Option<Vec<f64>> = cells.iter().map(|cell| slower(cell, technique)).collect();
    ratios?.into_iter().reduce(f64::max)
}

/// `never one by one`, with figures `never one by one (up to 39 times as long)`, of the techniques that never pay.
fn never(
    cells: &[&Cell],
    of: &[TechniqueName],
    has_figures: bool,
    rivals: &[TechniqueName],
) -> Option<String> {
    let limit = if cells.len() == 1 { "" } else { "up to " };
    let losers = of.iter().filter_map(|&rival| {
        let times = aloud(slowness(cells, rival)?);
        let way = Words::among(rival, rivals).way;
        let figure = format!(" ({limit}{times} times as long)");
        Some(way.to_owned() + if has_figures { &figure } else { "" })
    });
    let losers: Vec<String> = losers.collect();
    (!losers.is_empty()).then(|| format!("never {}", losers.join(" or ")))
}

fn aloud(ratio: f64) -> String {
    match ratio {
        _ if ratio < 1.095 => format!("{ratio:.2}"),
        _ if ratio < 9.95 => format!("{ratio:.1}"),
        _ => format!("{ratio:.0}"),
    }
}
