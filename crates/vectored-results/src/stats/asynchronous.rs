//! Asynchronous techniques against the synchronous call with the same lists.

use crate::model::{Cell, TechniqueName};
use crate::stats::discoveries::discoveries;
use crate::stats::paired::PairStats;
use crate::stats::series::{has_helper, pair};
use crate::stats::verdict::{FALSE_DISCOVERIES, MIN_ROUNDS, TIE_ZONE, look_factor};

/// One asynchronous technique against the synchronous call in one cell.
#[derive(Clone, Copy, Debug)]
pub struct AsynchronousPair<'a> {
    /// The cell.
    pub cell: &'a Cell,
    /// The asynchronous technique.
    pub technique: TechniqueName,
    /// The synchronous one: see [`TechniqueName::vectored_call`].
    pub synchronous: TechniqueName,
    /// The time of `technique` ÷ the time of `synchronous`.
    pub stats: PairStats,
    /// The outcome that follows from `stats`.
    pub outcome: AsynchronousOutcome,
}

/// Whether an asynchronous technique is faster than the synchronous call in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AsynchronousOutcome {
    /// The asynchronous technique takes significantly less time.
    Faster,
    /// The asynchronous technique takes significantly more time.
    Slower,
    /// The interval lies within the tie zone.
    Equal,
    /// The interval excludes 1 and the difference is large enough, but it is not significant after
    /// adjustment for looks, comparisons and serial correlation. More rounds can decide it.
    TooFewRounds,
    /// Not decided.
    Open,
}

/// Compares each asynchronous technique with the synchronous call in each of `cells` that has both, in their
/// order. As for verdicts, each p-value is adjusted for the looks and for all comparisons (false discoveries), and no
/// difference below the tie zone is significant, nor one below the noise floor of a cell whose A/A pair differs. Cells with too few rounds for
/// a verdict are left out, and so are those with a thread at the other end, whose times depend on how two
/// threads wait for each other.
pub fn asynchronous_pairs<'a>(cells: &[&'a Cell]) -> Vec<AsynchronousPair<'a>> {
    let mut pairs: Vec<AsynchronousPair<'a>> = Vec::new();
    for &cell in cells {
        let synchronous = TechniqueName::vectored_call(cell.conditions.operation);
        for technique in rivals(cell) {
            let stats = enough_rounds(cell, technique);
            pairs.extend(stats.map(|stats| AsynchronousPair {
                cell,
                technique,
                synchronous,
                stats,
                outcome: AsynchronousOutcome::Open,
            }));
        }
    }
    let p_values: Vec<f64> = pairs.iter().map(p_different).collect();
    let is_different = discoveries(&p_values, FALSE_DISCOVERIES);
    for (pair, is_different) in std::iter::zip(&mut pairs, is_different) {
        pair.outcome = match is_different {
            true if pair.stats.ratio < 1.0 => AsynchronousOutcome::Faster,
            true => AsynchronousOutcome::Slower,
            false if is_equal(pair) => AsynchronousOutcome::Equal,
            false if is_large(pair) && pair.stats.separated() => AsynchronousOutcome::TooFewRounds,
            false => AsynchronousOutcome::Open,
        };
    }
    pairs
}

/// Number of `cells` that [`asynchronous_pairs`] leaves out, at least for one technique, since they have too few
/// rounds.
pub fn cells_with_too_few_rounds(cells: &[&Cell]) -> usize {
    let is_short = |cell: &&&Cell| {
        let mut techniques = rivals(cell);
        techniques.any(|technique| enough_rounds(cell, technique).is_none())
    };
    cells.iter().filter(is_short).count()
}

/// Number of `cells` that [`asynchronous_pairs`] leaves out since a thread or program at the other end took part.
pub fn cells_with_helper(cells: &[&Cell]) -> usize {
    let has_asynchronous = |cell: &&&Cell| {
        let mut techniques = cell.techniques.iter();
        has_helper(cell) && techniques.any(|technique| technique.in_flight)
    };
    cells.iter().filter(has_asynchronous).count()
}

/// The asynchronous techniques of a cell that are compared with the synchronous call.
fn rivals(cell: &Cell) -> impl Iterator<Item = TechniqueName> {
    let synchronous = cell.technique(TechniqueName::vectored_call(cell.conditions.operation));
    let is_compared = synchronous.is_some() && !has_helper(cell);
    let techniques = cell.techniques.iter();
    let compared = techniques.filter(move |technique| is_compared && technique.in_flight);
    compared.map(|technique| technique.name)
}

/// An asynchronous technique against the synchronous call, if the rounds with both are enough for a verdict.
fn enough_rounds(cell: &Cell, technique: TechniqueName) -> Option<PairStats> {
    let stats = pair(
        cell,
        technique,
        TechniqueName::vectored_call(cell.conditions.operation),
    );
    stats.filter(|stats| stats.rounds >= MIN_ROUNDS)
}

/// The p-value of "both take the same time"; 1 if the difference is too small to be reported.
fn p_different(pair: &AsynchronousPair<'_>) -> f64 {
    let factor = look_factor(pair.stats.rounds);
    if is_large(pair) { (pair.stats.p * factor).min(1.0) } else { 1.0 }
}

/// Whether the difference is above the tie zone, and above the difference of an A/A pair that differs.
fn is_large(pair: &AsynchronousPair<'_>) -> bool {
    let least = 1.0 + TIE_ZONE.max(veto(pair.cell));
    let ratio = pair.stats.ratio;
    ratio.max(1.0 / ratio) > least
}

fn is_equal(pair: &AsynchronousPair<'_>) -> bool {
    // A blind cell cannot resolve differences of this size. Verdicts have the same rule.
    veto(pair.cell) <= TIE_ZONE && pair.stats.is_within(TIE_ZONE)
}

/// The noise floor of a cell whose A/A pair differs: no smaller difference is significant there. 0 for other cells.
fn veto(cell: &Cell) -> f64 {
    if cell.aa_separated { cell.noise_floor.unwrap_or(f64::INFINITY) } else { 0.0 }
}
