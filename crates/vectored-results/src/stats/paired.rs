//! The paired comparison of two techniques: a robust mean of the per-round log ratios, its interval and its test.
//!
//! The mean is Huber's (Ann. Math. Statist. 35, 1964): a value far from the others counts like a value at the edge of the
//! usual values. A shared machine does not provide independent rounds, so the error follows from the means of batches of
//! consecutive rounds that are at least as long as the serial correlation (batch means, e.g. Law, *Simulation Modeling and
//! Analysis*, 9.5.3), with Student's t.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use crate::stats::summary::median;
use crate::stats::t_distribution::{two_sided_p, two_sided_quantile};

/// The level of every reported interval.
///
/// The leader of a cell is chosen from the same samples, and sampling stops when an interval is narrow; both reduce coverage.
/// The simulation of the whole procedure (`tests/it/simulation.rs`) verifies the result.
const INTERVAL_LEVEL: f64 = 0.95;

/// The level of the interval that lies within the tie zone if two techniques tie: two one-sided tests at 5 % (Schuirmann, J.
/// Pharmacokinet. Biopharm. 15, 1987).
const EQUIVALENCE_LEVEL: f64 = 0.90;

/// With more batches the error is known better. With fewer batches the error includes longer correlations.
const BATCHES: RangeInclusive<usize> = 8..=16;

const MIN_ROUNDS: usize = 6;

/// Deviations beyond this many standard deviations count as this many: 95 % efficient for normal values.
const HUBER_K: f64 = 1.345;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairStats {
    /// The number of rounds that sampled both techniques.
    pub rounds: usize,
    pub ratio: f64,
    pub range: (f64, f64),
    /// The interval of the ratio; `None` with fewer than six rounds.
    pub interval: Option<(f64, f64)>,
    pub equivalence: Option<(f64, f64)>,
    /// Two-sided p-value of "the ratio is 1".
    pub p: f64,
}

impl PairStats {
    pub fn half_width(&self) -> f64 {
        self.interval
            .map_or(f64::INFINITY, |(low, high)| (high / low).ln() / 2.0)
    }

    pub fn separated(&self) -> bool {
        self.interval
            .is_some_and(|(low, high)| low > 1.0 || high < 1.0)
    }

    pub fn is_within(&self, zone: f64) -> bool {
        self.equivalence
            .is_some_and(|(low, high)| low >= 1.0 - zone && high <= 1.0 + zone)
    }
}

/// Compares two series by round. `log_ratios` holds `ln(a ÷ b)` of each round that sampled both series, in order of time. No
/// value may be NaN.
pub fn paired(log_ratios: &[f64]) -> Option<PairStats> {
    let mut values = log_ratios.to_vec();
    let mean = huber(&mut values)?;
    let rounds = values.len();
    let range = |of: fn(f64, f64) -> f64| log_ratios.iter().copied().fold(mean, of);
    let mut stats = PairStats {
        rounds,
        ratio: mean.exp(),
        range: (range(f64::min).exp(), range(f64::max).exp()),
        interval: None,
        equivalence: None,
        p: 1.0,
    };
    if rounds < MIN_ROUNDS {
        return Some(stats);
    }
    let rho = serial_correlation(&values);
    let batches = batch_means(&values, inflation(rho, f64::INFINITY));
    let count = batches.len() as f64;
    // A batch leaves out correlations over more rounds than the batch has.
    let longer = inflation(rho, f64::INFINITY) / inflation(rho, rounds as f64 / count);
    let error_of_batches = standard_error(&batches, mean) * longer.sqrt();
    // Values that alternate cancel out in a batch. The error of 16 batches of independent values is seldom below half the
    // error of the values.
    let error = error_of_batches.max(standard_error(&values, mean) / 2.0);
    let around = |reach: f64| Some(((mean - reach * error).exp(), (mean + reach * error).exp()));
    let (interval, equivalence) = REACHES[batches.len() - 2];
    stats.interval = around(interval);
    stats.equivalence = around(equivalence);
    stats.p = if mean == 0.0 { 1.0 } else { two_sided_p(mean / error, count - 1.0) };
    Some(stats)
}

