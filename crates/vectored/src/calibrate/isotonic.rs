//! Where two ways of writing a list take equally long, by all that was measured: the curve that rises with
//! the size and lies nearest.

use super::bracket::{Found, Step, crossing};

/// Measurements of one count.
#[derive(Default)]
pub(super) struct Curve {
    points: Vec<Point>,
}

#[derive(Clone, Copy)]
struct Point {
    step: Step,
    /// How many pairs of batches it is the median of.
    weight: f64,
}

/// Neighbouring points with one value, as they do not rise.
struct Block {
    least_bytes: usize,
    most_bytes: usize,
    log: f64,
    weight: f64,
}

impl Curve {
    pub(super) fn add(&mut self, step: Step, weight: usize) {
        let weight = weight as f64;
        self.points.push(Point { step, weight });
    }

    /// Where it crosses, between the two measured sizes on either side.
    ///
    /// Copying costs more against gathering the longer the segments are. So what was measured to say
    /// otherwise is noise, or a dent too small to be told from it, and counts as its mean: isotonic
    /// regression, by pooling adjacent violators (Barlow and others, "Statistical Inference under Order
    /// Restrictions", 1972).
    pub(super) fn border(&self) -> Found {
        let mut points = self.points.clone();
        points.sort_by_key(|point| point.step.bytes);
        let mut blocks: Vec<Block> = Vec::with_capacity(points.len());
        for Point { step, weight } in points {
            let mut block = Block {
                least_bytes: step.bytes,
                most_bytes: step.bytes,
                log: step.log,
                weight,
            };
            while let Some(last) =
                blocks.pop_if(|last| last.log >= block.log || last.most_bytes == block.least_bytes)
            {
                let weight = last.weight + block.weight;
                block.log = (last.log * last.weight + block.log * block.weight) / weight;
                block.weight = weight;
                block.least_bytes = last.least_bytes;
            }
            blocks.push(block);
        }
        let copied = blocks.iter().rev().find(|block| block.log <= 0.0);
        let gathered = blocks.iter().find(|block| block.log > 0.0);
        match (copied, gathered) {
            (Some(low), Some(high)) => {
                let (low, high) = (
                    Step {
                        bytes: low.most_bytes,
                        log: low.log,
                    },
                    Step {
                        bytes: high.least_bytes,
                        log: high.log,
                    },
                );
                Found::Border(crossing(low, high, 0.0..=1.0))
            }
            (Some(low), None) => Found::AtLeast(low.most_bytes),
            (None, Some(high)) => Found::Border(high.least_bytes - 1),
            (None, None) => Found::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn curve(points: &[(usize, f64)]) -> Curve {
        let mut curve = Curve::default();
        for &(bytes, log) in points {
            curve.add(Step { bytes, log }, 1);
        }
        curve
    }

    proptest! {
        #[test]
        fn without_noise_the_border_lies_between_the_sizes_around_it(
            sizes in prop::collection::vec(32..20_000_usize, 1..20), border in 32..20_000_usize,
        ) {
            let log = |bytes: usize| (bytes as f64 / border as f64).ln();
            let points: Vec<_> = sizes.iter().map(|&bytes| (bytes, log(bytes))).collect();
            let below = sizes.iter().copied().filter(|&bytes| bytes <= border).max();
            let above = sizes.iter().copied().filter(|&bytes| bytes > border).min();
            match (curve(&points).border(), below, above) {
                (Found::Border(found), Some(below), Some(above)) => {
                    prop_assert!((below..=above).contains(&found), "{} for {}", found, border);
                }
                (Found::Border(found), None, Some(above)) => prop_assert_eq!(found, above - 1),
                (Found::AtLeast(found), Some(below), None) => prop_assert_eq!(found, below),
                (found, ..) => prop_assert!(false, "{:?}", found),
            }
        }

        #[test]
        fn whatever_was_measured_the_border_is_within_it(
            points in prop::collection::vec((1..20_000_usize, -3.0..3.0_f64), 1..30),
        ) {
            let least = points.iter().map(|point| point.0).min().unwrap();
            let most = points.iter().map(|point| point.0).max().unwrap();
            match curve(&points).border() {
                Found::Border(bytes) => prop_assert!((least - 1..=most).contains(&bytes)),
                Found::AtLeast(bytes) => prop_assert_eq!(bytes, most),
                Found::Nothing => prop_assert!(false),
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
        assert_eq!(curve(&right).border(), Found::Border(1936));
        for wrong in [(600, 0.1), (6000, -0.1), (100, 0.3), (16_000, -0.3)] {
            let border = curve(&[&right[..], &[wrong]].concat()).border();
            assert!(
                matches!(border, Found::Border(1000..=4000)),
                "{border:?} by {wrong:?}"
            );
        }
    }

    #[test]
    fn what_was_measured_for_longer_counts_for_more() {
        let border = |weight| {
            let mut curve = curve(&[(500, -0.2), (2000, 0.1)]);
            curve.add(
                Step {
                    bytes: 2000,
                    log: -0.1,
                },
                weight,
            );
            curve.border()
        };
        assert_eq!(border(5), Found::AtLeast(2000));
        assert!(matches!(border(0), Found::Border(500..2000)));
    }

    #[test]
    fn what_was_measured_of_one_size_is_its_mean() {
        // Together they say that copying wins there, whichever came first.
        for points in [[(1000, 0.2), (1000, -0.4)], [(1000, -0.4), (1000, 0.2)]] {
            let curve = curve(&[&points[..], &[(2000, 0.1)]].concat());
            assert_eq!(curve.border(), Found::Border(1414));
        }
    }

    #[test]
    fn a_pool_weighs_as_much_as_all_its_points() {
        let mut many = vec![(1000, 0.1); 8];
        many.push((2000, -0.7));
        // Eight of 0.1 against one of -0.7 are 0.1 ÷ 9 each: gathering wins from the first on.
        assert_eq!(curve(&many).border(), Found::Border(999));
        many.push((2000, -0.2));
        assert_eq!(curve(&many).border(), Found::AtLeast(2000));
    }

    #[test]
    fn nothing_measured_is_nothing_found() {
        assert_eq!(Curve::default().border(), Found::Nothing);
    }
}
