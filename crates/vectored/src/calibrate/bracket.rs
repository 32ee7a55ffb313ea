//! The search for the segment length at which copying and gathering take equally long.

use std::io;
use std::ops::RangeInclusive;

/// The most sizes that a search measures.
const MAX_STEPS: u32 = 11;

/// The sizes that a search typically measures.
pub(super) const TYPICAL_STEPS: u32 = 7;

/// The most sizes that are measured for the first crossing.
const FIRST_CROSSING_STEPS: u32 = 6;

/// A second crossing is looked for at this multiple of the first. There may be one, since the kernel copies 256 bytes or
/// more by another instruction: on ext4 gathering is faster from 180 to 300 bytes, and slower again above.
const SECOND_CROSSING_FACTOR: usize = 5;

/// Copying counts as faster there from this logarithm of the ratio on: less may be noise.
const CLEAR_LOG_RATIO: f64 = 0.04;

/// The search ends at a size at which the logarithm of the ratio is less than this.
const TIE_LOG_RATIO: f64 = 0.02;

/// The search ends when the ends of the bracket differ by at most this factor.
const NARROW_BRACKET: f64 = 1.06;

/// A measured segment length, and the logarithm of copying's time ÷ gathering's.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    pub(super) bytes: usize,
    pub(super) log_ratio: f64,
}

/// The measured crossover: the segment length, in bytes, at which copying and gathering take equally long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crossover {
    /// Up to this length copying is not slower.
    At(usize),
    /// Copying was faster even at this length, the largest that was measured.
    AtLeast(usize),
    /// No length could be measured.
    Unknown,
}

/// Measures sizes from `min` to `max` to find where `ratio`, copying's time ÷ gathering's, crosses 1, beginning at
/// `start`.
///
/// Doubles or halves the size, by a larger factor each time, until the ratio has crossed 1, then narrows the
/// bracket, all on a logarithmic axis. If copying is faster again at [`SECOND_CROSSING_FACTOR`] times the crossing, it
/// continues from there. `ratio` returns `None` for a size that the target does not take.
///
/// The caller collects the ratios in a [`Curve`](super::isotonic::Curve), which computes the crossover from all of them.
pub(super) fn search(
    start: usize,
    min: usize,
    max: usize,
    mut ratio: impl FnMut(usize) -> io::Result<Option<f64>>,
) -> io::Result<()> {
    if max < min {
        return Ok(());
    }
    let found = crossing_from(start, None, (min, max), FIRST_CROSSING_STEPS, &mut ratio)?;
    let Crossover::At(first) = found else {
        return Ok(());
    };
    let bytes = SECOND_CROSSING_FACTOR * first.max(min);
    if bytes > max {
        return Ok(());
    }
    let log_ratio = ratio(bytes)?.map(f64::ln);
    if let Some(log_ratio) = log_ratio.filter(|ratio| *ratio < -CLEAR_LOG_RATIO) {
        let copied = Sample { bytes, log_ratio };
        let start = (2 * bytes).min(max);
        let steps = MAX_STEPS - FIRST_CROSSING_STEPS - 1;
        crossing_from(start, Some(copied), (bytes, max), steps, &mut ratio)?;
    }
    Ok(())
}

/// Searches for one crossing, above `copied` if that is given.
fn crossing_from(
    start: usize,
    mut copied: Option<Sample>,
    (min, mut max): (usize, usize),
    steps: u32,
    mut ratio: impl FnMut(usize) -> io::Result<Option<f64>>,
) -> io::Result<Crossover> {
    let mut gathered: Option<Sample> = None;
    let mut bytes = start.clamp(min, max);
    let mut factor = 1;
    for _ in 0..steps {
        let Some(ratio) = ratio(bytes)? else {
            max = bytes * 2 / 3;
            if max < min || copied.is_some_and(|sample| max <= sample.bytes) {
                break;
            }
            bytes = max;
            continue;
        };
        let log_ratio = ratio.ln();
        if log_ratio.abs() < TIE_LOG_RATIO {
            return Ok(Crossover::At(bytes));
        }
        let sample = Some(Sample { bytes, log_ratio });
        if log_ratio < 0.0 {
            copied = sample;
        } else {
            gathered = sample;
        }
        factor *= 2;
        bytes = match (copied, gathered) {
            (Some(low), Some(high)) if high.bytes as f64 <= NARROW_BRACKET * low.bytes as f64 => {
                break;
            }
            (Some(low), Some(high)) => crossing(low, high, 0.2..=0.8),
            (Some(low), None) if low.bytes >= max => break,
            (Some(low), None) => (factor * low.bytes).min(max),
            (None, Some(high)) if high.bytes <= min => break,
            (None, _) => (bytes / factor).max(min),
        };
    }
    Ok(match (copied, gathered) {
        (Some(low), Some(high)) => Crossover::At(crossing(low, high, 0.0..=1.0)),
        (Some(low), None) => Crossover::AtLeast(low.bytes),
        (None, Some(high)) => Crossover::At(high.bytes - 1),
        (None, None) => Crossover::Unknown,
    })
}

