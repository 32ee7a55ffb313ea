//! From measurements to the numbers of a [`CostModel`]: pure arithmetic.

use crate::cost::CostModel;
use crate::cost::least_squares::{Row, least_squares};
use crate::cost::page_alignment::page_ends;
use crate::cost::prediction::{LARGE_SEGMENT_BYTES, has_iovec_step};
use crate::cost::thresholds::CopyThresholds;

/// What one list of equal segments took, by technique.
///
/// Times are per call of the whole list, in nanoseconds, finite and above 0: other observations say
/// nothing to [`CostModel::fit`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// Segments in the list.
    pub segment_count: usize,
    /// Bytes of the whole list.
    pub bytes: u64,
    /// One `write(2)` of the same bytes, already in one piece.
    pub write_ns: f64,
    /// One `writev(2)`.
    pub writev_ns: f64,
    /// All segments copied into one buffer, and that written.
    pub copy_then_write_ns: f64,
}

/// In this unit what a page's end spares is looked for: the priors of some targets are 0, and say
/// nothing of how far from it the number may lie.
const USUAL_PAGE_END_NS: f64 = 30.0;

/// Staging buffers that are considered, in bytes: second-level caches, and half of a small one. What
/// tells smaller ones apart is noise, or the first-level cache, and calls of 16 KiB cost more than
/// either.
const STAGING_BYTES: [u64; 5] = [128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20];

impl CostModel {
    /// The model that comes nearest to `observations`.
    ///
    /// Nearest in the ratios of times, since a choice between two ways is one: least squares, in
    /// which large residuals count by their size (P. J. Huber, "Robust Estimation of a Location
    /// Parameter", Annals of Mathematical Statistics 35, 1964). What the observations do not tell
    /// stays near `prior`, which can be [`CostModel::default_for`] the kind of target: the cost of
    /// the ninth `iovec` needs lists on both sides of it, and copying beyond the caches needs lists
    /// that are larger than those. No number is negative.
    ///
    /// # Examples
    ///
    /// ```
    /// use vectored::{CostModel, Observation};
    ///
    /// let machine = CostModel { large_segment_ns: 35.0, copy_byte_ns: 0.02, ..CostModel::default() };
    /// let mut observations = Vec::new();
    /// for segment_count in [2, 8, 9, 64, 512] {
    ///     for segment_bytes in [16, 128, 512, 4096] {
    ///         let bytes = segment_count as u64 * segment_bytes;
    ///         observations.push(Observation {
    ///             segment_count,
    ///             bytes,
    ///             write_ns: machine.write_ns(bytes),
    ///             writev_ns: machine.writev_ns(segment_count, bytes),
    ///             copy_then_write_ns: machine.copy_then_write_ns(segment_count, bytes),
    ///         });
    ///     }
    /// }
    /// let fitted = CostModel::fit(CostModel::default(), &observations);
    /// assert!((fitted.large_segment_ns / 35.0 - 1.0).abs() < 0.1);
    /// assert!((fitted.copy_byte_ns / 0.02 - 1.0).abs() < 0.1);
    /// ```
    #[must_use]
    pub fn fit(prior: CostModel, observations: &[Observation]) -> CostModel {
        CostModel::fit_among(&STAGING_BYTES, prior, observations)
    }

    /// As [`fit`](CostModel::fit), where the size of the staging buffer is not for the observations to
    /// find.
    pub(crate) fn fit_for_staging(prior: CostModel, observations: &[Observation]) -> CostModel {
        CostModel::fit_among(&[prior.staging_bytes as u64], prior, observations)
    }

    fn fit_among(
        staging_bytes: &[u64],
        prior: CostModel,
        observations: &[Observation],
    ) -> CostModel {
        let is_sane = |ns: f64| ns.is_finite() && ns > 0.0;
        let told: Vec<&Observation> = observations
            .iter()
            .filter(|o| is_sane(o.write_ns) && is_sane(o.writev_ns))
            .filter(|o| is_sane(o.copy_then_write_ns) && o.segment_count > 0)
            .collect();
        let ([call_ns, byte_ns], _) = least_squares(
            [prior.call_ns, prior.byte_ns],
            told.iter().map(|o| Row {
                factors: [1.0, o.bytes as f64],
                value: o.write_ns,
                scale: o.write_ns,
            }),
        );
        let (
            [
                gather_call_ns,
                iovec_step_ns,
                segment_ns,
                large_segment_ns,
                page_ends,
            ],
            _,
        ) = least_squares(
            [
                prior.gather_call_ns,
                prior.iovec_step_ns,
                prior.segment_ns,
                prior.large_segment_ns,
                prior.page_end_ns / USUAL_PAGE_END_NS,
            ],
            told.iter().map(|o| {
                let n = o.segment_count as f64;
                let has_step = has_iovec_step(o.segment_count);
                let (small, large) = if is_large(o) { (0.0, n) } else { (n, 0.0) };
                let spared = page_ends(o.segment_count, o.bytes) as f64;
                Row {
                    factors: [
                        1.0,
                        f64::from(u8::from(has_step)),
                        small,
                        large,
                        -spared * USUAL_PAGE_END_NS,
                    ],
                    value: o.writev_ns - o.write_ns,
                    scale: o.write_ns,
                }
            }),
        );
        let copying = Copying::fit(staging_bytes, prior, &told);
        CostModel {
            call_ns,
            gather_call_ns,
            segment_ns,
            large_segment_ns,
            iovec_step_ns,
            page_end_ns: page_ends * USUAL_PAGE_END_NS,
            byte_ns,
            copy_segment_ns: copying.segment_ns,
            copy_byte_ns: copying.byte_ns,
            copy_byte_uncached_ns: copying.byte_uncached_ns,
            staging_bytes: copying.staging_bytes as usize,
            copy_thresholds: CopyThresholds::NONE,
            chunk_policy: prior.chunk_policy,
        }
    }
}

