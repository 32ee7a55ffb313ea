//! Finds the segment length at which copying and referencing take equally long, and checks whether a measurement
//! shows that length.

/// A threshold is known if its confidence interval lies within this factor of the threshold, in both directions.
pub(crate) const KNOWN_WITHIN: f64 = 1.3;

/// The line is fitted to the lengths within this factor of the crossover, and to the nearest length on each side.
const WINDOW: f64 = 2.5;

/// The half width of a confidence interval, in standard errors.
const STANDARD_ERRORS: f64 = 2.0;

/// The variation of a logarithm of a ratio from run to run. The rounds of one run do not show this variation,
/// because a run has the same physical memory in all rounds.
const BETWEEN_RUNS: f64 = 0.01;

/// The least number of rounds after the first round of each length. The variation of fewer rounds is not known
/// well enough.
const MIN_REPEATS: usize = 8;

/// Standard error of a median ÷ standard error of a mean, for normal deviations.
const MEDIAN_ERROR: f64 = 1.2533;

/// 80 % of normal deviations are within this multiple of the standard deviation. The largest 20 % are ignored,
/// because other programs may have caused them.
const FOUR_FIFTHS: f64 = 1.2816;

/// The rounds with one length and one number of segments.
pub(crate) struct Length {
    pub(crate) segment_bytes: usize,
    /// Logarithms of (time of copying ÷ time of referencing).
    pub(crate) log_ratios: Vec<f64>,
}

/// The number of lengths to copy, from the shortest length on, for the least time of all rounds together.
/// `lengths` are sorted.
fn copied(lengths: &[Length]) -> usize {
    let (mut sum, mut least, mut copied) = (0.0, 0.0, 0);
    for (index, length) in lengths.iter().enumerate() {
        sum += length.log_ratios.len() as f64 * median(&length.log_ratios);
        if sum <= least {
            (least, copied) = (sum, index + 1);
        }
    }
    copied
}

/// The length up to which copying is not slower. `lengths` are sorted. `None` without lengths.
pub(crate) fn crossover(lengths: &[Length]) -> Option<usize> {
    let copied = copied(lengths);
    let Some(above) = lengths.get(copied) else {
        return lengths.last().map(|longest| longest.segment_bytes);
    };
    let Some(below) = copied.checked_sub(1).map(|index| &lengths[index]) else {
        return Some(above.segment_bytes - 1);
    };
    // The median is at most 0 at `below`, and above 0 at `above`.
    let [low, high] = [below, above].map(|length| median(&length.log_ratios));
    let step = above.segment_bytes as f64 / below.segment_bytes as f64;
    Some((below.segment_bytes as f64 * step.powf(low / (low - high))).round() as usize)
}

/// The length at which the line crosses 0. `None` if this length is not known to within [`KNOWN_WITHIN`].
/// `lengths` are sorted.
pub(crate) fn threshold(lengths: &[Length]) -> Option<usize> {
    let line = Line::through(lengths)?;
    let at = line.mean - line.level / line.slope;
    let is_known = line.slope > 0.0
        && [-1.0, 1.0]
            .iter()
            .all(|side| line.is_clear(at + side * KNOWN_WITHIN.ln()));
    let is_measured = line.ends[0] <= at && at <= line.ends[1];
    (is_measured && is_known).then(|| at.exp().round() as usize)
}

/// The crossover if the rounds refute `expected`, otherwise `expected`. `lengths` are sorted.
pub(crate) fn crossover_unless(lengths: &[Length], expected: usize) -> usize {
    let place = (expected.max(1) as f64).ln();
    let line = Line::through(lengths).filter(|line| line.is_clear(place));
    match (line, crossover(lengths)) {
        // A height below 0 means that copying takes less time.
        (Some(line), Some(found)) if (line.height(place) < 0.0) == (found > expected) => found,
        _ => expected,
    }
}

/// A line through the medians of the lengths near their crossover. A place is the logarithm of a length.
struct Line {
    /// The mean of the places.
    mean: f64,
    /// The mean of the medians.
    level: f64,
    slope: f64,
    weight: f64,
    /// The sum of the squared distances of the places from `mean`.
    width: f64,
    deviation: f64,
    /// The places of the shortest and the longest length.
    ends: [f64; 2],
}