/// Standard errors from the mean to the ends of both intervals, for 1, 2, … degrees of freedom.
static REACHES: LazyLock<Vec<(f64, f64)>> = LazyLock::new(|| {
    let reaches = |degrees: usize| {
        let reach = |level: f64| two_sided_quantile(1.0 - level, degrees as f64);
        (reach(INTERVAL_LEVEL), reach(EQUIVALENCE_LEVEL))
    };
    (1..*BATCHES.end()).map(reaches).collect()
});

/// Huber's mean. Replaces the values by new values: the plain mean of the new values is Huber's mean, and their variance is the
/// variance of the estimate.
fn huber(values: &mut [f64]) -> Option<f64> {
    let mut mean = median(values)?;
    let mut away: Vec<f64> = values.iter().map(|x| (x - mean).abs()).collect();
    away.sort_unstable_by(f64::total_cmp);
    // Three of four normal deviates are below 1.1503 σ. The median deviation would be tiny for values with two modes.
    let mut spread = away[(3 * away.len()).div_ceil(4) - 1] / 1.1503;
    if spread == 0.0 {
        // The mean absolute value of a normal variate is 0.7979 σ.
        spread = away.iter().sum::<f64>() / away.len() as f64 / 0.7979;
    }
    if spread == 0.0 {
        return Some(mean);
    }
    let edge = HUBER_K * spread;
    let mut inner = 1.0;
    for _ in 0..50 {
        let sum: f64 = values.iter().map(|x| (x - mean).clamp(-edge, edge)).sum();
        let inside = values.iter().filter(|x| (*x - mean).abs() <= edge).count();
        inner = inside.max(1) as f64;
        mean += sum / inner;
        if (sum / inner).abs() < 1e-9 * spread {
            break;
        }
    }
    let stretch = values.len() as f64 / inner;
    for value in values.iter_mut() {
        *value = mean + (*value - mean).clamp(-edge, edge) * stretch;
    }
    Some(mean)
}

fn standard_error(values: &[f64], mean: f64) -> f64 {
    let n = values.len() as f64;
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (squares / (n - 1.0) / n).sqrt()
}

/// The means of batches of consecutive values, each at least as long as `least`.
fn batch_means(values: &[f64], least: f64) -> Vec<f64> {
    let n = values.len();
    let length = n.div_ceil(*BATCHES.end()).max(least.ceil() as usize);
    let count = n / length.min(n / *BATCHES.start()).max(1);
    (0..count)
        .map(|batch| {
            let values = &values[batch * n / count..(batch + 1) * n / count];
            values.iter().sum::<f64>() / values.len() as f64
        })
        .collect()
}

/// The correlation of one value with the next, at least 0. The bias of −(1 + 3ρ) ÷ n is corrected (Marriott and Pope,
/// Biometrika 41, 1954).
fn serial_correlation(series: &[f64]) -> f64 {
    let n = series.len();
    let mean = series.iter().sum::<f64>() / n as f64;
    let variance: f64 = series.iter().map(|x| (x - mean).powi(2)).sum();
    if variance == 0.0 {
        return 0.0;
    }
    let lagged: f64 = series
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum();
    let n = n as f64;
    ((lagged / variance + 1.0 / n) / (1.0 - 3.0 / n)).clamp(0.0, 0.95)
}

