//! Advice in words, from cells and crossovers; none where these do not support it.

use vectored_report::words::capital;

use crate::model::{Advice, Cell, Crossover, Drain, Role, TechniqueName};
use crate::report::advice_figures::{
    OneWinner, dearest, longer, one_winner, place, ratios, size, span,
};
use crate::report::join_advice;
use crate::report::words::{Words, tally};
use crate::stats::{PairStats, SizeSeries, pair, series};

/// One entry for each series of `cells` (lists that differ in one size only) in which some technique is
/// significantly the fastest, with the `crossovers` among them.
///
/// A swept mix, and the question whether messages are to be joined, are measured for their crossover, so
/// there is an entry if none was found, too.
pub fn advice(cells: &[&Cell], crossovers: &[Crossover], rivals: &[TechniqueName]) -> Vec<Advice> {
    series(cells)
        .into_iter()
        // One segment is no list.
        .filter(|series| series.shape.segment_count > 1)
        .filter_map(|series| {
            let here: Vec<&Crossover> = crossovers
                .iter()
                .filter(|crossover| {
                    crossover.shape() == series.shape && crossover.conditions == *series.conditions
                })
                .collect();
            let mut text = text(&series, &here, rivals)?;
            if series.shape.swept_mix.is_some() || join_advice::is_question(rivals) {
                text += &sizes_apart(&series, cells);
            }
            Some(Advice {
                conditions: series.conditions.clone(),
                segment_count: series.shape.segment_count,
                swept_mix: series.shape.swept_mix.cloned(),
                text,
            })
        })
        .collect()
}

/// ` 16 KiB and 64 KiB are not part of this: there the list does not fit into the target.` Empty if there are no
/// such sizes.
fn sizes_apart(series: &SizeSeries<'_>, cells: &[&Cell]) -> String {
    let is_apart = |cell: &&&Cell| {
        cell.shape() == series.shape
            && matches!(cell.drain, Some(Drain::ReaderThread | Drain::WriterThread))
            && cell.conditions == *series.conditions
    };
    let mut apart: Vec<&Cell> = cells.iter().filter(is_apart).copied().collect();
    apart.sort_by_key(|cell| cell.swept_bytes());
    let sizes = match &apart[..] {
        [] => return String::new(),
        [one] => format!("{} is", size(one)),
        [one, other] => format!("{} and {} are", size(one), size(other)),
        [first, .., last] => format!(
            "{} sizes from {} to {} are",
            apart.len(),
            size(first),
            size(last)
        ),
    };
    format!(" {sizes} not part of this: there the list does not fit into the target.")
}

fn text(
    series: &SizeSeries<'_>,
    crossovers: &[&Crossover],
    rivals: &[TechniqueName],
) -> Option<String> {
    let cells = &series.cells[..];
    let is_swept = series.shape.swept_mix.is_some();
    let asks_joining = !is_swept && join_advice::is_question(rivals);
    let found = match crossovers {
        [] if asks_joining => join_advice::one_answer(series),
        [] => one_winner(cells).map(|one| in_one_sentence(&one, is_swept, rivals)),
        _ if contradicts(cells, crossovers) => None,
        [crossover] if asks_joining => Some(join_advice::up_to(series, crossover)),
        _ => Some(several_winners(cells, crossovers, is_swept)),
    };
    let each = one_by_one(cells, rivals, is_swept).filter(|_| !asks_joining);
    match found {
        Some(text) => Some(
            [Some(text), each]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" "),
        ),
        None if is_swept || asks_joining => undecided(cells, rivals, is_swept),
        None => None,
    }
}

/// `No crossover was found from 16 B to 64 KiB (writev wins 1 cell, tie 3, open 3).` `None` if there are not
/// two sizes.
fn undecided(cells: &[&Cell], rivals: &[TechniqueName], is_swept: bool) -> Option<String> {
    let [first, .., last] = cells else {
        return None;
    };
    Some(format!(
        "No crossover was found from {} to {} ({}).",
        varied(first, is_swept),
        size(last),
        tally(cells, rivals)
    ))
}

/// Whether the winner of some size differs from what these crossovers imply: rarely, one of two crossovers
/// cannot be placed.
pub(crate) fn contradicts(cells: &[&Cell], crossovers: &[&Crossover]) -> bool {
    let breaks = |pair: &[&Crossover]| pair[0].above != pair[1].below;
    let is_other = |cell: &&Cell| {
        let (Some(winner), Some(bytes)) = (cell.winner, cell.swept_bytes()) else {
            return false;
        };
        let bytes = bytes as f64;
        // Sizes within the interval of a crossover may have either winner.
        let is_within =
            |crossover: &&Crossover| crossover.low_bytes <= bytes && bytes <= crossover.high_bytes;
        let past = crossovers.partition_point(|crossover| crossover.at_bytes < bytes);
        let said = match past.checked_sub(1) {
            Some(index) => crossovers[index].above,
            None => crossovers[0].below,
        };
        winner != said
            && !crossovers
                .iter()
                .copied()
                .any(|crossover| is_within(&crossover))
    };
    crossovers.windows(2).any(breaks) || cells.iter().any(is_other)
}

