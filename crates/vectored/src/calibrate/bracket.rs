//! Where two ways of writing a list take equally long: a search over sizes, by any measurement.

use std::io;
use std::ops::RangeInclusive;

/// Sizes that are measured for a border, at most.
const MAX_STEPS: u32 = 11;

/// So many are usual.
pub(super) const USUAL_STEPS: u32 = 7;

/// So many of them for the first crossing that is found.
const STEPS_TO_A_CROSSING: u32 = 6;

/// So far above a crossing there may be another: what the kernel copies from 256 bytes on it copies by
/// another instruction, and on ext4 gathering wins from 180 to 300 bytes and loses again above.
const BEYOND: usize = 5;

/// Where copying wins there by so much, it is no noise.
const CLEAR: f64 = 0.04;

/// Nearer than this both ways are as good: there the search ends.
const NEAR: f64 = 0.02;

/// A bracket of this width holds no size worth measuring.
const NARROW: f64 = 1.06;

/// A size that was measured, and the logarithm of copying's time ÷ gathering's.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) bytes: usize,
    pub(super) log: f64,
}

/// What a search comes to, in bytes a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Up to this copying is not slower.
    Border(usize),
    /// Copying was faster even here, the largest that was tried.
    AtLeast(usize),
    /// No size could be tried.
    Nothing,
}

/// Looks for the size from `least` to `most` at which `ratio` (of copying's time to gathering's)
/// crosses 1, beginning at `start`.
///
/// Doubles or halves the size, and goes further each time, until it has crossed; then narrows the
/// bracket down. Both on a logarithmic axis. If copying wins again at five times the size that it found, it
/// goes on from there. `ratio` may answer `None` for a size that the target does not take.
///
/// What it comes to is for [`Curve`](super::isotonic::Curve) to say, by all that was measured.
pub(super) fn search(
    start: usize,
    least: usize,
    most: usize,
    mut ratio: impl FnMut(usize) -> io::Result<Option<f64>>,
) -> io::Result<()> {
    if most < least {
        return Ok(());
    }
    let found = crossing_from(start, None, (least, most), STEPS_TO_A_CROSSING, &mut ratio)?;
    let Found::Border(border) = found else {
        return Ok(());
    };
    let beyond = BEYOND * border.max(least);
    if beyond <= most
        && let Some(log) = ratio(beyond)?.map(f64::ln)
        && log < -CLEAR
    {
        let copied = Step { bytes: beyond, log };
        let start = (2 * beyond).min(most);
        let steps = MAX_STEPS - STEPS_TO_A_CROSSING - 1;
        crossing_from(start, Some(copied), (beyond, most), steps, &mut ratio)?;
    }
    Ok(())
}

/// The same with one crossing, which is above `copied` if that is known.
fn crossing_from(
    start: usize,
    mut copied: Option<Step>,
    (least, mut most): (usize, usize),
    steps: u32,
    mut ratio: impl FnMut(usize) -> io::Result<Option<f64>>,
) -> io::Result<Found> {
    let mut gathered: Option<Step> = None;
    let mut bytes = start.clamp(least, most);
    let mut leap = 1;
    for _ in 0..steps {
        let Some(ratio) = ratio(bytes)? else {
            most = bytes * 2 / 3;
            if most < least || copied.is_some_and(|step| most <= step.bytes) {
                break;
            }
            bytes = most;
            continue;
        };
        let log = ratio.ln();
        if log.abs() < NEAR {
            return Ok(Found::Border(bytes));
        }
        let step = Some(Step { bytes, log });
        if log < 0.0 {
            copied = step;
        } else {
            gathered = step;
        }
        leap *= 2;
        bytes = match (copied, gathered) {
            (Some(low), Some(high)) if high.bytes as f64 <= NARROW * low.bytes as f64 => break,
            (Some(low), Some(high)) => crossing(low, high, 0.2..=0.8),
            (Some(low), None) if low.bytes >= most => break,
            (Some(low), None) => (leap * low.bytes).min(most),
            (None, Some(high)) if high.bytes <= least => break,
            (None, _) => (bytes / leap).max(least),
        };
    }
    Ok(match (copied, gathered) {
        (Some(low), Some(high)) => Found::Border(crossing(low, high, 0.0..=1.0)),
        (Some(low), None) => Found::AtLeast(low.bytes),
        (None, Some(high)) => Found::Border(high.bytes - 1),
        (None, None) => Found::Nothing,
    })
}

