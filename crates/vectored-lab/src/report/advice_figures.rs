//! What advice is made of: where one technique wins, and ratios, sizes and crossovers in words.

use vectored_report::words::{about_within, three_digits};

use crate::model::{Cell, Crossover, TechniqueName, Verdict};
use crate::stats::{PairStats, pair};
use crate::text::format;

/// The one technique that wins more than one size of a series.
pub(crate) struct OneWinner<'a> {
    pub winner: TechniqueName,
    /// The cells that it wins.
    pub won: Vec<&'a Cell>,
    /// `at every size`, or `at 4 of 6 sizes` if some of these have no winner.
    pub at_sizes: String,
    /// `from 16 B to 16 KiB`.
    pub range: String,
}

/// `None` if two techniques win some sizes, which without a crossover between them supports no rule, or if
/// fewer than two sizes have a winner.
pub(crate) fn one_winner<'a>(cells: &[&'a Cell]) -> Option<OneWinner<'a>> {
    let won: Vec<&Cell> = cells
        .iter()
        .copied()
        .filter(|cell| cell.winner.is_some())
        .collect();
    let [first, .., last] = won[..] else {
        return None;
    };
    let winner = first.winner?;
    if won.iter().any(|cell| cell.winner != Some(winner)) {
        return None;
    }
    let is_in_range =
        |cell: &&&Cell| (first.swept_bytes()..=last.swept_bytes()).contains(&cell.swept_bytes());
    let sizes = cells.iter().filter(is_in_range).count();
    Some(OneWinner {
        winner,
        at_sizes: match won.len() == sizes {
            true => "at every size".to_owned(),
            false => format!("at {} of {sizes} sizes", won.len()),
        },
        range: format!("from {} to {}", size(first), size(last)),
        won,
    })
}

/// How much longer one technique takes than another, in each cell where the difference is significant.
pub(crate) fn ratios(cells: &[&Cell], of: TechniqueName, to: TechniqueName) -> Vec<f64> {
    cells
        .iter()
        .filter_map(|cell| pair(cell, of, to))
        .filter(PairStats::separated)
        .map(|pair| pair.ratio)
        .collect()
}

/// The cell within a range of sizes in which `of` takes longest compared with `to`, and the ratio.
pub(crate) fn dearest<'a>(
    cells: &[&'a Cell],
    of: TechniqueName,
    to: TechniqueName,
    within: impl Fn(f64) -> bool,
) -> Option<(&'a Cell, f64)> {
    cells
        .iter()
        .copied()
        .filter(|cell| cell.verdict == Verdict::Faster)
        .filter(|cell| cell.swept_bytes().is_some_and(|bytes| within(bytes as f64)))
        .filter_map(|cell| Some((cell, pair(cell, of, to)?)))
        .filter(|(_, pair)| pair.separated() && pair.ratio > 1.0)
        .max_by(|(_, a), (_, b)| a.ratio.total_cmp(&b.ratio))
        .map(|(cell, pair)| (cell, pair.ratio))
}

/// The size of a crossover, with its interval: `1.40 KiB [1.31, 1.52]`.
pub(crate) fn place(crossover: &Crossover) -> String {
    about_within(
        crossover.at_bytes,
        crossover.low_bytes,
        crossover.high_bytes,
    )
}

pub(crate) fn size(cell: &Cell) -> String {
    format::bytes_in_words(cell.swept_bytes().unwrap_or(0) as u64)
}

/// `1.06 to 1.47 times as long`.
pub(crate) fn span(ratios: &[f64]) -> Option<String> {
    let least = ratios.iter().copied().reduce(f64::min)?;
    let most = ratios.iter().copied().reduce(f64::max)?;
    let (low, high) = (three_digits(least), longer(most));
    Some(match high.strip_suffix(TIMES) == Some(&low) {
        true => high,
        false => format!("{low} to {high}"),
    })
}

const TIMES: &str = " times as long";

/// `1.47 times as long`.
pub(crate) fn longer(ratio: f64) -> String {
    format!("{}{TIMES}", three_digits(ratio))
}