fn is_large(observation: &Observation) -> bool {
    let large_bytes = (observation.segment_count as u64).saturating_mul(LARGE_SEGMENT_BYTES as u64);
    observation.bytes >= large_bytes
}

/// What copying costs.
struct Copying {
    segment_ns: f64,
    byte_ns: f64,
    byte_uncached_ns: f64,
    staging_bytes: u64,
}

impl Copying {
    /// Tries every size of the staging buffer that the observations can tell from others, and keeps
    /// the best; of equal ones the smallest, which promises least.
    fn fit(among: &[u64], prior: CostModel, told: &[&Observation]) -> Copying {
        let largest = told.iter().map(|o| o.bytes).max().unwrap_or(0);
        let mut best: Option<(f64, Copying)> = None;
        for &staging_bytes in among {
            if largest <= staging_bytes {
                break;
            }
            let (copying, loss) = Copying::fit_with(prior, told, staging_bytes);
            // Where it is not dearer beyond, that is no border.
            let is_border = copying.byte_uncached_ns > copying.byte_ns;
            let is_better = best.as_ref().is_none_or(|(least, _)| loss < 0.999 * least);
            if is_border && is_better {
                best = Some((loss, copying));
            }
        }
        let (_, copying) = best.unwrap_or_else(|| {
            // All the lists lie on one side: nothing is known of the other.
            let staging_bytes = largest.max(prior.staging_bytes as u64);
            let (copying, loss) = Copying::fit_with(prior, told, staging_bytes);
            let dearer = match prior.copy_byte_ns > 0.0 {
                true => prior.copy_byte_uncached_ns / prior.copy_byte_ns,
                false => 1.0,
            };
            let byte_uncached_ns = copying.byte_ns * dearer.clamp(1.0, 10.0);
            let staging_bytes = prior.staging_bytes as u64;
            (
                loss,
                Copying {
                    byte_uncached_ns,
                    staging_bytes,
                    ..copying
                },
            )
        });
        copying
    }

