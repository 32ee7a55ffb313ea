//! A histogram of latencies, of bounded size.

use crate::model::Latency;

/// The number of buckets for the values from one power of two to the next: values in one bucket differ by less than
/// one part in this many.
const SUB_BUCKETS: u64 = 128;
const SUB_BITS: u32 = SUB_BUCKETS.trailing_zeros();

/// Each quantile of the results, with the number of transfers below which it is left out.
const TAIL: [(f64, u64); 3] = [(0.5, 1), (0.99, 100), (0.999, 1000)];

/// How often each latency occurred, in buckets of equal relative width: under 1 % of the value. Buckets are
/// counts, so two histograms can be added, and no histogram has more than 7424 of them.
///
/// # Examples
///
/// ```
/// use vectored_results::stats::Latencies;
///
/// let mut latencies = Latencies::default();
/// (1..=1000).for_each(|ns| latencies.add(ns));
/// let summary = latencies.summary();
/// assert_eq!(summary.latency_transfers, Some(1000));
/// assert!((summary.latency_p99_ns.unwrap() - 990.0).abs() < 10.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// Grows up to the bucket of the largest value.
    counts: Vec<u64>,
    total: u64,
}

impl Latencies {
    /// Adds one latency.
    pub fn add(&mut self, ns: u64) {
        self.add_many(ns, 1);
    }

    /// Adds `count` equal latencies.
    pub fn add_many(&mut self, ns: u64, count: u64) {
        let bucket = bucket_of(ns);
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += count;
        self.total += count;
    }

    /// Adds all latencies of `other`.
    pub fn merge(&mut self, other: &Latencies) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in std::iter::zip(&mut self.counts, &other.counts) {
            *count += more;
        }
        self.total += other.total;
    }

    /// The smallest latency that at least this share of all does not exceed: the centre of its bucket, less
    /// than 1 % from it. `None` without latencies.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let rank = ((share * self.total as f64).ceil() as u64).max(1);
        let mut passed = 0;
        let bucket = self.counts.iter().position(|count| {
            passed += count;
            passed >= rank
        });
        bucket.map(centre_of)
    }

    /// The quantiles for the results. The 99 % quantile is left out below 100 transfers, and the 99.9 %
    /// quantile below 1000: no transfer would exceed it.
    pub fn summary(&self) -> Latency {
        let [p50, p99, p999] = TAIL.map(|(share, least)| {
            let known = self.total >= least;
            let ns = known.then(|| self.quantile(share)).flatten();
            // A coarse clock may measure 0. Saved times are positive.
            ns.map(|ns| ns.max(0.5))
        });
        Latency {
            latency_transfers: (self.total > 0).then_some(self.total),
            latency_p50_ns: p50,
            latency_p99_ns: p99,
            latency_p999_ns: p999,
        }
    }
}

/// Values below [`SUB_BUCKETS`] have buckets of their own. Above, each power of two is divided into as many
/// buckets.
fn bucket_of(ns: u64) -> usize {
    if ns < SUB_BUCKETS {
        return ns as usize;
    }
    let shift = ns.ilog2() - SUB_BITS;
    // The leading bits, from SUB_BUCKETS to 2 × SUB_BUCKETS - 1.
    let leading = ns >> shift;
    (u64::from(shift) * SUB_BUCKETS + leading) as usize
}

fn centre_of(bucket: usize) -> f64 {
    let bucket = bucket as u64;
    if bucket < SUB_BUCKETS {
        return bucket as f64;
    }
    let shift = bucket / SUB_BUCKETS - 1;
    let leading = bucket - shift * SUB_BUCKETS;
    let width = (1_u64 << shift) as f64;
    leading as f64 * width + (width - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn histogram(values: &[u64]) -> Latencies {
        let mut latencies = Latencies::default();
        values.iter().for_each(|&ns| latencies.add(ns));
        latencies
    }

    fn values(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec(
            (any::<u64>(), 0_u32..64).prop_map(|(ns, shift)| ns >> shift),
            count,
        )
    }

    proptest! {
        #[test]
        fn a_quantile_is_within_a_percent_of_that_of_the_sorted_values(
            mut values in values(1..300),
            share in 0.0_f64..=1.0,
        ) {
            let found = histogram(&values).quantile(share).unwrap();
            values.sort_unstable();
            let rank = ((share * values.len() as f64).ceil() as usize).max(1);
            let exact = values[rank - 1] as f64;
            prop_assert!((found - exact).abs() <= exact / 100.0, "{found} for {exact}");
        }

        #[test]
        fn merging_equals_adding_all(one in values(0..50), other in values(0..50)) {
            let mut merged = histogram(&one);
            merged.merge(&histogram(&other));
            prop_assert_eq!(merged, histogram(&[one, other].concat()));
        }
    }

    #[test]
    fn the_size_is_bounded() {
        assert_eq!(bucket_of(u64::MAX) + 1, 7424);
        assert_eq!(histogram(&[u64::MAX]).counts.len(), 7424);
    }

    #[test]
    fn quantiles_that_no_transfer_exceeds_are_left_out() {
        let of = |count| histogram(&vec![1000; count]).summary();
        assert_eq!(of(0), Latency::default());
        assert_eq!(
            (of(99).latency_p50_ns, of(99).latency_p99_ns),
            (Some(1001.5), None)
        );
        assert!(of(100).latency_p99_ns.is_some() && of(999).latency_p999_ns.is_none());
        assert!(of(1000).latency_p999_ns.is_some());
    }
}