impl Line {
    /// `None` if there are too few rounds. `lengths` are sorted.
    fn through(lengths: &[Length]) -> Option<Line> {
        let center = crossover(lengths)?.max(1) as f64;
        let copied = copied(lengths);
        let deviation = MEDIAN_ERROR * deviation(lengths)?;
        let near = lengths.iter().enumerate().filter(|(index, length)| {
            let factor = length.segment_bytes as f64 / center;
            let is_next = *index == copied || index + 1 == copied;
            is_next || (1.0 / WINDOW..=WINDOW).contains(&factor)
        });
        let points: Vec<[f64; 3]> = near
            .map(|(_, length)| {
                let weight = length.log_ratios.len() as f64;
                let place = (length.segment_bytes as f64).ln();
                [place, median(&length.log_ratios), weight]
            })
            .collect();
        let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            points.iter().map(|&[x, y, weight]| weight * of(x, y)).sum()
        };
        let weight = sum(&|_, _| 1.0);
        let [mean, level] = [sum(&|x, _| x), sum(&|_, y| y)].map(|sum| sum / weight);
        let width = sum(&|x, _| (x - mean).powi(2));
        let slope = sum(&|x, y| (x - mean) * (y - level)) / width;
        // The medians may deviate from the line by more than the noise of the rounds explains.
        let misfit = sum(&|x, y| (y - level - slope * (x - mean)).powi(2));
        let unexplained = misfit / points.len().saturating_sub(2).max(1) as f64;
        Some(Line {
            mean,
            level,
            slope,
            weight,
            width,
            deviation: deviation.max(unexplained.sqrt()),
            ends: [points[0][0], points[points.len() - 1][0]],
        })
    }

    fn height(&self, place: f64) -> f64 {
        self.level + self.slope * (place - self.mean)
    }

    fn is_clear(&self, place: f64) -> bool {
        let distance = (place - self.mean).powi(2) / self.width;
        let error = self.deviation * (1.0 / self.weight + distance).sqrt();
        self.height(place).abs() > STANDARD_ERRORS * error + BETWEEN_RUNS
    }
}

/// The standard deviation of the rounds of one length. `None` if there are too few rounds.
fn deviation(lengths: &[Length]) -> Option<f64> {
    let mut deviations = Vec::new();
    for length in lengths {
        let middle = median(&length.log_ratios);
        deviations.extend(length.log_ratios.iter().map(|ratio| (ratio - middle).abs()));
    }
    let repeats = deviations.len() - lengths.len();
    // Deviations from the median of the same rounds are too small. Each length costs one degree of freedom.
    let shrunk = deviations.len() as f64 / repeats.max(1) as f64;
    deviations.sort_unstable_by(f64::total_cmp);
    let four_fifths = deviations.get(deviations.len() * 4 / 5)?;
    (repeats >= MIN_REPEATS).then(|| four_fifths / FOUR_FIFTHS * shrunk.sqrt())
}

