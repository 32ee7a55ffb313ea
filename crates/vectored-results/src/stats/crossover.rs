//! Crossovers: the sizes at which the faster of two techniques changes, where the interpolated log ratio is zero.
//! `docs/method.md` explains their intervals.

use std::ops::Range;

use vectored_report::{each_once, sort};

use crate::model::{Cell, Crossover, Target, TechniqueName, TechniqueResult};
use crate::stats::paired::PairStats;
use crate::stats::series::{pair, series};
use crate::stats::verdict::{TIE_ZONE, lead, noise};

/// No size is added between two sizes whose ratio is below this.
const NEAR: f64 = 1.25;

/// How much the ratio of two techniques varies between runs, beyond what the rounds of one run show. In 47 runs of one machine,
/// 98 % of the intervals of files contained the median crossover with 0.015, and 95 % of the intervals of sockets with 0.025.
fn between_runs(target: Target) -> f64 {
    if target.is_file() || target == Target::Null { 0.015 } else { 0.025 }
}

/// More rounds are spent on the sizes around a crossover until its interval is narrower than this (high ÷
/// low).
const NARROW: f64 = 1.2;

/// The minimum of rounds for the sizes next to a crossover, even if these sizes are significant. The rounds come in several
/// visits, seconds apart. A shared machine changes its state between visits. Such a change can shift the ratio by some percent,
/// but the rounds of one visit do not show the shift.
const SPREAD_ROUNDS: u32 = 160;

/// The crossovers of `cells`, in the order of the cells and then by size. Cells of fixed mixes have none.
/// On each side of a crossover there is a cell with the verdict that the technique of this side is the
/// fastest.
pub fn crossovers(cells: &[&Cell]) -> Vec<Crossover> {
    let series = series(cells);
    let brackets = series
        .iter()
        .flat_map(|cells| brackets(cells, |cell| cell.winner));
    brackets.map(|bracket| bracket.crossover()).collect()
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RefinementRequest {
    /// A new size, in lists that otherwise equal the lists of this cell.
    Size {
        like: usize,
        bytes: usize,
    },
    Rounds {
        cell: usize,
    },
}

/// Measurements that would narrow the intervals of the crossovers of `cells`, the most useful first. A crossover whose interval
/// is narrow enough gets no measurement.
///
/// Cells have no verdict during a run. So a crossover is located between two cells that each have a fastest technique by
/// unadjusted intervals.
pub fn refinement_requests(cells: &[&Cell], rivals: &[TechniqueName]) -> Vec<RefinementRequest> {
    let mut sizes = Vec::new();
    let mut rounds: Vec<(u32, f64, usize)> = Vec::new();
    let index_of = |cell: &Cell| {
        let found = cells.iter().position(|other| std::ptr::eq(*other, cell));
        found.expect("a series is made of the cells")
    };
    for series in series(cells) {
        for bracket in brackets(&series, |cell| fastest(cell, rivals)) {
            if let Some(bytes) = bracket.size_wanted() {
                let like = index_of(series[0]);
                sizes.push(RefinementRequest::Size { like, bytes });
                continue;
            }
            let (low, high) = bracket.interval();
            let width = (high - low).exp();
            // The sizes that determine the crossover.
            let past = bracket.past();
            let near = [past - 1, past]
                .into_iter()
                .chain(bracket.nearest_doubtful());
            for cell in each_once(near)
                .into_iter()
                .map(|index| bracket.cells[index])
            {
                if width > NARROW || cell.rounds < SPREAD_ROUNDS {
                    rounds.push((cell.rounds, width, index_of(cell)));
                }
            }
        }
    }
    // The cells take turns, so that the rounds of each cell are far apart in time.
    sort::sort_by(&mut rounds, |a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let rounds = rounds.into_iter();
    sizes.extend(rounds.map(|(.., cell)| RefinementRequest::Rounds { cell }));
    sizes
}

/// The largest logarithm within the interval of the A/A pair; infinite without an interval.
fn noise_of(cell: &Cell) -> f64 {
    let noise = noise(cell).and_then(|pair| pair.interval);
    noise.map_or(f64::INFINITY, |(low, high)| high.ln().max(-low.ln()))
}

/// The rival that is significantly faster than every other rival, by unadjusted 95 % intervals, and by more than the tie zone
/// and the noise of the cell.
fn fastest(cell: &Cell, rivals: &[TechniqueName]) -> Option<TechniqueName> {
    let measured = rivals.iter().filter_map(|&name| cell.technique(name));
    let measured: Vec<&TechniqueResult> = measured.collect();
    let samples = measured.iter().map(|technique| &technique.samples_ns[..]);
    let leader = measured[lead(&samples.collect::<Vec<_>>())?].name;
    let clearance = (1.0 + TIE_ZONE).ln().max(noise_of(cell));
    let is_beaten = |one: &&TechniqueResult| {
        let is_beaten = |pair: PairStats| pair.ratio.ln() > clearance && pair.separated();
        one.name == leader || pair(cell, one.name, leader).is_some_and(is_beaten)
    };
    measured.iter().all(is_beaten).then_some(leader)
}

/// The sizes from a size at which one technique is significantly the fastest to the next size at which another technique is.
struct Bracket<'a> {
    below: TechniqueName,
    above: TechniqueName,
    cells: Vec<&'a Cell>,
    ln_bytes: Vec<f64>,
    /// The log ratio at each size, time of `below` ÷ time of `above`, made monotonic: it rises with the size.
    middle: Vec<f64>,
    /// The interval of the log ratio, made monotonic.
    low: Vec<f64>,
    high: Vec<f64>,
}

/// The brackets in a series of cells. `fastest` says which technique is significantly the fastest.
fn brackets<'a>(
    cells: &[&'a Cell],
    fastest: impl Fn(&Cell) -> Option<TechniqueName>,
) -> Vec<Bracket<'a>> {
    let clear = cells.iter().enumerate();
    let clear = clear.filter_map(|(index, cell)| Some((index, fastest(cell)?)));
    let clear: Vec<(usize, TechniqueName)> = clear.collect();
    let bracket = |pair: &[(usize, TechniqueName)]| {
        let [(from, below), (to, above)] = [pair[0], pair[1]];
        (below != above).then(|| Bracket::new(&cells[from..=to], below, above))?
    };
    clear.windows(2).filter_map(bracket).collect()
}

