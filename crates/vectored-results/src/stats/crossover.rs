//! Crossovers: the sizes at which the faster of two techniques changes, where the interpolated log ratio is zero.
//! `docs/method.md` explains their intervals.

use vectored_report::sort;

use crate::model::{Cell, Crossover, Target, TechniqueName, TechniqueResult};
use crate::stats::paired::PairStats;
use crate::stats::series::{pair, series};
use crate::stats::verdict::{TIE_ZONE, lead, noise};

/// No size is added between two sizes whose ratio is below this.
const NEAR: f64 = 1.25;

/// How much the ratio of two techniques varies from run to run beyond what the rounds of one run show. In 47 runs of one
/// machine, 98 % of the intervals of files contained the median crossover with 0.015, and 95 % of the intervals of sockets with 0.025.
fn between_runs(target: Target) -> f64 {
    if target.is_file() || target == Target::Null { 0.015 } else { 0.025 }
}

/// More rounds are spent on the sizes around a crossover until its interval is narrower than this (high ÷
/// low).
const NARROW: f64 = 1.2;

/// The minimum of rounds for the sizes next to a crossover, even if they are significant. These rounds
/// come in several visits, seconds apart: a shared machine changes its state between visits, which can
/// shift the ratio by some percent, and the rounds of one visit do not show that.
const SPREAD_ROUNDS: u32 = 160;