pub(crate) fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        _ if sorted.is_empty() => 0.0,
        0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
        _ => sorted[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(points: &[(usize, f64)]) -> Vec<Length> {
        let mut lengths: Vec<Length> = Vec::new();
        let mut points = points.to_vec();
        points.sort_by_key(|point| point.0);
        for (segment_bytes, log_ratio) in points {
            match lengths.last_mut() {
                Some(last) if last.segment_bytes == segment_bytes => {
                    last.log_ratios.push(log_ratio);
                }
                _ => lengths.push(Length {
                    segment_bytes,
                    log_ratios: vec![log_ratio],
                }),
            }
        }
        lengths
    }

    proptest! {
        #[test]
        fn without_noise_the_crossover_lies_between_the_lengths_around_it(
            lengths in prop::collection::vec(32..20_000_usize, 1..20), truth in 32..20_000_usize,
        ) {
            let log = |bytes: usize| (bytes as f64 / truth as f64).ln();
            let points: Vec<_> = lengths.iter().map(|&bytes| (bytes, log(bytes))).collect();
            let below = lengths.iter().copied().filter(|&bytes| bytes <= truth).max();
            let above = lengths.iter().copied().filter(|&bytes| bytes > truth).min();
            let found = crossover(&sorted(&points)).unwrap();
            match (below, above) {
                (Some(below), Some(above)) => prop_assert!((below..=above).contains(&found), "{}", found),
                (None, Some(above)) => prop_assert_eq!(found, above - 1),
                (below, _) => prop_assert_eq!(Some(found), below),
            }
        }

        #[test]
        fn no_rounds_make_it_panic_or_leave_the_measured_lengths(
            points in prop::collection::vec((1..300_usize, -3.0..3.0_f64), 1..60),
        ) {
            let lengths = sorted(&points);
            let (min, max) = (lengths[0].segment_bytes, lengths[lengths.len() - 1].segment_bytes);
            prop_assert!((min - 1..=max).contains(&crossover(&lengths).unwrap()));
            prop_assert!(threshold(&lengths).is_none_or(|bytes| (min..=max).contains(&bytes)));
        }
    }

    #[test]
    fn one_wrong_length_among_right_ones_is_outvoted() {
        let right = [
            (500, -0.2),
            (1000, -0.1),
            (1500, -0.05),
            (2500, 0.05),
            (4000, 0.2),
            (9000, 0.4),
        ];
        assert_eq!(crossover(&sorted(&right)), Some(1936));
        for wrong in [(600, 0.1), (6000, -0.1), (100, 0.3), (16_000, -0.3)] {
            let found = crossover(&sorted(&[&right[..], &[wrong]].concat()));
            assert_eq!(found, Some(1936), "{wrong:?}");
        }
        assert_eq!(crossover(&[]), None);
    }

    #[test]
    fn an_expected_crossover_stays_unless_the_rounds_refute_it() {
        // The rounds of each length lie around a line that crosses 0 at 2000 bytes.
        let found = |expected: usize, slope: f64, noise: f64, rounds: usize| {
            let mut points = Vec::new();
            for bytes in [1000, 1500, 2500, 4000] {
                let height = slope * (bytes as f64 / 2000.0).ln();
                points.extend(
                    (0..rounds).map(|round| (bytes, height + [-noise, 0.0, noise][round % 3])),
                );
            }
            crossover_unless(&sorted(&points), expected)
        };
        for refuted in [500, 1500, 3000, 9000] {
            assert_eq!(found(refuted, 0.3, 0.01, 12), 2000);
            assert_eq!(found(refuted, 0.3, 0.01, 2), refuted);
            assert_eq!(found(refuted, 0.3, 3.0, 12), refuted);
            assert_eq!(found(refuted, 0.003, 0.01, 12), refuted);
        }
        assert_eq!(found(1970, 0.3, 0.01, 12), 1970);
        // In the first case, copying takes less time at all lengths. In the second case, copying takes more time.
        let flat = |height: f64| {
            let points: Vec<_> = (0..12).map(|at| (1000 + at % 4, height)).collect();
            crossover_unless(&sorted(&points), 1002)
        };
        assert_eq!([-0.2, 0.2].map(flat), [1003, 999]);
        assert_eq!(crossover_unless(&[], 7), 7);
    }

    #[test]
    fn a_threshold_needs_repeated_rounds_a_slope_and_lengths_on_both_sides() {
        // The rounds of each length lie within 1 % of a line with this slope, which crosses 0 at 2000 bytes.
        let known = |lengths: &[usize], slope: f64, rounds: usize| {
            let mut points = Vec::new();
            for &bytes in lengths {
                let height = slope * (bytes as f64 / 2000.0).ln();
                points.extend(
                    (0..rounds).map(|round| (bytes, height + [-0.01, 0.0, 0.01][round % 3])),
                );
            }
            threshold(&sorted(&points))
        };
        assert_eq!(known(&[1000, 1500, 2500, 4000], 0.3, 12), Some(2000));
        assert_eq!(known(&[1000, 4000], 0.3, 12), Some(2000));
        assert_eq!(known(&[1000, 1500, 2500, 4000], 0.3, 2), None);
        assert_eq!(known(&[1000, 1500, 2500, 4000], 0.03, 12), None);
        assert_eq!(known(&[500, 1000, 1500], 0.3, 12), None);
        assert_eq!(known(&[3000, 5000, 7000], 0.3, 12), None);
    }
}