impl<'a> Bracket<'a> {
    fn new(cells: &[&'a Cell], below: TechniqueName, above: TechniqueName) -> Option<Self> {
        let step = |&cell: &&'a Cell| {
            let stats = pair(cell, below, above)?;
            let ((low, high), noise) = (stats.interval?, noise_of(cell));
            let ln_bytes = (cell.swept_bytes()? as f64).ln();
            let values = [
                ln_bytes,
                stats.ratio.ln(),
                low.ln() - noise,
                high.ln() + noise,
            ];
            Some((cell, values))
        };
        let steps: Vec<(&Cell, [f64; 4])> = cells.iter().filter_map(step).collect();
        let of = |index: usize| steps.iter().map(move |(_, values)| values[index]);
        // In rare cases, a difference is significant over all rounds, but not over the common rounds.
        if of(1).next()? >= 0.0 || of(1).next_back()? <= 0.0 {
            return None;
        }
        Some(Bracket {
            below,
            above,
            cells: steps.iter().map(|(cell, _)| *cell).collect(),
            ln_bytes: of(0).collect(),
            middle: rising(of(1)),
            low: rising(of(2)),
            high: rising(of(3)),
        })
    }

    fn ends(&self) -> [f64; 2] {
        [self.ln_bytes[0], self.ln_bytes[self.ln_bytes.len() - 1]]
    }

    /// The logarithm of the size at which the interpolated line of the log ratio reaches `wanted`, or the end of the bracket if
    /// the line does not reach `wanted`.
    fn at(&self, wanted: f64) -> f64 {
        let past = self.middle.partition_point(|value| *value < wanted);
        if past == 0 || past == self.middle.len() {
            return self.ends()[usize::from(past > 0)];
        }
        let above_before = wanted - self.middle[past - 1];
        self.ln_bytes[past - 1] + above_before / self.slope(past - 1, past)
    }

    fn slope(&self, from: usize, to: usize) -> f64 {
        (self.middle[to] - self.middle[from]) / (self.ln_bytes[to] - self.ln_bytes[from])
    }

    fn ln_at(&self) -> f64 {
        // If the line stays at zero over a range, the middle of that range.
        (self.at(0.0) + self.at(f64::MIN_POSITIVE)) / 2.0
    }

    fn interval(&self) -> (f64, f64) {
        let (at, past) = (self.ln_at(), self.past());
        let around = (self.ln_bytes[past - 1], self.ln_bytes[past]);
        let doubtful = self.nearest_doubtful();
        let (low, high) = doubtful.map_or(around, |index| self.interval_from(index));
        (low.min(at), high.max(at))
    }

