//! CopyThresholds between copying and referencing that were measured, and what lies between them.

use std::fmt;

/// The longest segment that is worth copying, in bytes, for some numbers of segments: measured, where
/// a [`CostModel`](crate::CostModel) otherwise goes by its other numbers.
///
/// Nine numbers fit no kernel exactly, and near the border a few nanoseconds decide.
/// [`CostModel::calibrate`](crate::CostModel::calibrate) therefore tries both ways at these counts;
/// [`CostModel::copy_below_bytes`](crate::CostModel::copy_below_bytes) says what holds between them.
/// `CopyThresholds::default()` has nothing measured.
///
/// # Examples
///
/// ```
/// use vectored::{CopyThresholds, CostModel};
///
/// let mut borders = CopyThresholds::default();
/// borders.set(2, Some(400)).unwrap();
/// borders.set(8, Some(100)).unwrap();
/// let model = CostModel { copy_thresholds: borders, ..CostModel::default() };
/// assert_eq!(model.copy_below_bytes(2), 400);
/// assert_eq!(model.copy_below_bytes(4), 200);
/// assert_eq!(model.copy_below_bytes(8), 100);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CopyThresholds {
    /// In bytes, one for each of [`CopyThresholds::COUNTS`], in their order; `None` where nothing was
    /// measured. `Some(0)` copies nothing but empty segments.
    pub bytes: [Option<u32>; 7],
}

impl CopyThresholds {
    /// The numbers of segments for which there is a border.
    pub const COUNTS: [usize; 7] = [2, 4, 8, 16, 64, 256, 1000];

    /// Nothing measured: what `default()` gives, for constants.
    pub const NONE: CopyThresholds = CopyThresholds { bytes: [None; 7] };

    /// The same border for every number of segments.
    pub(crate) const fn everywhere(bytes: u32) -> CopyThresholds {
        CopyThresholds {
            bytes: [Some(bytes); 7],
        }
    }

    /// The border for lists of exactly so many segments, in bytes, if it was measured.
    #[must_use]
    pub fn get(&self, segment_count: usize) -> Option<u32> {
        self.measured()
            .find(|&(count, _)| count == segment_count)
            .map(|(_, bytes)| bytes)
    }

    /// Sets the border for lists of so many segments, or takes it away.
    ///
    /// # Errors
    ///
    /// If `segment_count` is none of [`CopyThresholds::COUNTS`].
    pub fn set(
        &mut self,
        segment_count: usize,
        bytes: Option<u32>,
    ) -> Result<(), UnknownSegmentCount> {
        let index = CopyThresholds::COUNTS
            .iter()
            .position(|&count| count == segment_count)
            .ok_or(UnknownSegmentCount { segment_count })?;
        self.bytes[index] = bytes;
        Ok(())
    }

    /// What was measured, as segment count and bytes, the counts ascending.
    pub fn measured(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        std::iter::zip(CopyThresholds::COUNTS, self.bytes)
            .filter_map(|(count, bytes)| Some((count, bytes?)))
    }

    /// What was measured nearest to `segment_count`: at or below it, and above it.
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

/// A border that was measured at a number of segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) count: usize,
    pub(crate) bytes: usize,
}

/// The border at a count between two measured ones: on the straight line through both, with
/// logarithmic axes.
pub(crate) fn between(below: Measured, above: Measured, segment_count: usize) -> usize {
    if segment_count == below.count || below.bytes == above.bytes {
        return below.bytes;
    }
    let ratio = |to: usize, from: usize| to.max(1) as f64 / from.max(1) as f64;
    let way = ratio(segment_count, below.count).ln() / ratio(above.count, below.count).ln();
    let bytes = below.bytes.max(1) as f64 * ratio(above.bytes, below.bytes).powf(way);
    // A border of 0 was taken for 1, and logarithms round.
    let (least, most) = (below.bytes.min(above.bytes), below.bytes.max(above.bytes));
    (bytes.round() as usize).clamp(least, most)
}

/// There is no border of its own for lists of this many segments, but for those of
/// [`CopyThresholds::COUNTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownSegmentCount {
    /// What was asked for.
    pub segment_count: usize,
}

impl fmt::Display for UnknownSegmentCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no border can be set for {} segments: take one of {:?}",
            self.segment_count,
            CopyThresholds::COUNTS
        )
    }
}