/// The size at which a line through both samples crosses 0, on logarithmic axes. Its position between `low` (0) and
/// `high` (1) is clamped to `range`.
pub(super) fn crossing(low: Sample, high: Sample, range: RangeInclusive<f64>) -> usize {
    let crosses = low.log_ratio / (low.log_ratio - high.log_ratio);
    let share = crosses.clamp(*range.start(), *range.end());
    let bytes = low.bytes as f64 * (high.bytes as f64 / low.bytes as f64).powf(share);
    (bytes.round() as usize).clamp(low.bytes, high.bytes)
}

#[cfg(test)]
mod tests {
    use super::super::isotonic::Curve;
    use super::*;
    use proptest::prelude::*;

    /// A machine with one crossover: the ratio rises with the size, and is 1 there.
    fn ratio(crossover: f64, steepness: f64) -> impl Fn(usize) -> f64 {
        move |bytes| (bytes as f64 / crossover).powf(steepness)
    }

    /// The crossover that a search finds, and the sizes that it measured.
    fn search_result(
        start: usize,
        min: usize,
        max: usize,
        mut ratio: impl FnMut(usize) -> Option<f64>,
    ) -> (Crossover, Vec<usize>) {
        let (mut curve, mut measured) = (Curve::default(), Vec::new());
        let searched = search(start, min, max, |bytes| {
            assert!((min..=max).contains(&bytes), "{bytes}");
            measured.push(bytes);
            let ratio = ratio(bytes);
            if let Some(ratio) = ratio {
                let log_ratio = ratio.ln();
                curve.add(Sample { bytes, log_ratio }, 1);
            }
            Ok(ratio)
        });
        searched.unwrap();
        (curve.crossover(), measured)
    }

    proptest! {
        #[test]
        fn deciding_by_the_crossover_found_costs_little(
            crossover in 40.0..15_000.0_f64, steepness in 0.05..1.0_f64, start in 1..40_000_usize,
        ) {
            let ratio = ratio(crossover, steepness);
            let chosen = match search_result(start, 32, 16_384, |bytes| Some(ratio(bytes))).0 {
                Crossover::At(bytes) | Crossover::AtLeast(bytes) => bytes,
                Crossover::Unknown => panic!("every size can be tried"),
            };
            // Between the true crossover and the one found, the slower technique is chosen, by at most this factor.
            prop_assert!(ratio(chosen).ln().abs() < 0.02, "{} for {}", chosen, crossover);
        }

        #[test]
        fn at_most_eleven_sizes_are_measured_all_within_bounds(
            ratios in prop::collection::vec(prop::option::weighted(0.8, 0.01..100.0_f64), 11),
            start in 0..40_000_usize, min in 1..100_usize, max in 1..20_000_usize,
        ) {
            let mut answers = ratios.into_iter();
            let answer = |_| answers.next().expect("eleven steps at most");
            let (_, measured) = search_result(start, min, max, answer);
            prop_assert_eq!(measured.is_empty(), max < min);
        }
    }

    #[test]
    fn a_start_near_the_crossover_takes_one_measurement_and_one_above_it() {
        let (_, measured) = search_result(800, 32, 16_384, |bytes| Some(ratio(790.0, 0.3)(bytes)));
        assert_eq!(measured, [800, 4000]);
    }

    #[test]
    fn of_two_crossings_the_higher_one_is_found() {
        // On ext4, gathering is a little faster around 256 bytes.
        let ratio = |bytes: usize| match bytes {
            ..180 => 0.97,
            180..350 => 1.03,
            350..3000 => 0.87,
            _ => 1.1,
        };
        for start in [32, 150, 200, 300, 700, 2500, 5000, 16_384] {
            let (crossover, measured) =
                search_result(start, 32, 16_384, |bytes| Some(ratio(bytes)));
            let Crossover::At(bytes) = crossover else {
                panic!("{crossover:?} from {start}");
            };
            assert!(
                (1500..4200).contains(&bytes),
                "{bytes} from {start}: {measured:?}"
            );
        }
    }

    #[test]
    fn if_one_technique_is_always_faster_the_end_is_found() {
        let always = |ratio: f64| search_result(500, 32, 1024, |_| Some(ratio)).0;
        assert_eq!(always(0.5), Crossover::AtLeast(1024));
        assert_eq!(always(2.0), Crossover::At(31));
    }

    #[test]
    fn sizes_that_the_target_does_not_take_bound_the_search() {
        let taken = |max: usize| move |bytes| (bytes <= max).then_some(ratio(5000.0, 0.5)(bytes));
        let (crossover, _) = search_result(500, 32, 16_384, taken(900));
        assert!(
            matches!(crossover, Crossover::AtLeast(500..=900)),
            "{crossover:?}"
        );
        assert_eq!(
            search_result(500, 400, 16_384, taken(0)).0,
            Crossover::Unknown
        );
        assert_eq!(
            search_result(500, 64, 63, taken(0)),
            (Crossover::Unknown, Vec::new())
        );
    }

    #[test]
    fn an_error_ends_the_search() {
        let failed = search(500, 32, 1024, |_| Err(io::ErrorKind::StorageFull.into()));
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