    /// The interval of one run, widened by the variation between runs, but not beyond the bracket. Rounds of one run cannot
    /// narrow the variation between runs.
    fn widened(&self, target: Target) -> (f64, f64) {
        let past = self.past();
        let slope = self.slope(past - 1, past);
        let more = if slope > 0.0 { between_runs(target) / slope } else { f64::INFINITY };
        let (low, high) = self.interval();
        let [first, last] = self.ends();
        ((low - more).max(first), (high + more).min(last))
    }

    /// The interval if the size at `index` lies significantly on neither side of the crossover.
    fn interval_from(&self, index: usize) -> (f64, f64) {
        let Range { start, end: after } = self.doubtful();
        let [first, last] = self.ends();
        // The ends of a bracket are mostly significant, so each side has a significant size.
        let Some(before) = start.checked_sub(1).filter(|_| after < self.cells.len()) else {
            return (first, last);
        };
        let slope = self.slope(before, index).min(self.slope(index, after));
        let low = self.ln_bytes[index] - self.high[index] / slope;
        let high = self.ln_bytes[index] - self.low[index] / slope;
        let [before, after] = [before, after].map(|index| self.ln_bytes[index]);
        (
            if low.is_nan() { before } else { low.max(before) },
            if high.is_nan() { after } else { high.min(after) },
        )
    }

    fn doubtful(&self) -> Range<usize> {
        let below = self.high.partition_point(|high| *high < 0.0);
        below..self.low.partition_point(|low| *low <= 0.0)
    }

    fn nearest_doubtful(&self) -> Option<usize> {
        let distance = |index: usize| self.middle[index].abs();
        let doubtful = self.doubtful();
        doubtful.min_by(|&a, &b| distance(a).total_cmp(&distance(b)))
    }

    fn past(&self) -> usize {
        let at = self.ln_at();
        let past = self.ln_bytes.partition_point(|ln_bytes| *ln_bytes < at);
        past.clamp(1, self.cells.len() - 1)
    }

    /// A size between the two sizes around the crossover, if all sizes are significant and these two are far apart. A size that
    /// is not significant lies in the tie zone: more rounds at this size help as much as another size.
    fn size_wanted(&self) -> Option<usize> {
        let past = self.past();
        let before = self.ln_bytes[past - 1];
        let gap = self.ln_bytes[past] - before;
        if gap <= NEAR.ln() || self.nearest_doubtful().is_some() {
            return None;
        }
        // Measures at the interpolated crossover, but not too close to either end, so that a step near the other end is
        // found quickly.
        let share = ((self.ln_at() - before) / gap).clamp(0.3, 0.7);
        let size = (before + share * gap).exp().round() as usize;
        let is_new = |cell: &&Cell| cell.swept_bytes() != Some(size);
        self.cells.iter().all(is_new).then_some(size)
    }

    fn crossover(&self) -> Crossover {
        let cell = self.cells[0];
        let tenths = |ln: f64| (ln.exp() * 10.0).round() / 10.0;
        let (low, high) = self.widened(cell.conditions.target);
        let zone = (1.0 + TIE_ZONE).ln();
        let at = self.ln_at();
        Crossover {
            conditions: cell.conditions.clone(),
            segment_count: cell.segment_count,
            swept_mix: cell.swept_mix.clone(),
            below: self.below,
            above: self.above,
            at_bytes: tenths(at),
            low_bytes: tenths(low),
            high_bytes: tenths(high),
            tie_low_bytes: tenths(self.at(-zone).min(at)),
            tie_high_bytes: tenths(self.at(zone).max(at)),
        }
    }
}

/// The monotonic least-squares fit to a series: pool adjacent violators (R. E. Barlow and others,
/// *Statistical Inference under Order Restrictions*, 1972).
fn rising(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for value in values {
        blocks.push((value, 1));
        while let [.., (before, many), (after, more)] = blocks[..]
            && before > after
        {
            let count = many + more;
            let mean = (before * many as f64 + after * more as f64) / count as f64;
            blocks.truncate(blocks.len() - 2);
            blocks.push((mean, count));
        }
    }
    blocks
        .into_iter()
        .flat_map(|(value, count)| std::iter::repeat_n(value, count))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_made_rising_rises_and_keeps_its_mean(
            values in prop::collection::vec(-1.0..1.0_f64, 1..20),
        ) {
            let made = rising(values.iter().copied());
            prop_assert!(made.windows(2).all(|pair| pair[0] <= pair[1]));
            let sum = |values: &[f64]| values.iter().sum::<f64>();
            prop_assert!((sum(&made) - sum(&values)).abs() < 1e-9);
            // A series that already rises stays unchanged.
            let mut sorted = values;
            sorted.sort_unstable_by(f64::total_cmp);
            prop_assert_eq!(rising(sorted.iter().copied()), sorted);
        }
    }
}