impl std::error::Error for UnknownSegmentCount {}

/// `[[count, bytes], …]`, which stays readable should there be other counts one day.
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
            let mut borders = CopyThresholds::default();
            for (count, bytes) in pairs {
                borders.set(count, Some(bytes)).map_err(Error::custom)?;
            }
            Ok(borders)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CostModel, TargetKind};
    use proptest::prelude::*;

    fn any_borders() -> impl Strategy<Value = CopyThresholds> {
        let one = prop_oneof![
            Just(None),
            (0..5000_u32).prop_map(Some),
            Just(Some(u32::MAX))
        ];
        prop::array::uniform7(one).prop_map(|bytes| CopyThresholds { bytes })
    }

    /// Numbers with and without sense.
    fn any_model() -> impl Strategy<Value = CostModel> {
        let number = || prop_oneof![4 => 0.01..300.0_f64, 1 => any::<f64>(), 1 => Just(f64::NAN)];
        let staging = prop_oneof![Just(0), 1..100_usize, Just(256 << 10)];
        (any_borders(), prop::array::uniform7(number()), staging).prop_map(
            |(borders, numbers, staging_bytes)| {
                let [
                    call_ns,
                    gather_call_ns,
                    segment_ns,
                    large_segment_ns,
                    copy_segment_ns,
                    copy_byte_ns,
                    copy_byte_uncached_ns,
                ] = numbers;
                CostModel {
                    call_ns,
                    gather_call_ns,
                    segment_ns,
                    large_segment_ns,
                    copy_segment_ns,
                    copy_byte_ns,
                    copy_byte_uncached_ns,
                    copy_thresholds: borders,
                    staging_bytes,
                    ..CostModel::default()
                }
            },
        )
    }

    proptest! {
        #[test]
        fn what_was_measured_holds_and_what_lies_between_is_between(
            model in any_model(), count in 2..1100_usize,
        ) {
            let border = |count| model.copy_below_bytes(count);
            prop_assert!(border(count) <= model.staging_bytes);
            for (count, bytes) in model.copy_thresholds.measured() {
                prop_assert_eq!(border(count), (bytes as usize).min(model.staging_bytes));
            }
            if let (Some(below), Some(above)) = model.copy_thresholds.around(count) {
                let (a, b) = (border(below.count), border(above.count));
                prop_assert!((a.min(b)..=a.max(b)).contains(&border(count)));
                // From one to the other it goes one way.
                let next = border((count + 1).min(above.count));
                let goes_on = if a <= b { border(count) <= next } else { border(count) >= next };
                prop_assert!(goes_on, "from {a} over {} and {next} to {b}", border(count));
            }
        }

        #[test]
        fn beyond_the_last_count_the_border_never_rises(
            model in any_model(), count in 2..100_000_usize, more in 0..100_000_usize,
        ) {
            let last = model.copy_thresholds.measured().map(|(count, _)| count).last();
            prop_assume!(last.is_some_and(|last| last <= count));
            let (here, there) = (model.copy_below_bytes(count), model.copy_below_bytes(count + more));
            prop_assert!(there <= here, "{} at {}", there, count + more);
        }

        #[test]
        fn below_the_first_count_and_with_nothing_measured_the_numbers_decide(
            model in any_model(), count in 0..1100_usize,
        ) {
            let mut model = model;
            for (of, bytes) in std::iter::zip(CopyThresholds::COUNTS, &mut model.copy_thresholds.bytes) {
                *bytes = bytes.filter(|_| of > count);
            }
            let plain = CostModel { copy_thresholds: CopyThresholds::default(), ..model };
            prop_assert_eq!(model.copy_below_bytes(count), plain.copy_below_bytes(count));
        }
    }

    #[test]
    fn between_two_counts_the_border_is_geometric() {
        let mut borders = CopyThresholds::default();
        borders.set(16, Some(1600)).unwrap();
        borders.set(64, Some(400)).unwrap();
        let model = CostModel {
            copy_thresholds: borders,
            ..CostModel::default()
        };
        let at = [16, 32, 64].map(|count| model.copy_below_bytes(count));
        assert_eq!(at, [1600, 800, 400]);
    }

    #[test]
    fn a_border_of_zero_copies_nothing_at_its_count() {
        let model = CostModel {
            copy_thresholds: CopyThresholds::everywhere(0),
            ..CostModel::default()
        };
        for count in [2, 3, 1000, 5000] {
            assert_eq!(model.copy_below_bytes(count), 0);
        }
    }

    #[test]
    fn beyond_the_last_count_what_is_copied_fits_the_staging_buffer() {
        let mut borders = CopyThresholds::default();
        borders.set(64, Some(700)).unwrap();
        let model = CostModel {
            copy_thresholds: borders,
            ..CostModel::default()
        };
        assert_eq!(model.copy_below_bytes(64), 700);
        assert_eq!(model.copy_below_bytes(374), 700);
        assert_eq!(model.copy_below_bytes(1000), 262); // 262,144 / 1000
        // Beyond that, what copying is worth outside the caches.
        assert_eq!(model.copy_below_bytes(5000), 221);
        // Measured in a list of half of it or more: then it is so of longer ones, too.
        let with_border = |bytes| {
            let mut borders = borders;
            borders.set(256, Some(bytes)).unwrap();
            CostModel {
                copy_thresholds: borders,
                ..model
            }
            .copy_below_bytes(5000)
        };
        assert_eq!(with_border(511), 221);
        assert_eq!(with_border(512), 512);
    }

    #[test]
    fn a_count_without_a_border_is_an_error_that_names_the_others() {
        let mut borders = CopyThresholds::default();
        let error = borders.set(3, Some(1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no border can be set for 3 segments: take one of [2, 4, 8, 16, 64, 256, 1000]"
        );
        assert_eq!(borders, CopyThresholds::default());
    }

    #[test]
    fn the_defaults_have_nothing_measured() {
        let kinds = [
            TargetKind::File,
            TargetKind::Pipe,
            TargetKind::Socket,
            TargetKind::Other,
        ];
        for kind in kinds {
            assert_eq!(
                CostModel::default_for(kind).copy_thresholds,
                CopyThresholds::default()
            );
        }
    }

    #[cfg(feature = "serde")]
    mod with_serde {
        use super::*;

        proptest! {
            #[test]
            fn any_model_of_finite_numbers_comes_back_from_json(mut model in any_model()) {
                for number in [
                    &mut model.call_ns, &mut model.gather_call_ns, &mut model.segment_ns,
                    &mut model.large_segment_ns, &mut model.copy_segment_ns, &mut model.copy_byte_ns,
                    &mut model.copy_byte_uncached_ns,
                ] {
                    if !number.is_finite() {
                        *number = -1.0;
                    }
                }
                let text = serde_json::to_string(&model).unwrap();
                prop_assert_eq!(serde_json::from_str::<CostModel>(&text).unwrap(), model);
            }
        }

        #[test]
        fn the_names_in_a_saved_model_stay() {
            let mut borders = CopyThresholds::default();
            borders.set(2, Some(900)).unwrap();
            borders.set(64, Some(700)).unwrap();
            let model = CostModel {
                copy_thresholds: borders,
                ..CostModel::default()
            };
            let saved = serde_json::json!({
                "call_ns": 300.0, "gather_call_ns": 60.0, "segment_ns": 20.0,
                "large_segment_ns": 20.0, "iovec_step_ns": 40.0,
                "page_end_ns": 0.0, "byte_ns": 0.1,
                "copy_segment_ns": 2.0, "copy_byte_ns": 0.03, "copy_byte_uncached_ns": 0.08,
                "staging_bytes": 262_144, "borders": [[2, 900], [64, 700]],
            });
            assert_eq!(serde_json::to_value(model).unwrap(), saved);
            let kinds = serde_json::to_string(&[TargetKind::File, TargetKind::Other]).unwrap();
            assert_eq!(kinds, r#"["file","other"]"#);
        }

        #[test]
        fn a_model_saved_without_borders_is_loaded() {
            let mut saved = serde_json::to_value(CostModel::default()).unwrap();
            saved.as_object_mut().unwrap().remove("borders");
            let loaded: CostModel = serde_json::from_value(saved).unwrap();
            assert_eq!(loaded, CostModel::default());
        }

        #[test]
        fn a_count_that_is_not_known_is_an_error() {
            let error = serde_json::from_str::<CopyThresholds>("[[3, 100]]").unwrap_err();
            assert!(error.to_string().contains("3 segments"), "{error}");
        }
    }
}