/// The variance of the mean of `n` values of a first-order autoregressive series, relative to `n` independent values
/// (e.g. Brockwell and Davis, *Time Series*, 7.1).
fn inflation(rho: f64, n: f64) -> f64 {
    (1.0 + rho) / (1.0 - rho) - 2.0 * rho * (1.0 - rho.powf(n)) / (n * (1.0 - rho).powi(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Normal deviates that correlate by `rho` from one to the next.
    fn normal(seed: u64, n: usize, rho: f64) -> Vec<f64> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut deviate = || (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
        let mut value = deviate();
        std::iter::repeat_with(|| {
            value = rho * value + (1.0 - rho * rho).sqrt() * deviate();
            value
        })
        .take(n)
        .collect()
    }

    #[test]
    fn of_normal_values_it_is_nearly_the_mean_and_students_interval() {
        // The standard error is 0.1, and t of 15 degrees of freedom 2.131.
        let shares = (0..400).map(|seed| {
            let logs: Vec<f64> = normal(seed, 400, 0.0).iter().map(|x| 0.02 * x).collect();
            let stats = paired(&logs).unwrap();
            let plain = logs.iter().sum::<f64>() / 400.0;
            assert!((stats.ratio.ln() - plain).abs() < 0.002);
            assert!((stats.p < 0.05) == stats.separated());
            (f64::from(u8::from(stats.separated())), stats.half_width())
        });
        let (separated, width) = shares.fold((0.0, 0.0), |sum, x| (sum.0 + x.0, sum.1 + x.1));
        assert!((0.02..0.08).contains(&(separated / 400.0)), "{separated}");
        assert!((0.0020..0.0028).contains(&(width / 400.0)), "{width}");
    }

    #[test]
    fn an_outlier_counts_like_a_value_at_the_edge() {
        let mut logs: Vec<f64> = normal(1, 100, 0.0);
        logs[30] = 10.0;
        let near = paired(&logs).unwrap();
        logs[30] = 600.0;
        let far = paired(&logs).unwrap();
        assert_eq!(
            (far.ratio, far.interval, far.p),
            (near.ratio, near.interval, near.p)
        );
        assert!(far.range.1 > near.range.1);
    }

    #[test]
    fn correlated_rounds_count_less() {
        // 5 % are 15 of 300. The plain interval would exclude 0 in about 100 of the correlated series. The values of the last
        // line correlate over more rounds than a batch has.
        for (rho, most) in [(0.0, 25), (0.8, 45), (0.95, 60)] {
            let runs = (0..300).map(|seed| paired(&normal(seed, 80, rho)).unwrap());
            let separated = runs.filter(PairStats::separated).count();
            assert!(separated <= most, "{rho}: {separated}");
        }
    }

    #[test]
    fn equal_values_are_certain() {
        let stats = paired(&[0.25; 30]).unwrap();
        let ratio = 0.25_f64.exp();
        assert_eq!(stats.interval, Some((ratio, ratio)));
        assert_eq!((stats.range, stats.p), ((ratio, ratio), 0.0));
        assert!(!stats.is_within(0.02));
        let stats = paired(&[0.0; 30]).unwrap();
        assert_eq!((stats.interval, stats.p), (Some((1.0, 1.0)), 1.0));
        assert!(stats.is_within(0.02));
        // More than three quarters of the values are equal.
        let mut logs = [0.25; 30];
        logs[..7].fill(0.5);
        let stats = paired(&logs).unwrap();
        assert!(stats.half_width() > 0.0 && stats.ratio > ratio);
    }

    #[test]
    fn values_that_alternate_are_not_certain() {
        for rounds in [32, 64, 256] {
            let logs: Vec<f64> = (0..rounds)
                .map(|round| if round % 2 == 0 { -0.47 } else { 0.53 })
                .collect();
            let stats = paired(&logs).unwrap();
            assert!(!stats.separated() && stats.p > 0.05, "{stats:?}");
        }
    }

    #[test]
    fn too_few_rounds_have_no_interval() {
        assert_eq!(paired(&[]), None);
        let stats = paired(&[0.1; 5]).unwrap();
        assert_eq!(stats.interval, None);
        assert_eq!(stats.half_width(), f64::INFINITY);
        assert!(!stats.separated() && !stats.is_within(0.5));
        for rounds in 6..70 {
            assert!(paired(&normal(3, rounds, 0.0)).unwrap().interval.is_some());
        }
    }
}
