//! Fits the costs of a [`CostModel`] to measurements.

use crate::cost::CostModel;
use crate::cost::crossing::{KNOWN_WITHIN, Length, median, threshold};
use crate::cost::least_squares::{Row, least_squares};
use crate::cost::page_alignment::page_ends;
use crate::cost::prediction::{LARGE_SEGMENT_BYTES, has_iovec_step};
use crate::cost::queue_thresholds::QueueThresholds;
use crate::cost::thresholds::CopyThresholds;

/// The measured times of one list of equal segments, by technique.
///
/// This type is final: no field will be added.
///
/// Times are for the whole list, in nanoseconds. [`CostModel::fit`] ignores an observation if the time of
/// `writev(2)` or of copying is not finite and above 0. If the time of `write(2)` is missing (NaN), the
/// observation counts for the thresholds only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The number of segments in the list.
    pub segment_count: usize,
    /// The number of bytes of the whole list.
    pub bytes: u64,
    /// The time of one `write(2)` of the same number of contiguous bytes.
    pub write_ns: f64,
    /// The time of one `writev(2)` of the list.
    pub writev_ns: f64,
    /// The time of copying all segments into one buffer and of writing the buffer by `write(2)`.
    pub copy_then_write_ns: f64,
}

/// The unit in which `page_end_ns` is fitted. Some priors are 0, so the prior cannot be the unit.
const TYPICAL_PAGE_END_NS: f64 = 30.0;

const STAGING_STEP_BYTES: usize = 64 << 10;
const MAX_STAGING_BYTES: usize = 1 << 20;

impl CostModel {
    /// Fits a model to `observations`.
    ///
    /// Several observations of one list are the rounds of the list. The fit uses the medians over the rounds. If
    /// the even rounds and the odd rounds show different costs, the costs of lists and of copying come from
    /// `prior`.
    ///
    /// The fit minimises the squares of the relative errors, because decisions depend on ratios of times. Large
    /// residuals count linearly (P. J. Huber, "Robust Estimation of a Location Parameter", Annals of Mathematical
    /// Statistics 35, 1964). No cost is negative.
    ///
    /// A cost that the observations do not determine stays near the cost in `prior`. The usual prior is
    /// [`CostModel::for_target`]. For example, `iovec_step_ns` needs lists of up to 8 segments and lists of more
    /// than 8 segments. `copy_byte_uncached_ns` needs lists larger than the caches.
    ///
    /// The chunk policy and `staging_bytes` come from `prior`. If a list that is to be copied does not fit the
    /// staging buffer, `staging_bytes` grows.
    ///
    /// A [threshold](CostModel::copy_thresholds) at one of [`CopyThresholds::COUNTS`] is set only if the rounds
    /// show the threshold to within a factor of 1.3. For this precision, the observations need segments below and
    /// above the threshold. They also need at least 8 rounds, without the first round of each list. If a
    /// threshold is not set, the costs determine the threshold.
    #[must_use]
    pub fn fit(prior: CostModel, observations: &[Observation]) -> CostModel {
        let lists = lists_of(observations);
        let fitted = fit_costs(prior, &medians(&lists, |_| true));
        let halves = [0, 1].map(|half| medians(&lists, |round| round % 2 == half));
        let is_repeated = halves.iter().all(|rounds| !rounds.is_empty());
        let halves = halves.map(|rounds| fit_costs(prior, &rounds));
        let agree = CopyThresholds::MEASURED.into_iter().all(|count| {
            let [even, odd] = (halves.each_ref()).map(|half| half.copy_below_bytes(count).max(1));
            even.max(odd) as f64 <= KNOWN_WITHIN * KNOWN_WITHIN * even.min(odd) as f64
        });
        let known = CopyThresholds::MEASURED.map(|count| {
            let bytes = threshold(&lengths(&lists, count, fitted.page_end_ns))?;
            u32::try_from(bytes).ok()
        });
        let costs = if agree || !is_repeated { fitted } else { prior };
        let copy_thresholds = CopyThresholds { bytes: known };
        CostModel {
            call_ns: fitted.call_ns,
            byte_ns: fitted.byte_ns,
            staging_bytes: staging_bytes(prior.staging_bytes, &copy_thresholds),
            copy_thresholds,
            queue_thresholds: QueueThresholds::NONE,
            ..costs
        }
    }
}

/// Every list up to its measured threshold must fit.
fn staging_bytes(min: usize, thresholds: &CopyThresholds) -> usize {
    let lists = thresholds.measured().map(|(count, bytes)| {
        let bytes = (count * bytes as usize).next_multiple_of(STAGING_STEP_BYTES);
        bytes.min(MAX_STAGING_BYTES)
    });
    lists.fold(min, usize::max)
}

pub(crate) struct List<'a> {
    segment_count: usize,
    bytes: u64,
    rounds: Vec<&'a Observation>,
}