/// Where a line through both crosses 0, on logarithmic axes, but only so far from `low` on the way to
/// `high`.
pub(super) fn crossing(low: Step, high: Step, way: RangeInclusive<f64>) -> usize {
    let crosses = low.log / (low.log - high.log);
    let way = crosses.clamp(*way.start(), *way.end());
    let bytes = low.bytes as f64 * (high.bytes as f64 / low.bytes as f64).powf(way);
    (bytes.round() as usize).clamp(low.bytes, high.bytes)
}

#[cfg(test)]
mod tests {
    use super::super::isotonic::Curve;
    use super::*;
    use proptest::prelude::*;

    /// A machine with one border: the ratio rises with the size, and is 1 there.
    fn ratio(border: f64, steepness: f64) -> impl Fn(usize) -> f64 {
        move |bytes| (bytes as f64 / border).powf(steepness)
    }

    /// What a search comes to, and the sizes that it measured.
    fn found(
        start: usize,
        least: usize,
        most: usize,
        mut ratio: impl FnMut(usize) -> Option<f64>,
    ) -> (Found, Vec<usize>) {
        let (mut curve, mut measured) = (Curve::default(), Vec::new());
        let searched = search(start, least, most, |bytes| {
            assert!((least..=most).contains(&bytes), "{bytes}");
            measured.push(bytes);
            let ratio = ratio(bytes);
            if let Some(ratio) = ratio {
                let log = ratio.ln();
                curve.add(Step { bytes, log }, 1);
            }
            Ok(ratio)
        });
        searched.unwrap();
        (curve.border(), measured)
    }

    proptest! {
        #[test]
        fn choosing_by_what_is_found_costs_little(
            border in 40.0..15_000.0_f64, steepness in 0.05..1.0_f64, start in 1..40_000_usize,
        ) {
            let ratio = ratio(border, steepness);
            let chosen = match found(start, 32, 16_384, |bytes| Some(ratio(bytes))).0 {
                Found::Border(bytes) | Found::AtLeast(bytes) => bytes,
                Found::Nothing => panic!("every size can be tried"),
            };
            // Between the border and what was found the wrong way is taken: at worst by this factor.
            prop_assert!(ratio(chosen).ln().abs() < 0.02, "{} for {}", chosen, border);
        }

        #[test]
        fn only_sizes_within_bounds_are_measured_and_few(
            ratios in prop::collection::vec(prop::option::weighted(0.8, 0.01..100.0_f64), 11),
            start in 0..40_000_usize, least in 1..100_usize, most in 1..20_000_usize,
        ) {
            let mut answers = ratios.into_iter();
            let answer = |_| answers.next().expect("eleven steps at most");
            let (_, measured) = found(start, least, most, answer);
            prop_assert_eq!(measured.is_empty(), most < least);
        }
    }

    #[test]
    fn a_start_near_the_border_takes_one_measurement_and_one_beyond_it() {
        let (_, measured) = found(800, 32, 16_384, |bytes| Some(ratio(790.0, 0.3)(bytes)));
        assert_eq!(measured, [800, 4000]);
    }

    #[test]
    fn of_two_crossings_the_higher_one_is_found() {
        // As on ext4, where gathering is a little faster around 256 bytes.
        let ratio = |bytes: usize| match bytes {
            ..180 => 0.97,
            180..350 => 1.03,
            350..3000 => 0.87,
            _ => 1.1,
        };
        for start in [32, 150, 200, 300, 700, 2500, 5000, 16_384] {
            let (border, measured) = found(start, 32, 16_384, |bytes| Some(ratio(bytes)));
            let Found::Border(bytes) = border else {
                panic!("{border:?} from {start}");
            };
            assert!(
                (1500..4200).contains(&bytes),
                "{bytes} from {start}: {measured:?}"
            );
        }
    }

    #[test]
    fn where_one_way_always_wins_the_end_is_found() {
        let always = |ratio: f64| found(500, 32, 1024, |_| Some(ratio)).0;
        assert_eq!(always(0.5), Found::AtLeast(1024));
        assert_eq!(always(2.0), Found::Border(31));
    }

    #[test]
    fn sizes_that_the_target_does_not_take_bound_the_search() {
        let taken = |most: usize| move |bytes| (bytes <= most).then_some(ratio(5000.0, 0.5)(bytes));
        let (border, _) = found(500, 32, 16_384, taken(900));
        assert!(matches!(border, Found::AtLeast(500..=900)), "{border:?}");
        assert_eq!(found(500, 400, 16_384, taken(0)).0, Found::Nothing);
        assert_eq!(found(500, 64, 63, taken(0)), (Found::Nothing, Vec::new()));
    }

    #[test]
    fn an_error_ends_the_search() {
        let failed = search(500, 32, 1024, |_| Err(io::ErrorKind::StorageFull.into()));
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
