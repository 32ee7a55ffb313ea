//! Time ratios of techniques in one cell.

use vectored_results::model::{Cell, TechniqueName};
use vectored_results::stats::{PairStats, median, paired};

/// The rounds of a cell that count, numbered from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounds {
    /// Every round.
    All,
    /// Rounds 1, 3, 5 and so on.
    Odd,
    /// Rounds 2, 4, 6 and so on.
    Even,
}

impl Rounds {
    /// Selects from `values`, one for each round.
    fn of<T>(self, values: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
        let (from, step) = match self {
            Rounds::All => (0, 1),
            Rounds::Odd => (0, 2),
            Rounds::Even => (1, 2),
        };
        values.skip(from).step_by(step)
    }
}

/// The time of `this` ÷ the time of `other`, over the rounds in which both were sampled.
pub fn ratio(
    cell: &Cell,
    this: TechniqueName,
    other: TechniqueName,
    rounds: Rounds,
) -> Option<PairStats> {
    let (this, other) = (cell.technique(this)?, cell.technique(other)?);
    let pairs = std::iter::zip(&this.samples_ns, &other.samples_ns);
    let logs: Vec<f64> = rounds
        .of(pairs)
        .filter_map(|(this, other)| Some(((*this)? / (*other)?).ln()))
        .collect();
    paired(&logs)
}

/// The time of `this` ÷ the floor. For `None`, the A/A control: the floor's second measurement ÷ the
/// floor.
pub fn over_floor(cell: &Cell, this: Option<TechniqueName>) -> Option<PairStats> {
    let floor = cell.floor_samples_ns.iter();
    let logs: Vec<f64> = match this {
        Some(this) => std::iter::zip(&cell.technique(this)?.samples_ns, floor)
            .filter_map(|(this, floor)| Some(((*this)? / floor).ln()))
            .collect(),
        None => std::iter::zip(&cell.aa_samples_ns, floor)
            .filter_map(|(again, floor)| Some(((*again)? / floor).ln()))
            .collect(),
    };
    paired(&logs)
}

/// A technique against the best of several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgainstBest {
    /// The best of the others on the odd rounds.
    pub best: TechniqueName,
    /// The ratio to this best technique on the even rounds.
    pub pair: PairStats,
}

/// `this` against the best of `others`; `None` if one of the two has no samples.
pub fn against_best(
    cell: &Cell,
    this: TechniqueName,
    others: &[TechniqueName],
) -> Option<AgainstBest> {
    let typical = |technique: TechniqueName| {
        let samples = cell.technique(technique)?.samples_ns.iter();
        let samples: Vec<f64> = Rounds::Odd.of(samples).copied().flatten().collect();
        Some((median(&samples)?, technique))
    };
    let (_, best) = others
        .iter()
        .filter_map(|&other| typical(other))
        .min_by(|(one, _), (other, _)| one.total_cmp(other))?;
    let pair = ratio(cell, this, best, Rounds::Even)?;
    Some(AgainstBest { best, pair })
}

/// The geometric mean, or `None` without ratios. It suits ratios: the mean of 0.5 and 2 is 1.
///
/// # Examples
///
/// ```
/// use vectored_bench::promises::geometric_mean;
///
/// assert_eq!(geometric_mean([0.5, 2.0]), Some(1.0));
/// assert_eq!(geometric_mean([]), None);
/// ```
pub fn geometric_mean(ratios: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) = ratios.into_iter().fold((0.0, 0), |(sum, count), ratio| {
        (sum + ratio.ln(), count + 1)
    });
    (count > 0).then(|| (sum / f64::from(count)).exp())
}