impl List<'_> {
    /// Segments that end at a page end have another threshold, so the saving at page ends is added to the time of
    /// referencing.
    fn length(&self, page_end_ns: f64) -> Length {
        let spared_ns = page_ends(self.segment_count, self.bytes) as f64 * page_end_ns;
        let log_ratio =
            |round: &&Observation| (round.copy_then_write_ns / (round.writev_ns + spared_ns)).ln();
        Length {
            segment_bytes: self.bytes as usize / self.segment_count,
            log_ratios: self.rounds.iter().map(log_ratio).collect(),
        }
    }
}

/// Skips observations without a time of copying or a time of referencing.
pub(crate) fn lists_of(observations: &[Observation]) -> Vec<List<'_>> {
    let mut lists: Vec<List<'_>> = Vec::new();
    for observation in observations {
        let &Observation {
            segment_count,
            bytes,
            ..
        } = observation;
        let times = [observation.writev_ns, observation.copy_then_write_ns];
        if segment_count == 0 || bytes == 0 || !times.into_iter().all(is_sane) {
            continue;
        }
        let is_same =
            |list: &&mut List<'_>| (list.segment_count, list.bytes) == (segment_count, bytes);
        match lists.iter_mut().find(is_same) {
            Some(list) => list.rounds.push(observation),
            None => lists.push(List {
                segment_count,
                bytes,
                rounds: vec![observation],
            }),
        }
    }
    lists
}

fn is_sane(ns: f64) -> bool {
    ns.is_finite() && ns > 0.0
}

/// Returns the medians over the rounds whose numbers are `chosen`. Each time is compared with the time of
/// `write(2)` in the same round, so that changes of the machine's speed cancel out.
fn medians(lists: &[List<'_>], chosen: impl Fn(usize) -> bool) -> Vec<Observation> {
    let of_list = |list: &List<'_>| {
        let complete = list.rounds.iter().filter(|round| is_sane(round.write_ns));
        let rounds: Vec<&Observation> = complete
            .enumerate()
            .filter_map(|(number, round)| chosen(number).then_some(*round))
            .collect();
        let over = |time: fn(&Observation) -> f64| {
            median(&rounds.iter().map(|round| time(round)).collect::<Vec<f64>>())
        };
        let write_ns = over(|round| round.write_ns);
        is_sane(write_ns).then(|| Observation {
            segment_count: list.segment_count,
            bytes: list.bytes,
            write_ns,
            writev_ns: write_ns * over(|round| round.writev_ns / round.write_ns),
            copy_then_write_ns: write_ns * over(|round| round.copy_then_write_ns / round.write_ns),
        })
    };
    lists.iter().filter_map(of_list).collect()
}