/// `Copy at every size from 16 B to 16 KiB; gathering takes 5.6 to 47 % longer.`
fn in_one_sentence(one: &OneWinner<'_>, is_swept: bool, rivals: &[TechniqueName]) -> String {
    let runner_up = rivals
        .iter()
        .copied()
        .filter(|&rival| rival != one.winner && !is_each(rival));
    let others: Vec<String> = runner_up
        .filter_map(|rival| {
            let ratios = ratios(&one.won, rival, one.winner);
            Some(format!(
                "{} takes {}",
                Words::of(rival).gerund,
                span(&ratios)?
            ))
        })
        .collect();
    let costs = match others.is_empty() {
        true => ".".to_owned(),
        false => format!("; {}.", others.join(", ")),
    };
    let OneWinner {
        at_sizes, range, ..
    } = one;
    let verb = Words::of(one.winner).verb;
    match is_swept {
        true => format!("No crossover: {verb} {at_sizes} {range}{costs}"),
        false => format!("{} {at_sizes} {range}{costs}", capital(verb)),
    }
}

/// `Copy below 1.40 KiB [1.31, 1.52], gather above. …`; of a swept mix with one crossover `Gather from SIZE =
/// 1.40 KiB [1.31, 1.52] on, copy below. …`
fn several_winners(cells: &[&Cell], crossovers: &[&Crossover], is_swept: bool) -> String {
    let variable = if is_swept { SIZE_IS } else { "" };
    let mut text = String::new();
    for (index, crossover) in crossovers.iter().enumerate() {
        let place = place(crossover);
        text += &match index {
            0 => format!(
                "{} below {variable}{place}",
                capital(Words::of(crossover.below).verb)
            ),
            _ => format!(", {} to {place}", Words::of(crossover.below).verb),
        };
    }
    let last = crossovers[crossovers.len() - 1];
    text += &format!(", {} above.", Words::of(last.above).verb);
    if let [only] = crossovers
        && is_swept
    {
        let (below, above) = (
            Words::of(only.below).verb,
            capital(Words::of(only.above).verb),
        );
        text = format!("{above} from {variable}{} on, {below} below.", place(only));
    }
    let first = crossovers[0];
    let wrong_below = dearest(cells, first.above, first.below, |bytes| {
        bytes < first.low_bytes
    });
    let wrong_above = dearest(cells, last.below, last.above, |bytes| {
        bytes > last.high_bytes
    });
    let wrong: Vec<String> = [(first.above, wrong_below), (last.below, wrong_above)]
        .into_iter()
        .filter_map(|(technique, dearest)| {
            let (cell, ratio) = dearest?;
            let at = if is_swept { "at " } else { "" };
            let bytes = varied(cell, is_swept);
            Some(format!(
                "{} {at}{bytes} takes {}",
                Words::of(technique).gerund,
                longer(ratio)
            ))
        })
        .collect();
    if !wrong.is_empty() {
        text += &format!(" {}.", capital(&wrong.join(", ")));
    }
    text
}

/// `Writing one by one takes 31 to 98 % longer.` If the largest sizes do not differ significantly:
/// `… for segments of up to 4 KiB.` `None` if others do not, or if it is faster at any size.
fn one_by_one(cells: &[&Cell], rivals: &[TechniqueName], is_swept: bool) -> Option<String> {
    let each = *rivals.iter().find(|&&rival| is_each(rival))?;
    let mut significant = Vec::new();
    for &cell in cells {
        let leader = cell.leader.filter(|&leader| leader != each)?;
        let pair = pair(cell, each, leader).filter(PairStats::separated);
        // A technique with the lowest median may still be slower pair by pair.
        if pair.as_ref().is_some_and(|pair| pair.ratio < 1.0) {
            return None;
        }
        significant.push(pair.map(|pair| pair.ratio));
    }
    let count = significant
        .iter()
        .take_while(|ratio| ratio.is_some())
        .count();
    if significant[count..].iter().any(Option::is_some) {
        return None;
    }
    let ratios: Vec<f64> = significant.into_iter().flatten().collect();
    let longer = span(&ratios)?;
    let name = capital(Words::of(each).gerund);
    Some(match count == cells.len() {
        true => format!("{name} takes {longer}."),
        false => {
            let lists = if is_swept {
                "up to"
            } else {
                "for segments of up to"
            };
            let most = varied(cells[count - 1], is_swept);
            format!("{name} takes {longer} {lists} {most}.")
        }
    })
}

/// What stands before a size of a swept mix.
const SIZE_IS: &str = "SIZE = ";

/// `4 KiB`; of a list of a swept mix `SIZE = 4 KiB`.
fn varied(cell: &Cell, is_swept: bool) -> String {
    let variable = if is_swept { SIZE_IS } else { "" };
    format!("{variable}{}", size(cell))
}

fn is_each(technique: TechniqueName) -> bool {
    technique.role() == Role::Each
}
