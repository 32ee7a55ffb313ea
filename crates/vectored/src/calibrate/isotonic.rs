//! The crossover from all measurements of one segment count: the rising curve that fits them best.

use super::bracket::{Crossover, Sample, crossing};

/// The measured ratios of copying to gathering at one segment count.
#[derive(Default)]
pub(super) struct Curve {
    points: Vec<Point>,
}

#[derive(Clone, Copy)]
struct Point {
    step: Sample,
    /// The number of pairs of batches of which the ratio is the median.
    weight: f64,
}

/// Neighbouring points that are pooled, since their values do not rise.
#[derive(Clone, Copy)]
struct Block {
    min_bytes: usize,
    max_bytes: usize,
    log_ratio: f64,
    weight: f64,
}

impl Curve {
    /// Adds a sample, the median of `weight` pairs.
    pub(super) fn add(&mut self, step: Sample, weight: usize) {
        let weight = weight as f64;
        let place = (self.points).partition_point(|point| point.step.bytes <= step.bytes);
        self.points.insert(place, Point { step, weight });
    }

    /// The size at which the curve crosses 0, between the two measured sizes on either side.
    ///
    /// The longer the segments, the slower copying is compared with gathering. A measurement to the contrary is noise,
    /// or a dip too small to be distinguished from noise, and is pooled with its neighbours: isotonic
    /// regression by pooling adjacent violators (Barlow and others, "Statistical Inference under Order
    /// Restrictions", 1972).
    pub(super) fn crossover(&self) -> Crossover {
        let mut blocks: Vec<Block> = Vec::with_capacity(self.points.len());
        for &Point { step, weight } in &self.points {
            let mut block = Block {
                min_bytes: step.bytes,
                max_bytes: step.bytes,
                log_ratio: step.log_ratio,
                weight,
            };
            while let Some(last) = blocks.last().copied().filter(|last| {
                last.log_ratio >= block.log_ratio || last.max_bytes == block.min_bytes
            }) {
                blocks.pop();
                let weight = last.weight + block.weight;
                block.log_ratio =
                    (last.log_ratio * last.weight + block.log_ratio * block.weight) / weight;
                block.weight = weight;
                block.min_bytes = last.min_bytes;
            }
            blocks.push(block);
        }
        let copied = blocks.iter().rev().find(|block| block.log_ratio <= 0.0);
        let gathered = blocks.iter().find(|block| block.log_ratio > 0.0);
        match (copied, gathered) {
            (Some(low), Some(high)) => {
                let (low, high) = (
                    Sample {
                        bytes: low.max_bytes,
                        log_ratio: low.log_ratio,
                    },
                    Sample {
                        bytes: high.min_bytes,
                        log_ratio: high.log_ratio,
                    },
                );
                Crossover::At(crossing(low, high, 0.0..=1.0))
            }
            (Some(low), None) => Crossover::AtLeast(low.max_bytes),
            (None, Some(high)) => Crossover::At(high.min_bytes - 1),
            (None, None) => Crossover::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn curve(points: &[(usize, f64)]) -> Curve {
        let mut curve = Curve::default();
        for &(bytes, log_ratio) in points {
            curve.add(Sample { bytes, log_ratio }, 1);
        }
        curve
    }

    proptest! {
        #[test]
        fn without_noise_the_crossover_lies_between_the_sizes_around_it(
            sizes in prop::collection::vec(32..20_000_usize, 1..20), crossover in 32..20_000_usize,
        ) {
            let log = |bytes: usize| (bytes as f64 / crossover as f64).ln();
            let points: Vec<_> = sizes.iter().map(|&bytes| (bytes, log(bytes))).collect();
            let below = sizes.iter().copied().filter(|&bytes| bytes <= crossover).max();
            let above = sizes.iter().copied().filter(|&bytes| bytes > crossover).min();
            match (curve(&points).crossover(), below, above) {
                (Crossover::At(found), Some(below), Some(above)) => {
                    prop_assert!((below..=above).contains(&found), "{} for {}", found, crossover);
                }
                (Crossover::At(found), None, Some(above)) => prop_assert_eq!(found, above - 1),
                (Crossover::AtLeast(found), Some(below), None) => prop_assert_eq!(found, below),
                (found, ..) => prop_assert!(false, "{:?}", found),
            }
        }

        #[test]
        fn the_crossover_lies_within_the_measured_sizes(
            points in prop::collection::vec((1..20_000_usize, -3.0..3.0_f64), 1..30),
        ) {
            let min = points.iter().map(|point| point.0).min().unwrap();
            let max = points.iter().map(|point| point.0).max().unwrap();
            match curve(&points).crossover() {
                Crossover::At(bytes) => prop_assert!((min - 1..=max).contains(&bytes)),
                Crossover::AtLeast(bytes) => prop_assert_eq!(bytes, max),
                Crossover::Unknown => prop_assert!(false),
            }
        }
    }

    #[test]
    fn one_wrong_measurement_among_right_ones_is_outvoted() {
        let right = [
            (500, -0.2),
            (1000, -0.1),
            (1500, -0.05),
            (2500, 0.05),
            (4000, 0.2),
            (9000, 0.4),
        ];
        assert_eq!(curve(&right).crossover(), Crossover::At(1936));
        for wrong in [(600, 0.1), (6000, -0.1), (100, 0.3), (16_000, -0.3)] {
            let crossover = curve(&[&right[..], &[wrong]].concat()).crossover();
            assert!(
                matches!(crossover, Crossover::At(1000..=4000)),
                "{crossover:?} by {wrong:?}"
            );
        }
    }

    #[test]
    fn a_median_of_more_pairs_weighs_more() {
        let crossover = |weight| {
            let mut curve = curve(&[(500, -0.2), (2000, 0.1)]);
            curve.add(
                Sample {
                    bytes: 2000,
                    log_ratio: -0.1,
                },
                weight,
            );
            curve.crossover()
        };
        assert_eq!(crossover(5), Crossover::AtLeast(2000));
        assert!(matches!(crossover(0), Crossover::At(500..2000)));
    }

    #[test]
    fn measurements_of_one_size_count_as_their_mean() {
        // The mean of the two says that copying is faster there, in either order.
        for points in [[(1000, 0.2), (1000, -0.4)], [(1000, -0.4), (1000, 0.2)]] {
            let curve = curve(&[&points[..], &[(2000, 0.1)]].concat());
            assert_eq!(curve.crossover(), Crossover::At(1414));
        }
    }

    #[test]
    fn a_pool_weighs_as_much_as_all_its_points() {
        let mut many = vec![(1000, 0.1); 8];
        many.push((2000, -0.7));
        // Eight of 0.1 against one of -0.7 are 0.1 ÷ 9 each: gathering is faster from the first on.
        assert_eq!(curve(&many).crossover(), Crossover::At(999));
        many.push((2000, -0.2));
        assert_eq!(curve(&many).crossover(), Crossover::AtLeast(2000));
    }

    #[test]
    fn without_a_measurement_the_crossover_is_unknown() {
        assert_eq!(Curve::default().crossover(), Crossover::Unknown);
    }
}
