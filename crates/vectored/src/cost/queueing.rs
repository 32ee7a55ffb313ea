//! Computes the thresholds of a queue from a [`CostModel`].

use crate::cost::CostModel;

/// The additional time of a call after other work, in ns. The other work evicts the kernel's code and data from
/// the near caches.
const COLD_CALL_NS: f64 = 1000.0;

/// The assumed number of kept segments in a call, each with a copied head. The real number is not known yet when
/// a segment is put in.
const KEPT_IN_A_CALL: f64 = 4.0;

/// The largest threshold that was measured on any target, with 16 kept segments in a call.
pub(crate) const MAX_COPY_BELOW_BYTES: usize = 6144;

/// The largest threshold that was measured on any target.
pub(crate) const MAX_JOIN_BELOW_BYTES: usize = 65_536;

/// The bounds of each formula: half of the smallest measured threshold, and the largest measured threshold.
const COPY_BELOW_BYTES: [f64; 2] = [1024.0, MAX_COPY_BELOW_BYTES as f64];
const JOIN_BELOW_BYTES: [f64; 2] = [4096.0, MAX_JOIN_BELOW_BYTES as f64];

impl CostModel {
    pub(crate) fn queue_copy_below_bytes(&self) -> usize {
        if let Some(bytes) = self.queue_thresholds.copy_below_bytes {
            return bytes as usize;
        }
        let listed = 2.0 * self.large_segment_ns + self.gather_call_ns / KEPT_IN_A_CALL;
        bytes_for(listed, self.copy_byte_ns, COPY_BELOW_BYTES)
    }

    pub(crate) fn queue_join_below_bytes(&self) -> usize {
        if let Some(bytes) = self.queue_thresholds.join_below_bytes {
            return bytes as usize;
        }
        let saved_ns = self.call_ns + COLD_CALL_NS;
        bytes_for(saved_ns, self.copy_byte_uncached_ns, JOIN_BELOW_BYTES)
    }
}

/// A `byte_ns` below 0 counts as 0.
fn bytes_for(ns: f64, byte_ns: f64, [least, most]: [f64; 2]) -> usize {
    // For a NaN, `max` and `min` return the bound. `clamp` would return the NaN.
    (ns / byte_ns.max(0.0)).max(least).min(most) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Ordering::{Equal, Greater, Less};

    use crate::cost::TargetKind;
    use crate::cost::queue_thresholds::QueueThresholds as Thresholds;
    use crate::queue::policy::QueuePolicy;

    fn any_cost() -> impl Strategy<Value = f64> {
        prop_oneof![
            4 => 0.001..10_000.0,
            1 => prop::sample::select(vec![
                0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE,
            ]),
        ]
    }

    fn any_kind() -> impl Strategy<Value = TargetKind> {
        use TargetKind::{File, FileOverwrite, Other, Pipe, Tcp, Unix};
        prop::sample::select(vec![File, FileOverwrite, Pipe, Unix, Tcp, Other])
    }

    proptest! {
        #[test]
        fn the_thresholds_of_any_costs_are_within_bounds(
            costs in prop::array::uniform5(any_cost()), kind in any_kind(),
        ) {
            let [call_ns, gather_call_ns, large_segment_ns, copy_byte_ns, copy_byte_uncached_ns] = costs;
            let model = CostModel {
                call_ns, gather_call_ns, large_segment_ns, copy_byte_ns, copy_byte_uncached_ns,
                ..CostModel::for_target(kind)
            };
            let policy = QueuePolicy::from_model(&model);
            prop_assert!((1024..=MAX_COPY_BELOW_BYTES).contains(&policy.copy_below_bytes), "{:?}", policy);
            prop_assert!((4096..=65536).contains(&policy.join_below_bytes), "{:?}", policy);
        }

        #[test]
        fn a_measured_threshold_replaces_its_formula(
            copy in any::<Option<u32>>(), join in any::<Option<u32>>(), kind in any_kind(),
        ) {
            let computed = CostModel::for_target(kind);
            let queue_thresholds = Thresholds { copy_below_bytes: copy, join_below_bytes: join };
            let policy = QueuePolicy::from_model(&CostModel { queue_thresholds, ..computed });
            let formula = QueuePolicy::from_model(&computed);
            let or = |measured: Option<u32>, formula| measured.map_or(formula, |bytes| bytes as usize);
            prop_assert_eq!(policy.copy_below_bytes, or(copy, formula.copy_below_bytes));
            prop_assert_eq!(policy.join_below_bytes, or(join, formula.join_below_bytes));
        }
    }

    #[test]
    fn each_cost_that_a_formula_names_counts() {
        let usual = CostModel::default();
        let after = |change: fn(&mut CostModel)| {
            let changed = usual.with(change);
            (
                changed
                    .queue_copy_below_bytes()
                    .cmp(&usual.queue_copy_below_bytes()),
                changed
                    .queue_join_below_bytes()
                    .cmp(&usual.queue_join_below_bytes()),
            )
        };
        assert_eq!(after(|costs| costs.call_ns *= 2.0), (Equal, Greater));
        assert_eq!(after(|costs| costs.gather_call_ns *= 2.0), (Greater, Equal));
        assert_eq!(
            after(|costs| costs.large_segment_ns *= 2.0),
            (Greater, Equal)
        );
        assert_eq!(after(|costs| costs.copy_byte_ns *= 2.0), (Less, Equal));
        assert_eq!(
            after(|costs| costs.copy_byte_uncached_ns *= 2.0),
            (Equal, Less)
        );
    }

    #[test]
    fn the_formulas_are_near_the_measured_thresholds_of_the_same_machine() {
        for kind in [TargetKind::File, TargetKind::Pipe, TargetKind::Unix] {
            let computed = QueuePolicy::from_model(&CostModel::for_target(kind));
            let measured = QueuePolicy::for_target(kind);
            let near = |a: usize, b: usize| 2 * a <= 5 * b && 2 * b <= 5 * a;
            assert!(
                near(computed.copy_below_bytes, measured.copy_below_bytes),
                "{kind:?}"
            );
            assert!(
                near(computed.join_below_bytes, measured.join_below_bytes),
                "{kind:?}"
            );
        }
    }
}
