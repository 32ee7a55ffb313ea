//! What to do, in words: computed from cells and crossovers, silent where
//! those do not carry it.

use super::words;
use crate::model::{Advice, Cell, Crossover, Technique, Verdict};
use crate::stats::{PairStats, pair, series};

/// One entry for each kind of list of which enough is known: `cells` of equal
/// segments that differ in size only, of which one technique is surely the
/// fastest in some, with the `crossovers` among them.
pub fn advice(cells: &[&Cell], crossovers: &[Crossover], rivals: &[Technique]) -> Vec<Advice> {
    series(cells)
        .into_iter()
        .filter_map(|series| {
            let borders: Vec<&Crossover> = crossovers
                .iter()
                .filter(|crossover| {
                    crossover.segment_count == series.segment_count
                        && crossover.conditions == series.conditions
                })
                .collect();
            let text = match borders[..] {
                [] => one_winner(&series.cells, rivals)?,
                _ => several_winners(&series.cells, &borders),
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

/// `Copy at every size from 16 B to 16 KiB: to gather takes 5.6 to 47 % longer.`
fn one_winner(cells: &[&Cell], rivals: &[Technique]) -> Option<String> {
    let won: Vec<(&Cell, Technique)> = cells
        .iter()
        .filter_map(|&cell| Some((cell, cell.winner?)))
        .collect();
    let &(first, winner) = won.first()?;
    let (last, _) = won.last()?;
    // Two winners without a crossover between them, or a single size, are no
    // rule.
    if won.iter().any(|(_, other)| *other != winner) || won.len() < 2 {
        return None;
    }
    let range = format!("from {} to {}", size(first), size(last));
    let is_in_range =
        |cell: &&&Cell| (first.segment_bytes..=last.segment_bytes).contains(&cell.segment_bytes);
    let is_tied = cells
        .iter()
        .filter(is_in_range)
        .any(|cell| cell.winner.is_none());
    let almost = if is_tied {
        "at almost every size"
    } else {
        "at every size"
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
            Some(format!("{} takes {} longer", gerund(rival), span(&ratios)?))
        })
        .collect();
    let costs = match others.is_empty() {
        true => ".".to_owned(),
        false => format!("; {}.", others.join(", ")),
    };
    Some(format!("{} {almost} {range}{costs}", capital(verb(winner))))
}

/// `Copy below 1.40 KiB [1.31, 1.52], gather above. …`
fn several_winners(cells: &[&Cell], borders: &[&Crossover]) -> String {
    let mut text = String::new();
    for (index, border) in borders.iter().enumerate() {
        let place = place(border);
        text += &match index {
            0 => format!("{} below {place}", capital(verb(border.below))),
            _ => format!(", {} to {place}", verb(border.below)),
        };
    }
    let last = borders[borders.len() - 1];
    text += &format!(", {} above.", verb(last.above));
    let first = borders[0];
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
            Some(format!(
                "{} {bytes} takes {} longer",
                gerund(technique),
                longer(ratio)
            ))
        })
        .collect();
    if !wrong.is_empty() {
        text += &format!(" {}.", capital(&wrong.join(", ")));
    }
    text
}

/// `One by one takes 31 to 98 % longer.`
fn one_by_one(cells: &[&Cell], rivals: &[Technique]) -> Option<String> {
    let each = *rivals.iter().find(|&&rival| is_each(rival))?;
    let mut all = Vec::new();
    for cell in cells {
        match cell.leader? {
            leader if leader == each => return None,
            leader => all.extend(ratios(&[cell], each, leader)),
        }
    }
    Some(format!("One by one takes {} longer.", span(&all)?))
}

/// How much longer one technique takes than another, by cell, where that is
/// sure.
fn ratios(cells: &[&Cell], of: Technique, to: Technique) -> Vec<f64> {
    cells
        .iter()
        .filter_map(|cell| pair(cell, of, to))
        .filter(PairStats::separated)
        .map(|pair| pair.ratio)
        .collect()
}

/// The size within a range at which one technique takes longest, compared with
/// another, and by how much.
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

/// Where a crossover is, with its interval: `1.40 KiB [1.31, 1.52]`.
pub(super) fn place(border: &Crossover) -> String {
    let (scale, unit) = match border.at_bytes {
        at if at < 999.5 => (1.0, "B"),
        at if at < 1023.5 * 1024.0 => (1024.0, "KiB"),
        _ => (1024.0 * 1024.0, "MiB"),
    };
    let number = |bytes: f64| match scale {
        1.0 => format!("{bytes:.0}"),
        _ => words::three_digits(bytes / scale),
    };
    let [at, low, high] = [border.at_bytes, border.low_bytes, border.high_bytes].map(number);
    format!("{at} {unit} [{low}, {high}]")
}

fn size(cell: &Cell) -> String {
    words::bytes_in_words(cell.segment_bytes.unwrap_or(0) as u64)
}

/// `5.6 to 47 %`, `31 % to 15 times`.
fn span(ratios: &[f64]) -> Option<String> {
    let least = ratios.iter().copied().reduce(f64::min)?;
    let most = ratios.iter().copied().reduce(f64::max)?;
    let (low, high) = (longer(least), longer(most));
    Some(match (low.strip_suffix(" %"), high.ends_with(" %")) {
        _ if low == high => low,
        (Some(number), true) => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    })
}

/// `47 %`; from ten times as long on `12×`.
fn longer(ratio: f64) -> String {
    words::tax(ratio - 1.0).trim_start_matches('+').to_owned()
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