/// The crossovers of `cells`, in the order of the cells and then by size. Cells of fixed mixes have none.
/// On each side of a crossover there is a cell with the verdict that the technique of this side is the
/// fastest.
pub fn crossovers(cells: &[&Cell]) -> Vec<Crossover> {
    let mut all = Vec::new();
    for series in series(cells) {
        let points = points(&series, |cell, _| cell.winner);
        let brackets = brackets(&points).into_iter();
        all.extend(brackets.map(|bracket| bracket.crossover()));
    }
    all
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

/// Measurements that would narrow the intervals of the crossovers of `cells`, the most useful first. No measurement for a
/// crossover whose interval is narrow enough.
///
/// Cells have no verdict during a run, so crossovers are located between two cells with a fastest
/// technique by unadjusted intervals.
pub fn refinement_requests(cells: &[&Cell], rivals: &[TechniqueName]) -> Vec<RefinementRequest> {
    let mut sizes = Vec::new();
    let mut rounds: Vec<(u32, f64, usize)> = Vec::new();
    for series in series(cells) {
        let index_of = |cell: &Cell| {
            let found = cells.iter().position(|other| std::ptr::eq(*other, cell));
            found.expect("a series is made of the cells")
        };
        let points = points(&series, |cell, noise| fastest(cell, rivals, noise));
        for bracket in brackets(&points) {
            if let Some(bytes) = bracket.size_wanted() {
                sizes.push(RefinementRequest::Size {
                    like: index_of(series[0]),
                    bytes,
                });
                continue;
            }
            let (low, high) = bracket.interval();
            let width = (high - low).exp();
            for step in bracket.nearest() {
                let cell = step.point.cell;
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

struct Point<'a> {
    cell: &'a Cell,
    bytes: f64,
    /// The rival that is significantly faster than every other, by more than the
    /// tie zone and the noise of its cell.
    fastest: Option<TechniqueName>,
    noise: f64,
}

/// `fastest` takes a cell and its noise.
fn points<'a>(
    cells: &[&'a Cell],
    fastest: impl Fn(&Cell, f64) -> Option<TechniqueName>,
) -> Vec<Point<'a>> {
    let point = |&cell: &&'a Cell| {
        let noise = noise(cell).and_then(|pair| pair.interval);
        let noise = noise.map_or(f64::INFINITY, |(low, high)| high.ln().max(-low.ln()));
        Some(Point {
            cell,
            bytes: cell.swept_bytes()? as f64,
            fastest: fastest(cell, noise),
            noise,
        })
    };
    cells.iter().filter_map(point).collect()
}

/// The fastest rival by unadjusted 95 % intervals.
fn fastest(cell: &Cell, rivals: &[TechniqueName], noise: f64) -> Option<TechniqueName> {
    let measured = rivals.iter().filter_map(|&name| cell.technique(name));
    let measured: Vec<&TechniqueResult> = measured.collect();
    let samples = measured.iter().map(|technique| &technique.samples_ns[..]);
    let leader = measured[lead(&samples.collect::<Vec<_>>())?].name;
    let clearance = (1.0 + TIE_ZONE).ln().max(noise);
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
    /// The steps at both ends, and at all sizes between them.
    steps: Vec<Step<'a>>,
}

/// One size with its log ratio: time of `below` ÷ time of `above`.
struct Step<'a> {
    point: &'a Point<'a>,
    ln_bytes: f64,
    /// The median, made monotonic: it rises with the size.
    middle: f64,
    low: f64,
    high: f64,
}

fn brackets<'a>(points: &'a [Point<'a>]) -> Vec<Bracket<'a>> {
    let clear = points.iter().enumerate();
    let clear = clear.filter_map(|(index, point)| Some((index, point.fastest?)));
    let clear: Vec<(usize, TechniqueName)> = clear.collect();
    let bracket = |pair: &[(usize, TechniqueName)]| {
        let [(from, below), (to, above)] = [pair[0], pair[1]];
        (below != above).then(|| Bracket::new(&points[from..=to], below, above))?
    };
    clear.windows(2).filter_map(bracket).collect()
}

impl<'a> Bracket<'a> {
    fn new(points: &'a [Point<'a>], below: TechniqueName, above: TechniqueName) -> Option<Self> {
        let step = |point: &'a Point<'a>| {
            let stats = pair(point.cell, below, above)?;
            let (low, high) = stats.interval?;
            Some(Step {
                point,
                ln_bytes: point.bytes.ln(),
                middle: stats.ratio.ln(),
                low: low.ln() - point.noise,
                high: high.ln() + point.noise,
            })
        };
        let mut steps: Vec<Step<'_>> = points.iter().filter_map(step).collect();
        // Rarely, a difference that is significant over all rounds is not over the common rounds.
        if steps.first()?.middle >= 0.0 || steps.last()?.middle <= 0.0 {
            return None;
        }
        let values: [for<'s> fn(&'s mut Step<'a>) -> &'s mut f64; 3] = [
            |step| &mut step.middle,
            |step| &mut step.low,
            |step| &mut step.high,
        ];
        for value in values {
            let risen = rising(
                &steps
                    .iter_mut()
                    .map(|step| *value(step))
                    .collect::<Vec<_>>(),
            );
            for (step, risen) in std::iter::zip(&mut steps, risen) {
                *value(step) = risen;
            }
        }
        Some(Bracket {
            below,
            above,
            steps,
        })
    }

    fn ends(&self) -> [&Step<'a>; 2] {
        [&self.steps[0], &self.steps[self.steps.len() - 1]]
    }

    /// The logarithm of the size at which the interpolated line reaches `wanted`; the end of the bracket
    /// if it does not.
    fn at(&self, value: fn(&Step<'_>) -> f64, wanted: f64) -> f64 {
        let [first, last] = self.ends();
        if value(first) >= wanted {
            return first.ln_bytes;
        }
        for pair in self.steps.windows(2) {
            let (from, to) = (value(&pair[0]), value(&pair[1]));
            if from < wanted && wanted <= to {
                let share = (wanted - from) / (to - from);
                return pair[0].ln_bytes + share * (pair[1].ln_bytes - pair[0].ln_bytes);
            }
        }
        last.ln_bytes
    }

    fn ln_at(&self) -> f64 {
        // If the line stays at zero over a range, the middle of that range.
        let from = self.at(|step| step.middle, 0.0);
        let to = self.at(|step| step.middle, f64::MIN_POSITIVE);
        (from + to) / 2.0
    }

    fn interval(&self) -> (f64, f64) {
        let at = self.ln_at();
        let [before, after] = self.around();
        let doubtful = self.nearest_doubtful();
        let around = (before.ln_bytes, after.ln_bytes);
        let (low, high) = doubtful.map_or(around, |index| self.interval_from(index));
        (low.min(at), high.max(at))
    }

    /// The interval of one run, widened by the variation between runs, but not beyond the bracket. Rounds of this run
    /// cannot narrow that variation.
    fn widened(&self, target: Target) -> (f64, f64) {
        let [before, after] = self.around();
        let slope = (after.middle - before.middle) / (after.ln_bytes - before.ln_bytes);
        let more = if slope > 0.0 { between_runs(target) / slope } else { f64::INFINITY };
        let (low, high) = self.interval();
        let [first, last] = self.ends().map(|step| step.ln_bytes);
        ((low - more).max(first), (high + more).min(last))
    }

    /// The interval if the step at `index` lies significantly on neither side.
    fn interval_from(&self, index: usize) -> (f64, f64) {
        let step = &self.steps[index];
        // The ends of a bracket are significant, so there is one on each side.
        let before = self.steps[..index].iter().rfind(|step| step.high < 0.0);
        let after = self.steps[index..].iter().find(|step| step.low > 0.0);
        let (Some(before), Some(after)) = (before, after) else {
            let [first, last] = self.ends();
            return (first.ln_bytes, last.ln_bytes);
        };
        let slope = |from: &Step<'_>, to: &Step<'_>| {
            (to.middle - from.middle) / (to.ln_bytes - from.ln_bytes)
        };
        let slope = slope(before, step).min(slope(step, after));
        let low = step.ln_bytes - step.high / slope;
        let high = step.ln_bytes - step.low / slope;
        // A flat line leaves the whole range between the two significant sizes.
        (
            if low.is_nan() { before.ln_bytes } else { low.max(before.ln_bytes) },
            if high.is_nan() { after.ln_bytes } else { high.min(after.ln_bytes) },
        )
    }

    /// The step nearest to the crossover that lies significantly on neither side.
    fn nearest_doubtful(&self) -> Option<usize> {
        let doubtful = |step: &Step<'_>| !(step.high < 0.0 || step.low > 0.0);
        let indices = (0..self.steps.len()).filter(|&index| doubtful(&self.steps[index]));
        let distance = |index: usize| self.steps[index].middle.abs();
        indices.min_by(|&a, &b| distance(a).total_cmp(&distance(b)))
    }

    fn around(&self) -> [&Step<'a>; 2] {
        let at = self.ln_at();
        let past = self.steps.partition_point(|step| step.ln_bytes < at);
        let past = past.clamp(1, self.steps.len() - 1);
        [&self.steps[past - 1], &self.steps[past]]
    }

    /// The sizes that determine the crossover: the two sizes around it, and the nearest size that lies significantly on
    /// neither side.
    fn nearest(&self) -> Vec<&Step<'a>> {
        let around = self.around();
        let doubtful = self.nearest_doubtful().map(|index| &self.steps[index]);
        let is_other = |one: &&Step<'_>| around.iter().all(|step| !std::ptr::eq(*step, *one));
        around
            .into_iter()
            .chain(doubtful.filter(is_other))
            .collect()
    }

    /// A size between the two sizes around the crossover, if all sizes are significant and these two are far apart. A size
    /// that is not significant lies in the tie zone; then more rounds help as much as another size.
    fn size_wanted(&self) -> Option<usize> {
        let [before, after] = self.around();
        let gap = after.ln_bytes - before.ln_bytes;
        if gap <= NEAR.ln() || self.nearest_doubtful().is_some() {
            return None;
        }
        // Measures at the interpolated crossover, but not too close to either end, so that a step near the other end is
        // found quickly.
        let share = ((self.ln_at() - before.ln_bytes) / gap).clamp(0.3, 0.7);
        let size = (before.ln_bytes + share * gap).exp().round() as usize;
        let is_new = |step: &Step<'_>| step.point.cell.swept_bytes() != Some(size);
        self.steps.iter().all(is_new).then_some(size)
    }

    fn crossover(&self) -> Crossover {
        let cell = self.steps[0].point.cell;
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
            tie_low_bytes: tenths(self.at(|step| step.middle, -zone).min(at)),
            tie_high_bytes: tenths(self.at(|step| step.middle, zone).max(at)),
        }
    }
}

/// The monotonic least-squares fit to a series: pool adjacent violators (R. E. Barlow and others,
/// *Statistical Inference under Order Restrictions*, 1972).
fn rising(values: &[f64]) -> Vec<f64> {
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for &value in values {
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
            let made = rising(&values);
            prop_assert!(made.windows(2).all(|pair| pair[0] <= pair[1]));
            let sum = |values: &[f64]| values.iter().sum::<f64>();
            prop_assert!((sum(&made) - sum(&values)).abs() < 1e-9);
            // Unchanged if it rises already.
            let mut sorted = values;
            sorted.sort_unstable_by(f64::total_cmp);
            prop_assert_eq!(rising(&sorted), sorted);
        }
    }
}