    fn fit_with(prior: CostModel, told: &[&Observation], staging_bytes: u64) -> (Copying, f64) {
        let ([segment_ns, byte_ns, byte_uncached_ns], loss) = least_squares(
            [
                prior.copy_segment_ns,
                prior.copy_byte_ns,
                prior.copy_byte_uncached_ns,
            ],
            told.iter().map(|o| {
                let bytes = o.bytes as f64;
                let (cached, uncached) = match o.bytes > staging_bytes {
                    true => (0.0, bytes),
                    false => (bytes, 0.0),
                };
                Row {
                    factors: [o.segment_count as f64, cached, uncached],
                    value: o.copy_then_write_ns - o.write_ns,
                    scale: o.write_ns,
                }
            }),
        );
        let copying = Copying {
            segment_ns,
            byte_ns,
            byte_uncached_ns,
            staging_bytes,
        };
        (copying, loss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn observe(machine: &CostModel, noise: impl Fn(usize) -> f64) -> Vec<Observation> {
        let mut observations = Vec::new();
        for segment_count in [2, 8, 9, 16, 64, 1000] {
            for segment_bytes in [16, 64, 200, 256, 1000, 1024, 4096] {
                let bytes = segment_count as u64 * segment_bytes;
                let noise = |ns: f64, who: usize| ns * noise(3 * observations.len() + who);
                let observation = Observation {
                    segment_count,
                    bytes,
                    write_ns: noise(machine.write_ns(bytes), 0),
                    writev_ns: noise(machine.writev_ns(segment_count, bytes), 1),
                    copy_then_write_ns: noise(machine.copy_then_write_ns(segment_count, bytes), 2),
                };
                observations.push(observation);
            }
        }
        observations
    }

    fn numbers(model: &CostModel) -> [f64; 10] {
        [
            model.call_ns,
            model.gather_call_ns,
            model.segment_ns,
            model.large_segment_ns,
            model.iovec_step_ns,
            model.page_end_ns,
            model.byte_ns,
            model.copy_segment_ns,
            model.copy_byte_ns,
            model.copy_byte_uncached_ns,
        ]
    }

    proptest! {
        #[test]
        fn any_machine_is_found_again(
            call_ns in 100.0..1000.0,
            gather_call_ns in 30.0..150.0,
            segment_ns in 10.0..60.0,
            large_segment_ns in 10.0..200.0,
            iovec_step_ns in 30.0..200.0,
            spared in 0.2..0.9,
            byte_ns in 0.02..0.4,
            copy_segment_ns in 1.0..8.0,
            copy_byte_ns in 0.02..0.06,
            dearer in 1.5..4.0,
            staging in 2_usize..5,
        ) {
            let machine = CostModel {
                call_ns, gather_call_ns, segment_ns, large_segment_ns, iovec_step_ns, byte_ns,
                page_end_ns: spared * large_segment_ns,
                copy_segment_ns, copy_byte_ns,
                copy_byte_uncached_ns: copy_byte_ns * dearer,
                staging_bytes: STAGING_BYTES[staging - 1] as usize,
                copy_thresholds: CopyThresholds::NONE,
                chunk_policy: None,
            };
            let fitted = CostModel::fit(CostModel::default(), &observe(&machine, |_| 1.0));
            for (found, true_one) in std::iter::zip(numbers(&fitted), numbers(&machine)) {
                let error = (found / true_one - 1.0).abs();
                prop_assert!(error < 0.1, "{fitted:?} for {machine:?}");
            }
            // Where the buffer is said, copying is fitted for that one.
            let prior = CostModel { staging_bytes: machine.staging_bytes, ..CostModel::default() };
            let said = CostModel::fit_for_staging(prior, &observe(&machine, |_| 1.0));
            prop_assert_eq!(said.staging_bytes, machine.staging_bytes);
            let other = CostModel { staging_bytes: 1 << 30, ..prior };
            let said = CostModel::fit_for_staging(other, &observe(&machine, |_| 1.0));
            prop_assert_eq!(said.staging_bytes, 1 << 30);
            // As well as these lists can tell: none is between them.
            let between = |bytes: u64| (bytes > fitted.staging_bytes as u64) != (bytes > machine.staging_bytes as u64);
            prop_assert!(!observe(&machine, |_| 1.0).iter().any(|o| between(o.bytes)));
        }

        #[test]
        fn nothing_is_negative_or_endless_whatever_was_measured(
            times in prop::collection::vec(
                (1_usize..3000, 1_u64..1_000_000, any::<f64>(), any::<f64>(), -10.0..1e9), 0..20,
            ),
        ) {
            let observations: Vec<Observation> = times
                .into_iter()
                .map(|(segment_count, bytes, write_ns, writev_ns, copy_then_write_ns)| Observation {
                    segment_count, bytes, write_ns, writev_ns, copy_then_write_ns,
                })
                .filter(|o| o.write_ns < 1e12 && o.write_ns > 1.0 && o.writev_ns < 1e12)
                .collect();
            let fitted = CostModel::fit(CostModel::default(), &observations);
            for number in numbers(&fitted) {
                prop_assert!(number >= 0.0 && number.is_finite(), "{fitted:?}");
            }
        }
    }

    #[test]
    fn lists_that_no_machine_has_give_numbers_all_the_same() {
        let odd = |segment_count, bytes, ns| Observation {
            segment_count,
            bytes,
            write_ns: ns,
            writev_ns: ns,
            copy_then_write_ns: 2.0 * ns,
        };
        let free_copies = CostModel {
            copy_byte_ns: 0.0,
            copy_byte_uncached_ns: 0.0,
            ..CostModel::default()
        };
        for prior in [CostModel::default(), free_copies] {
            for observations in [
                vec![],
                vec![odd(usize::MAX, u64::MAX, 1.0)],
                vec![odd(2, u64::MAX, 1e-6), odd(3, u64::MAX / 3, 1e-6)],
                vec![odd(usize::MAX, 1, 1e300), odd(1, u64::MAX, 1e-300)],
            ] {
                let fitted = CostModel::fit(prior, &observations);
                for number in numbers(&fitted) {
                    assert!(number >= 0.0 && number.is_finite(), "{fitted:?}");
                }
            }
        }
    }

    #[test]
    fn nothing_measured_leaves_the_prior() {
        let prior = CostModel::default_for(crate::TargetKind::Pipe);
        let fitted = CostModel::fit(prior, &[]);
        for (found, before) in std::iter::zip(numbers(&fitted), numbers(&prior)) {
            assert!((found - before).abs() <= 1e-9 * before, "{fitted:?}");
        }
        assert_eq!(fitted.staging_bytes, prior.staging_bytes);
    }

    #[test]
    fn measurements_that_were_disturbed_bend_little() {
        let machine = CostModel::default();
        let quiet = CostModel::fit(machine, &observe(&machine, |_| 1.0));
        let disturbed = |index: usize| if index % 20 == 7 { 3.0 } else { 1.0 };
        let fitted = CostModel::fit(machine, &observe(&machine, disturbed));
        let border = |model: &CostModel| model.copy_below_bytes(64) as f64;
        assert!(
            (border(&fitted) / border(&quiet) - 1.0).abs() < 0.2,
            "{fitted:?}"
        );
    }
}
