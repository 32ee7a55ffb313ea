//! Advice in words, from cells and crossovers; none where these do not support it.

use crate::model::{Advice, Cell, Crossover, Technique, Verdict};
use crate::stats::{PairStats, pair, series};
use crate::text::format;

/// One entry for each series of `cells` (lists of equal segments that differ in segment size only) in which
/// some technique is significantly the fastest, with the `crossovers` among them.
pub fn advice(cells: &[&Cell], crossovers: &[Crossover], rivals: &[Technique]) -> Vec<Advice> {
    series(cells)
        .into_iter()
        // One segment is no list.
        .filter(|series| series.segment_count > 1)
        .filter_map(|series| {
            let here: Vec<&Crossover> = crossovers
                .iter()
                .filter(|crossover| {
                    crossover.segment_count == series.segment_count
                        && crossover.conditions == series.conditions
                })
                .collect();
            let text = match here[..] {
                [] => one_winner(&series.cells, rivals)?,
                _ if contradicts(&series.cells, &here) => return None,
                _ => several_winners(&series.cells, &here),
            };
            let each = one_by_one(&series.cells, rivals);
            Some(Advice {
                conditions: series.conditions,
                segment_count: series.segment_count,
                text: [Some(text), each]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join(" "),
            })
        })
        .collect()
}

