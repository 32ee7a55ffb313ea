//! The paired comparison of two techniques: the median of the per-round log
//! ratios, its order-statistic interval and its sign test.
//!
//! A sign test only asks which of two times was larger in a round, so skewed noise does no harm: it
//! assumes neither normality nor equal variances. It does assume independent rounds, which a shared
//! machine does not provide. [`serial_inflation`] estimates the serial correlation, and both interval and
//! p-value count only the effective number of independent rounds.

use crate::stats::summary::median_of_sorted;

/// The level of every interval.
///
/// The leader of a cell is chosen from the same samples, and sampling stops when an interval is narrow;
/// both reduce coverage. Whole-numbered ranks, and [`serial_inflation`] being at least 1, increase it.
/// The simulation of the whole procedure (`tests/it/simulation.rs`) verifies the result.
pub const INTERVAL_LEVEL: f64 = 0.95;

/// One technique against another, over the rounds that sampled both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairStats {
    /// Rounds that sampled both.
    pub rounds: usize,
    /// The effective number of independent rounds.
    pub effective_rounds: usize,
    /// The median ratio.
    pub ratio: f64,
    /// The interval of the median ratio; `None` with fewer than six rounds.
    pub interval: Option<(f64, f64)>,
    /// Two-sided p-value of "the median ratio is 1".
    pub p: f64,
}

impl PairStats {
    /// Half the width of the interval, as a relative difference.
    pub fn half_width(&self) -> f64 {
        self.interval
            .map_or(f64::INFINITY, |(low, high)| (high / low).ln() / 2.0)
    }

    /// Whether the interval excludes 1.
    pub fn separated(&self) -> bool {
        self.interval
            .is_some_and(|(low, high)| low > 1.0 || high < 1.0)
    }
}

/// Compares two series by round. `log_ratios` holds `ln(a ÷ b)` of each round that sampled both, in order
/// of time; none may be NaN.
pub fn paired(log_ratios: &[f64]) -> Option<PairStats> {
    let mut sorted = log_ratios.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let centre = median_of_sorted(&sorted)?;
    let n = sorted.len();
    let effective = effective_rounds(n, serial_inflation(log_ratios, &sorted));
    let interval = (n >= 6).then(|| {
        let rank = stretch_rank(effective, n);
        (sorted[rank].exp(), sorted[n - 1 - rank].exp())
    });
    let above = sorted.iter().filter(|&&x| x > 0.0).count();
    let below = sorted.iter().filter(|&&x| x < 0.0).count();
    Some(PairStats {
        rounds: n,
        effective_rounds: effective,
        ratio: centre.exp(),
        interval,
        p: sign_test_p(above, below, effective as f64 / n as f64),
    })
}

/// The variance of the median relative to that of independent rounds: at least 1.
///
/// Estimated from the lag-1 autocorrelation ρ of the ranks (robust against
/// outliers), corrected for its bias of −1/n, as (1 + ρ) ÷ (1 − ρ): the
/// inflation of a mean of a first-order autoregressive series (e.g. Brockwell
/// and Davis, *Time Series*, 7.1). For the median of such a series this errs
/// on the safe side: signs are less correlated than values.
pub fn serial_inflation(series: &[f64], sorted: &[f64]) -> f64 {
    let n = series.len();
    if n < 6 {
        return 1.0;
    }
    let middle = (n - 1) as f64 / 2.0;
    // The mean rank of equal values, so that ties do not look like a trend.
    let rank = |x: f64| {
        let first = sorted.partition_point(|&y| y < x);
        let past = sorted.partition_point(|&y| y <= x);
        (first + past - 1) as f64 / 2.0 - middle
    };
    let ranks: Vec<f64> = series.iter().map(|&x| rank(x)).collect();
    let variance: f64 = ranks.iter().map(|r| r * r).sum();
    if variance == 0.0 {
        return 1.0;
    }
    let lagged: f64 = ranks.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let rho = (lagged / variance + 1.0 / n as f64).clamp(0.0, 0.95);
    (1.0 + rho) / (1.0 - rho)
}

/// Two-sided sign test of "above and below are equally likely".
///
/// `independence` is the share of rounds that count as independent. Counts are scaled by it and rounded
/// so that significance is never overstated.
pub fn sign_test_p(above: usize, below: usize, independence: f64) -> f64 {
    let n = above + below;
    let effective = (n as f64 * independence).floor() as usize;
    let fewer = (above.min(below) as f64 * independence).ceil() as usize;
    if effective == 0 {
        return 1.0;
    }
    (2.0 * lower_tail(effective, fewer.min(effective))).min(1.0)
}

/// The largest `r` for which the `r`-th smallest and `r`-th largest of `n`
/// independent values (counted from 0) enclose the median with probability of
/// at least `level`; 0 where even the extremes do not.
///
/// H. A. David, *Order Statistics*, 2.5: coverage is `1 − 2 P(Bin(n, ½) ≤ r)`.
pub fn interval_rank(n: usize, level: f64) -> usize {
    let mut rank = 0;
    while 2 * (rank + 1) < n && 1.0 - 2.0 * lower_tail(n, rank + 1) >= level {
        rank += 1;
    }
    rank
}

