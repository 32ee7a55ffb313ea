//! Measured thresholds between copying and referencing, with interpolation.

use std::fmt;

/// Measured thresholds for some numbers of segments. A threshold is the length in bytes of the longest segments
/// that are copied. A measured threshold replaces the threshold that the costs of a
/// [`CostModel`](crate::CostModel) give.
///
/// [`CostModel::calibrate`](crate::CostModel::calibrate) times both techniques at each of
/// [`COUNTS`](CopyThresholds::COUNTS). The costs are not precise enough for a threshold, because the times of the
/// techniques differ by only a few nanoseconds near the threshold.
/// [`CostModel::copy_below_bytes`](crate::CostModel::copy_below_bytes) documents the thresholds at other counts.
///
/// # Examples
///
/// ```
/// use vectored::CostModel;
/// use vectored::cost::CopyThresholds;
///
/// let mut copy_thresholds = CopyThresholds::default();
/// copy_thresholds.set(2, Some(400)).unwrap();
/// copy_thresholds.set(8, Some(100)).unwrap();
/// let model = CostModel::default().with(|costs| costs.copy_thresholds = copy_thresholds);
/// assert_eq!(model.copy_below_bytes(2), 400);
/// assert_eq!(model.copy_below_bytes(4), 200);
/// assert_eq!(model.copy_below_bytes(8), 100);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CopyThresholds {
    /// The thresholds in the order of [`CopyThresholds::MEASURED`].
    pub(crate) bytes: [Option<u32>; 7],
}

impl CopyThresholds {
    /// The numbers of segments for which a threshold can be set.
    pub const COUNTS: &'static [usize] = &CopyThresholds::MEASURED;

    pub(crate) const MEASURED: [usize; 7] = [2, 4, 8, 16, 64, 256, 1000];

    /// No measured threshold. The constant equals `default()`.
    pub const NONE: CopyThresholds = CopyThresholds { bytes: [None; 7] };

    /// One threshold for all numbers of segments.
    #[must_use]
    pub const fn everywhere(bytes: u32) -> CopyThresholds {
        CopyThresholds {
            bytes: [Some(bytes); 7],
        }
    }

    /// The measured threshold for lists of exactly `segment_count` segments, in bytes. `None` if the threshold
    /// was not measured.
    #[must_use]
    pub fn get(&self, segment_count: usize) -> Option<u32> {
        self.measured()
            .find(|&(count, _)| count == segment_count)
            .map(|(_, bytes)| bytes)
    }

    /// Sets or removes the threshold for lists of `segment_count` segments, in bytes. With a threshold of 0, no
    /// segment is copied.
    ///
    /// # Errors
    ///
    /// [`UnknownSegmentCount`] if `segment_count` is not in [`CopyThresholds::COUNTS`].
    pub fn set(
        &mut self,
        segment_count: usize,
        bytes: Option<u32>,
    ) -> Result<(), UnknownSegmentCount> {
        let index = CopyThresholds::MEASURED
            .iter()
            .position(|&count| count == segment_count)
            .ok_or(UnknownSegmentCount { segment_count })?;
        self.bytes[index] = bytes;
        Ok(())
    }

    /// The measured thresholds as pairs of segment count and bytes, by ascending count.
    pub fn measured(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        std::iter::zip(CopyThresholds::MEASURED, self.bytes)
            .filter_map(|(count, bytes)| Some((count, bytes?)))
    }

    /// The nearest measured counts: at or below `segment_count`, and above.
    pub(crate) fn around(&self, segment_count: usize) -> (Option<Measured>, Option<Measured>) {
        let (mut below, mut above) = (None, None);
        for (count, bytes) in self.measured() {
            let measured = Measured {
                count,
                bytes: bytes as usize,
            };
            if count <= segment_count {
                below = Some(measured);
            } else if above.is_none() {
                above = Some(measured);
            }
        }
        (below, above)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) count: usize,
    pub(crate) bytes: usize,
}

/// Interpolates on a straight line on logarithmic axes.
pub(crate) fn interpolate(below: Measured, above: Measured, segment_count: usize) -> usize {
    if segment_count == below.count || below.bytes == above.bytes {
        return below.bytes;
    }
    let ratio = |to: usize, from: usize| to.max(1) as f64 / from.max(1) as f64;
    let share = ratio(segment_count, below.count).ln() / ratio(above.count, below.count).ln();
    let bytes = below.bytes.max(1) as f64 * ratio(above.bytes, below.bytes).powf(share);
    // Corrects rounding, and a threshold of 0, for which the ratios use 1.
    let (min, max) = (below.bytes.min(above.bytes), below.bytes.max(above.bytes));
    (bytes.round() as usize).clamp(min, max)
}