/// Whether the winner of some size differs from what these crossovers imply: rarely, one of two crossovers
/// cannot be placed.
fn contradicts(cells: &[&Cell], crossovers: &[&Crossover]) -> bool {
    let breaks = |pair: &[&Crossover]| pair[0].above != pair[1].below;
    let is_other = |cell: &&Cell| {
        let (Some(winner), Some(bytes)) = (cell.winner, cell.segment_bytes) else {
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
/// If some of these sizes have no winner: `Copy at 4 of 6 sizes …`.
fn one_winner(cells: &[&Cell], rivals: &[Technique]) -> Option<String> {
    let won: Vec<(&Cell, Technique)> = cells
        .iter()
        .filter_map(|&cell| Some((cell, cell.winner?)))
        .collect();
    let &(first, winner) = won.first()?;
    let (last, _) = won.last()?;
    // Two winners without a crossover between them, or a single size, support no rule.
    if won.iter().any(|(_, other)| *other != winner) || won.len() < 2 {
        return None;
    }
    let range = format!("from {} to {}", size(first), size(last));
    let is_in_range =
        |cell: &&&Cell| (first.segment_bytes..=last.segment_bytes).contains(&cell.segment_bytes);
    let sizes = cells.iter().filter(is_in_range).count();
    let where_it_wins = match won.len() == sizes {
        true => "at every size".to_owned(),
        false => format!("at {} of {sizes} sizes", won.len()),
    };
    let runner_up = rivals
        .iter()
        .copied()
        .filter(|&rival| rival != winner && !is_each(rival));
    let others: Vec<String> = runner_up
        .filter_map(|rival| {
            let ratios = ratios(
                &won.iter().map(|(cell, _)| *cell).collect::<Vec<_>>(),
                rival,
                winner,
            );
            Some(format!("{} takes {}", gerund(rival), span(&ratios)?))
        })
        .collect();
    let costs = match others.is_empty() {
        true => ".".to_owned(),
        false => format!("; {}.", others.join(", ")),
    };
    let verb = capital(verb(winner));
    Some(format!("{verb} {where_it_wins} {range}{costs}"))
}

/// `Copy below 1.40 KiB [1.31, 1.52], gather above. …`
fn several_winners(cells: &[&Cell], crossovers: &[&Crossover]) -> String {
    let mut text = String::new();
    for (index, crossover) in crossovers.iter().enumerate() {
        let place = place(crossover);
        text += &match index {
            0 => format!("{} below {place}", capital(verb(crossover.below))),
            _ => format!(", {} to {place}", verb(crossover.below)),
        };
    }
    let last = crossovers[crossovers.len() - 1];
    text += &format!(", {} above.", verb(last.above));
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
            let (bytes, ratio) = dearest?;
            let longer = longer(ratio);
            Some(format!("{} {bytes} takes {longer}", gerund(technique)))
        })
        .collect();
    if !wrong.is_empty() {
        text += &format!(" {}.", capital(&wrong.join(", ")));
    }
    text
}

/// `Writing one by one takes 31 to 98 % longer.` If the largest sizes do not differ significantly:
/// `… for segments of up to 4 KiB.` `None` if others do not, or if it is faster at any size.
fn one_by_one(cells: &[&Cell], rivals: &[Technique]) -> Option<String> {
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
    let name = capital(gerund(each));
    Some(match count == cells.len() {
        true => format!("{name} takes {longer}."),
        false => format!(
            "{name} takes {longer} for segments of up to {}.",
            size(cells[count - 1])
        ),
    })
}

/// How much longer one technique takes than another, in each cell where the difference is significant.
fn ratios(cells: &[&Cell], of: Technique, to: Technique) -> Vec<f64> {
    cells
        .iter()
        .filter_map(|cell| pair(cell, of, to))
        .filter(PairStats::separated)
        .map(|pair| pair.ratio)
        .collect()
}

/// The size within a range at which `of` takes longest compared with `to`, and the ratio.
fn dearest(
    cells: &[&Cell],
    of: Technique,
    to: Technique,
    within: impl Fn(f64) -> bool,
) -> Option<(String, f64)> {
    cells
        .iter()
        .filter(|cell| cell.verdict == Verdict::Faster)
        .filter(|cell| cell.segment_bytes.is_some_and(|bytes| within(bytes as f64)))
        .filter_map(|cell| Some((size(cell), pair(cell, of, to)?)))
        .filter(|(_, pair)| pair.separated() && pair.ratio > 1.0)
        .max_by(|(_, a), (_, b)| a.ratio.total_cmp(&b.ratio))
        .map(|(size, pair)| (size, pair.ratio))
}

/// The size of a crossover, with its interval: `1.40 KiB [1.31, 1.52]`.
pub(crate) fn place(crossover: &Crossover) -> String {
    let (scale, unit) = match crossover.at_bytes {
        at if at < 999.5 => (1.0, "B"),
        at if at < 1023.5 * 1024.0 => (1024.0, "KiB"),
        _ => (1024.0 * 1024.0, "MiB"),
    };
    let number = |bytes: f64| match scale {
        1.0 => format!("{bytes:.0}"),
        _ => format::three_digits(bytes / scale),
    };
    let [at, low, high] = [
        crossover.at_bytes,
        crossover.low_bytes,
        crossover.high_bytes,
    ]
    .map(number);
    format!("{at} {unit} [{low}, {high}]")
}

fn size(cell: &Cell) -> String {
    format::bytes_in_words(cell.segment_bytes.unwrap_or(0) as u64)
}

/// `5.6 to 47 % longer`, `1.3 to 15 times as long`.
fn span(ratios: &[f64]) -> Option<String> {
    let least = ratios.iter().copied().reduce(f64::min)?;
    let most = ratios.iter().copied().reduce(f64::max)?;
    let (low, high) = (longer(least), longer(most));
    if low == high {
        return Some(low);
    }
    // Both have the unit of the larger one, which is written once.
    let low = match high.ends_with(LONGER) {
        true => low.strip_suffix(LONGER).unwrap_or(&low).to_owned(),
        false => match low.strip_suffix(TIMES) {
            Some(low) => low.to_owned(),
            None => format!("{least:.1}"),
        },
    };
    Some(format!("{low} to {high}"))
}

const LONGER: &str = " % longer";
const TIMES: &str = " times as long";

/// `47 % longer`; from ten times on `12 times as long`.
fn longer(ratio: f64) -> String {
    let tax = format::tax(ratio - 1.0);
    match tax.strip_suffix('×') {
        Some(times) => format!("{times}{TIMES}"),
        None => format!("{} longer", tax.trim_start_matches('+')),
    }
}

fn is_each(technique: Technique) -> bool {
    matches!(technique, Technique::WriteEach | Technique::ReadEach)
}

fn verb(technique: Technique) -> &'static str {
    match technique {
        Technique::WriteEach => "write one by one",
        Technique::CopyThenWrite => "copy",
        Technique::Writev => "gather",
        Technique::Adaptive => "let adaptive choose",
        Technique::ReadEach => "read one by one",
        Technique::ReadThenSplit => "read and split",
        Technique::Readv => "scatter",
        other => other.name(),
    }
}

fn gerund(technique: Technique) -> &'static str {
    match technique {
        Technique::WriteEach => "writing one by one",
        Technique::CopyThenWrite => "copying",
        Technique::Writev => "gathering",
        Technique::Adaptive => "adaptive",
        Technique::ReadEach => "reading one by one",
        Technique::ReadThenSplit => "splitting",
        Technique::Readv => "scattering",
        other => other.name(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