/// `P(Bin(n, ½) ≤ k)`.
///
/// Summed downwards from the largest term, whose logarithm is exact enough
/// (relative error about 1e-12 at n = 2000), so that nothing underflows.
pub fn lower_tail(n: usize, k: usize) -> f64 {
    assert!(k <= n, "k successes of n");
    let top = if 2 * k > n { n / 2 } else { k };
    let sum_to = |k: usize| {
        let ln_choose: f64 = (1..=k).map(|i| ((n - k + i) as f64 / i as f64).ln()).sum();
        let mut term = (ln_choose - n as f64 * std::f64::consts::LN_2).exp();
        let mut sum = 0.0;
        for i in (0..=k).rev() {
            sum += term;
            if term < sum * 1e-17 {
                break;
            }
            term *= i as f64 / (n - i + 1) as f64;
        }
        sum
    };
    if top == k {
        sum_to(k)
    } else {
        // Symmetry: the upper part mirrors a lower tail.
        1.0 - if k == n { 0.0 } else { sum_to(n - k - 1) }
    }
}

fn effective_rounds(n: usize, inflation: f64) -> usize {
    ((n as f64 / inflation).floor() as usize).max(1)
}

/// The rank for `effective` independent rounds, on the scale of all `n`.
fn stretch_rank(effective: usize, n: usize) -> usize {
    if effective < 6 {
        return 0;
    }
    let rank = interval_rank(effective, INTERVAL_LEVEL) as f64;
    let stretched = (rank + 0.5) * n as f64 / effective as f64 - 0.5;
    stretched.floor() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binomial_tails_equal_known_values() {
        // NIST/SEMATECH tables of the binomial distribution, p = 0.5.
        for (n, k, expected) in [
            (1, 0, 0.5),
            (10, 1, 11.0 / 1024.0),
            (20, 5, 0.020_694_732_666_015_625),
            (20, 14, 0.979_305_267_333_984_4),
            (20, 20, 1.0),
        ] {
            assert!((lower_tail(n, k) - expected).abs() < 1e-12, "{n} {k}");
        }
        // Far beyond what a product of plain doubles could hold.
        assert!((lower_tail(1999, 999) - 0.5).abs() < 1e-9);
        assert!(lower_tail(2000, 0) >= 0.0);
    }

    #[test]
    fn interval_ranks_equal_the_tables() {
        // Ranks counted from 0: David, table of intervals for the median, 95 %.
        for (n, rank) in [(6, 0), (8, 0), (9, 1), (10, 1), (15, 3), (20, 5), (50, 17)] {
            assert_eq!(interval_rank(n, 0.95), rank, "{n} rounds");
        }
        assert_eq!(interval_rank(100, 0.95), 39);
    }

    #[test]
    fn sign_test_equals_known_p_values() {
        assert!((sign_test_p(9, 1, 1.0) - 22.0 / 1024.0).abs() < 1e-12);
        assert!((sign_test_p(1, 9, 1.0) - 22.0 / 1024.0).abs() < 1e-12);
        assert!((sign_test_p(20, 0, 1.0) - 2.0 / 1_048_576.0).abs() < 1e-15);
        assert_eq!(sign_test_p(5, 5, 1.0), 1.0);
        assert_eq!(sign_test_p(0, 0, 1.0), 1.0);
    }

    #[test]
    fn dependent_rounds_count_less() {
        assert!((sign_test_p(20, 0, 0.5) - 2.0 / 1024.0).abs() < 1e-12);
        assert!(sign_test_p(18, 2, 0.5) > sign_test_p(18, 2, 1.0));
    }

    #[test]
    fn white_noise_is_hardly_inflated_and_a_drift_is() {
        let mut rng = fastrand::Rng::with_seed(3);
        let white: Vec<f64> = (0..200).map(|_| rng.f64()).collect();
        let mut sorted = white.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        assert!(serial_inflation(&white, &sorted) < 1.3);
        assert!(serial_inflation(&sorted, &sorted) > 10.0);
    }

    #[test]
    fn equal_values_are_not_a_trend() {
        let same = [0.25; 30];
        assert_eq!(serial_inflation(&same, &same), 1.0);
        let stats = paired(&same).unwrap();
        assert_eq!(stats.interval, Some((0.25_f64.exp(), 0.25_f64.exp())));
        assert!(stats.p < 1e-6);
    }

    #[test]
    fn pair_of_known_samples() {
        // Twenty rounds in an order without serial correlation.
        let rounds = [
            7, 14, 1, 18, 4, 11, 9, 16, 3, 20, 6, 13, 2, 17, 8, 10, 19, 5, 15, 12,
        ];
        let logs: Vec<f64> = rounds.iter().map(|&x| f64::from(x) / 100.0).collect();
        let stats = paired(&logs).unwrap();
        assert_eq!(stats.rounds, 20);
        assert!((stats.ratio - 0.105_f64.exp()).abs() < 1e-12);
        let (low, high) = stats.interval.unwrap();
        // 95.86 % between the 6th and the 15th.
        assert!((low - 0.06_f64.exp()).abs() < 1e-12);
        assert!((high - 0.15_f64.exp()).abs() < 1e-12);
        assert!(stats.separated());
    }

    #[test]
    fn too_few_rounds_have_no_interval() {
        assert_eq!(paired(&[]), None);
        let stats = paired(&[0.1; 5]).unwrap();
        assert_eq!(stats.interval, None);
        assert_eq!(stats.half_width(), f64::INFINITY);
        assert!(!stats.separated());
    }
}