/// The error of [`CopyThresholds::set`]: the number of segments is not in [`CopyThresholds::COUNTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownSegmentCount {
    /// The number of segments that was passed.
    pub segment_count: usize,
}

impl fmt::Display for UnknownSegmentCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no threshold can be set for {} segments: use one of {:?}",
            self.segment_count,
            CopyThresholds::MEASURED
        )
    }
}

impl std::error::Error for UnknownSegmentCount {}

/// The saved form is `[[count, bytes], …]`, so that a file stays readable if a later version adds counts.
#[cfg(feature = "serde")]
mod with_serde {
    use super::CopyThresholds;
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::{Serialize, Serializer};

    impl Serialize for CopyThresholds {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq(self.measured())
        }
    }

    impl<'de> Deserialize<'de> for CopyThresholds {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CopyThresholds, D::Error> {
            let pairs = Vec::<(usize, u32)>::deserialize(deserializer)?;
            let mut thresholds = CopyThresholds::default();
            for (count, bytes) in pairs {
                thresholds.set(count, Some(bytes)).map_err(Error::custom)?;
            }
            Ok(thresholds)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CostModel;
    use crate::cost::queue_thresholds::QueueThresholds;
    use proptest::prelude::*;

    fn any_thresholds() -> impl Strategy<Value = CopyThresholds> {
        let one = prop_oneof![
            Just(None),
            (0..5000_u32).prop_map(Some),
            Just(Some(u32::MAX))
        ];
        prop::array::uniform7(one).prop_map(|bytes| CopyThresholds { bytes })
    }

    /// Most costs are sensible, some are absurd.
    fn any_model() -> impl Strategy<Value = CostModel> {
        let number = || prop_oneof![4 => 0.01..300.0_f64, 1 => any::<f64>(), 1 => Just(f64::NAN)];
        let staging = prop_oneof![Just(0), 1..100_usize, Just(256 << 10)];
        let numbers = prop::array::uniform8(number());
        let queue = any::<[Option<u32>; 2]>();
        let all = (any_thresholds(), numbers, staging, queue);
        all.prop_map(|(copy_thresholds, numbers, staging_bytes, queue)| {
            let [copy_below_bytes, join_below_bytes] = queue;
            let mut model = CostModel {
                queue_thresholds: QueueThresholds {
                    copy_below_bytes,
                    join_below_bytes,
                },
                copy_thresholds,
                staging_bytes,
                ..CostModel::default()
            };
            for (field, number) in std::iter::zip(numbers_of(&mut model), numbers) {
                *field = number;
            }
            model
        })
    }

    fn numbers_of(model: &mut CostModel) -> [&mut f64; 8] {
        [
            &mut model.call_ns,
            &mut model.gather_call_ns,
            &mut model.segment_ns,
            &mut model.large_segment_ns,
            &mut model.iovec_step_ns,
            &mut model.copy_segment_ns,
            &mut model.copy_byte_ns,
            &mut model.copy_byte_uncached_ns,
        ]
    }

    proptest! {
        #[test]
        fn measured_thresholds_hold_and_those_between_lie_between(
            model in any_model(), count in 2..1100_usize,
        ) {
            let threshold = |count| model.copy_below_bytes(count);
            prop_assert!(threshold(count) <= model.staging_bytes);
            for (count, bytes) in model.copy_thresholds.measured() {
                prop_assert_eq!(threshold(count), (bytes as usize).min(model.staging_bytes));
            }
            if let (Some(below), Some(above)) = model.copy_thresholds.around(count) {
                let (a, b) = (threshold(below.count), threshold(above.count));
                prop_assert!((a.min(b)..=a.max(b)).contains(&threshold(count)));
                let next = threshold((count + 1).min(above.count));
                let is_monotonic = if a <= b { threshold(count) <= next } else { threshold(count) >= next };
                prop_assert!(is_monotonic, "from {a} over {} and {next} to {b}", threshold(count));
            }
        }

        #[test]
        fn above_the_last_count_the_threshold_is_at_most_the_last(
            model in any_model(), count in 2..100_000_usize,
        ) {
            let last = model.copy_thresholds.measured().last();
            prop_assume!(last.is_some_and(|(last, _)| last <= count));
            let (_, bytes) = last.unwrap();
            let here = model.copy_below_bytes(count);
            prop_assert!(here <= bytes as usize, "{} at {}", here, count);
        }

        #[test]
        fn below_the_first_count_and_without_a_measured_threshold_the_costs_decide(
            model in any_model(), count in 0..1100_usize,
        ) {
            let mut model = model;
            for (of, bytes) in std::iter::zip(CopyThresholds::MEASURED, &mut model.copy_thresholds.bytes) {
                *bytes = bytes.filter(|_| of > count);
            }
            let plain = CostModel { copy_thresholds: CopyThresholds::default(), ..model };
            prop_assert_eq!(model.copy_below_bytes(count), plain.copy_below_bytes(count));
        }
    }

    #[test]
    fn between_two_counts_the_threshold_is_geometric() {
        // A threshold of 0 counts as 1.
        for (below, above, expected) in [(1600, 400, 800), (0, 400, 20), (400, 0, 20)] {
            let [below, above] =
                [(16, below), (64, above)].map(|(count, bytes)| Measured { count, bytes });
            assert_eq!(interpolate(below, above, 32), expected);
        }
    }

    #[test]
    fn above_the_last_count_the_threshold_falls_as_the_formula_does() {
        let with = |count, bytes| {
            let mut copy_thresholds = CopyThresholds::default();
            copy_thresholds.set(count, Some(bytes)).unwrap();
            CostModel {
                copy_thresholds,
                ..CostModel::default()
            }
        };
        let formula = CostModel::default();
        let at = [16, 64, 1000].map(|count| formula.copy_below_bytes(count));
        assert_eq!(at, [1481, 1270, 585]);
        let doubled = [16, 64, 1000].map(|count| with(16, 2962).copy_below_bytes(count));
        assert_eq!(doubled, [2962, 2540, 1170]);
        // The formula gives more for 9 segments than for 8 segments, but the threshold must not increase.
        assert_eq!(with(8, 500).copy_below_bytes(9), 500);
        // Above 1000 segments, the copied list fits the staging buffer, or the threshold is `uncached` (see
        // `copy_below_bytes`).
        assert_eq!(with(1000, 120).copy_below_bytes(2000), 120);
        assert_eq!(with(1000, 130).copy_below_bytes(5000), 130);
        assert_eq!(with(1000, 250).copy_below_bytes(5000), 250);
    }

    #[test]
    fn an_unknown_count_is_an_error_that_names_the_known_ones() {
        let mut copy_thresholds = CopyThresholds::default();
        let error = copy_thresholds.set(3, Some(1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no threshold can be set for 3 segments: use one of [2, 4, 8, 16, 64, 256, 1000]"
        );
        assert_eq!(copy_thresholds, CopyThresholds::default());
    }

    #[cfg(feature = "serde")]
    mod with_serde {
        use super::*;

        proptest! {
            #[test]
            fn any_model_of_finite_numbers_comes_back_from_json(mut model in any_model()) {
                for number in numbers_of(&mut model) {
                    if !number.is_finite() {
                        *number = -1.0;
                    }
                }
                let text = serde_json::to_string(&model).unwrap();
                prop_assert_eq!(serde_json::from_str::<CostModel>(&text).unwrap(), model);
            }
        }

        #[test]
        fn a_saved_model_has_the_names_of_its_fields() {
            let mut copy_thresholds = CopyThresholds::default();
            copy_thresholds.set(2, Some(900)).unwrap();
            copy_thresholds.set(64, Some(700)).unwrap();
            let model = CostModel {
                copy_thresholds,
                ..CostModel::default()
            };
            let saved = serde_json::json!({
                "call_ns": 300.0, "gather_call_ns": 60.0, "segment_ns": 26.0,
                "large_segment_ns": 26.0, "iovec_step_ns": 30.0,
                "page_end_ns": 0.0, "byte_ns": 0.1,
                "copy_segment_ns": 2.0, "copy_byte_ns": 0.02, "copy_byte_uncached_ns": 0.04,
                "staging_bytes": 262_144, "copy_thresholds": [[2, 900], [64, 700]],
                "chunk_policy": null,
                "queue_thresholds": { "copy_below_bytes": null, "join_below_bytes": null },
            });
            assert_eq!(serde_json::to_value(model).unwrap(), saved);
            use crate::cost::TargetKind;
            let kinds = serde_json::to_string(&[TargetKind::File, TargetKind::Other]).unwrap();
            assert_eq!(kinds, r#"["file","other"]"#);
        }

        #[test]
        fn loading_an_unknown_count_is_an_error() {
            let error = serde_json::from_str::<CopyThresholds>("[[3, 100]]").unwrap_err();
            assert!(error.to_string().contains("3 segments"), "{error}");
        }
    }
}