pub(crate) fn lengths(lists: &[List<'_>], segment_count: usize, page_end_ns: f64) -> Vec<Length> {
    let mut lengths: Vec<Length> = (lists.iter())
        .filter(|list| list.segment_count == segment_count)
        .filter(|list| list.bytes % segment_count as u64 == 0)
        .map(|list| list.length(page_end_ns))
        .collect();
    lengths.sort_unstable_by_key(|length| length.segment_bytes);
    lengths
}

/// The result has no `copy_thresholds`.
fn fit_costs(prior: CostModel, usable: &[Observation]) -> CostModel {
    let [call_ns, byte_ns] = least_squares(
        [prior.call_ns, prior.byte_ns],
        usable.iter().map(|o| Row {
            factors: [1.0, o.bytes as f64],
            value: o.write_ns,
            scale: o.write_ns,
        }),
    );
    let [
        gather_call_ns,
        iovec_step_ns,
        segment_ns,
        large_segment_ns,
        page_ends,
    ] = least_squares(
        [
            prior.gather_call_ns,
            prior.iovec_step_ns,
            prior.segment_ns,
            prior.large_segment_ns,
            prior.page_end_ns / TYPICAL_PAGE_END_NS,
        ],
        usable.iter().map(|o| {
            let n = o.segment_count as f64;
            let has_step = has_iovec_step(o.segment_count);
            let (small, large) = if is_large(o) { (0.0, n) } else { (n, 0.0) };
            let saved = page_ends(o.segment_count, o.bytes) as f64;
            Row {
                factors: [
                    1.0,
                    f64::from(u8::from(has_step)),
                    small,
                    large,
                    -saved * TYPICAL_PAGE_END_NS,
                ],
                value: o.writev_ns - o.write_ns,
                scale: o.write_ns,
            }
        }),
    );
    let [copy_segment_ns, copy_byte_ns, copy_byte_uncached_ns] = copying_costs(prior, usable);
    CostModel {
        call_ns,
        gather_call_ns,
        segment_ns,
        large_segment_ns,
        iovec_step_ns,
        page_end_ns: page_ends * TYPICAL_PAGE_END_NS,
        byte_ns,
        copy_segment_ns,
        copy_byte_ns,
        copy_byte_uncached_ns,
        copy_thresholds: CopyThresholds::NONE,
        ..prior
    }
}

fn is_large(observation: &Observation) -> bool {
    let large_bytes = (observation.segment_count as u64).saturating_mul(LARGE_SEGMENT_BYTES as u64);
    observation.bytes >= large_bytes
}

/// The cost of a segment, of a byte in the caches, and of a byte of a list that exceeds the staging buffer.
fn copying_costs(prior: CostModel, usable: &[Observation]) -> [f64; 3] {
    let costs = |staging_bytes: u64| {
        let priors = [
            prior.copy_segment_ns,
            prior.copy_byte_ns,
            prior.copy_byte_uncached_ns,
        ];
        let rows = usable.iter().map(|o| {
            let bytes = o.bytes as f64;
            let (cached, uncached) =
                if o.bytes > staging_bytes { (0.0, bytes) } else { (bytes, 0.0) };
            Row {
                factors: [o.segment_count as f64, cached, uncached],
                value: o.copy_then_write_ns - o.write_ns,
                scale: o.write_ns,
            }
        });
        least_squares(priors, rows)
    };
    let staging_bytes = prior.staging_bytes as u64;
    let [segment_ns, byte_ns, uncached_ns] = costs(staging_bytes);
    if uncached_ns > byte_ns && usable.iter().any(|o| o.bytes > staging_bytes) {
        return [segment_ns, byte_ns, uncached_ns];
    }
    // No list shows the uncached cost, so the ratio in `prior` gives the uncached cost.
    let [segment_ns, byte_ns, _] = costs(u64::MAX);
    let ratio = prior.copy_byte_uncached_ns / prior.copy_byte_ns;
    let ratio = if ratio.is_finite() { ratio.clamp(1.0, 10.0) } else { 1.0 };
    [segment_ns, byte_ns, byte_ns * ratio]
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
                let noise =
                    |ns: f64, technique: usize| ns * noise(3 * observations.len() + technique);
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
        fn the_costs_of_any_machine_are_recovered(
            call_ns in 100.0..1000.0,
            gather_call_ns in 30.0..150.0,
            segment_ns in 10.0..60.0,
            large_segment_ns in 10.0..200.0,
            iovec_step_ns in 30.0..200.0,
            saved in 0.2..0.9,
            byte_ns in 0.02..0.4,
            copy_segment_ns in 1.0..8.0,
            copy_byte_ns in 0.02..0.06,
            uncached_ratio in 1.5..4.0,
            staging in 2_u32..5,
        ) {
            let machine = CostModel {
                call_ns, gather_call_ns, segment_ns, large_segment_ns, iovec_step_ns, byte_ns,
                page_end_ns: saved * large_segment_ns,
                copy_segment_ns, copy_byte_ns,
                copy_byte_uncached_ns: copy_byte_ns * uncached_ratio,
                staging_bytes: 128 << 10 << staging,
                copy_thresholds: CopyThresholds::NONE,
                chunk_policy: None,
            queue_thresholds: QueueThresholds::NONE,
            };
            let prior = CostModel { staging_bytes: machine.staging_bytes, ..CostModel::default() };
            let fitted = CostModel::fit(prior, &observe(&machine, |_| 1.0));
            for (found, expected) in std::iter::zip(numbers(&fitted), numbers(&machine)) {
                let error = (found / expected - 1.0).abs();
                prop_assert!(error < 0.1, "{fitted:?} for {machine:?}");
            }
        }

        #[test]
        fn no_cost_is_negative_or_infinite_for_any_measurements(
            times in prop::collection::vec(
                (
                    prop_oneof![4 => 1_usize..3000, 1 => Just(usize::MAX)],
                    prop_oneof![4 => 1_u64..1_000_000, 1 => Just(u64::MAX), 1 => Just(1)],
                    any::<f64>(), any::<f64>(), -10.0..1e9,
                ),
                0..20,
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
    fn the_staging_buffer_holds_every_list_below_a_threshold() {
        let bytes = |thresholds: &[(usize, u32)]| {
            let mut known = CopyThresholds::NONE;
            for &(count, bytes) in thresholds {
                known.set(count, Some(bytes)).unwrap();
            }
            staging_bytes(256 << 10, &known)
        };
        assert_eq!(bytes(&[]), 256 << 10);
        assert_eq!(bytes(&[(2, 16_384), (64, 4096), (1000, 260)]), 256 << 10);
        assert_eq!(bytes(&[(256, 1500), (1000, 300)]), 384 << 10);
        assert_eq!(bytes(&[(256, 16_384)]), 1 << 20);
    }

    #[test]
    fn without_measurements_the_prior_is_returned() {
        let prior = CostModel::for_target(crate::cost::TargetKind::Pipe);
        let fitted = CostModel::fit(prior, &[]);
        for (found, before) in std::iter::zip(numbers(&fitted), numbers(&prior)) {
            assert!((found - before).abs() <= 1e-9 * before, "{fitted:?}");
        }
        assert_eq!(fitted.staging_bytes, prior.staging_bytes);
    }

    #[test]
    fn disturbed_measurements_change_the_fit_little() {
        let machine = CostModel::default();
        let quiet = CostModel::fit(machine, &observe(&machine, |_| 1.0));
        let disturbed = |index: usize| if index % 20 == 7 { 3.0 } else { 1.0 };
        let fitted = CostModel::fit(machine, &observe(&machine, disturbed));
        let threshold = |model: &CostModel| model.copy_below_bytes(64) as f64;
        assert!(
            (threshold(&fitted) / threshold(&quiet) - 1.0).abs() < 0.2,
            "{fitted:?}"
        );
    }
}
