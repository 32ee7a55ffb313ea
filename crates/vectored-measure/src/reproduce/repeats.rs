//! Repeats: their order, and the medians of their samples.

use fastrand::Rng;
use vectored_results::model::{ExperimentName, ExperimentRow, PageCache, Reproduction, Setting};
use vectored_results::stats::median;

use crate::measure::BalancedOrder;
use crate::reproduce::published::published;

/// Repeats of every row. The smallest and the largest of seven independent
/// repeats enclose the median with a probability of 1 − 2 ÷ 2⁷, 98.4 %.
pub const REPEATS: usize = 7;

/// The order in which rows are measured, as `(repeat, row)`.
///
/// Every repeat takes the rows in another order, so that changes over time, and
/// the effects of a row on the next, are spread over all rows. `counts` has the
/// repeats of each row; the repeats of a row with fewer ones are spread over the
/// whole run.
pub fn interleaved(counts: &[usize], rng: &mut Rng) -> Vec<(usize, usize)> {
    let repeats = counts.iter().copied().max().unwrap_or(0);
    let mut orders = BalancedOrder::new(counts.len());
    let mut steps = Vec::new();
    for repeat in 0..repeats {
        let order = orders.next(rng).into_iter();
        let taking_part = order.filter(|&row| takes_part(repeat, repeats, counts[row]));
        steps.extend(taking_part.map(|row| (repeat, row)));
    }
    steps
}

/// Whether a row with `count` repeats takes part in a repeat: in the first and
/// the last one, and in others evenly between.
fn takes_part(repeat: usize, repeats: usize, count: usize) -> bool {
    match count {
        0 => false,
        1 => repeat == 0,
        _ => (0..count).any(|index| index * (repeats - 1) / (count - 1) == repeat),
    }
}

/// The times of one repeat of a row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    pub user_s: Option<f64>,
    pub system_s: Option<f64>,
    pub cpu_s: Option<f64>,
    pub clock_s: f64,
}

/// An experiment before its first sample, with room for `setting.repeats` samples of each row.
pub fn unmeasured(
    name: ExperimentName,
    setting: Setting,
    mut rows: Vec<ExperimentRow>,
) -> Reproduction {
    for row in &mut rows {
        prepare(row, setting.repeats);
    }
    Reproduction {
        name,
        reduced: false,
        complete: false,
        cache: PageCache::Hot,
        setting,
        rows,
        published: published(name),
        ratios: Vec::new(),
        crossovers: Vec::new(),
        missing: Vec::new(),
        notes: Vec::new(),
        finding: String::new(),
    }
}

/// Makes room for the samples of a row.
fn prepare(row: &mut ExperimentRow, repeats: usize) {
    for samples in [
        &mut row.user_s_samples,
        &mut row.system_s_samples,
        &mut row.cpu_s_samples,
        &mut row.clock_s_samples,
    ] {
        samples.resize(repeats, None);
    }
}

/// Records the sample of a repeat.
pub fn note(row: &mut ExperimentRow, repeat: usize, sample: Sample) {
    row.user_s_samples[repeat] = sample.user_s;
    row.system_s_samples[repeat] = sample.system_s;
    row.cpu_s_samples[repeat] = sample.cpu_s;
    row.clock_s_samples[repeat] = Some(sample.clock_s);
}

/// Fills in the medians. A time without any sample has no median, and its list of
/// samples becomes empty.
pub fn summarize(row: &mut ExperimentRow) {
    row.repeats = row.clock_s_samples.iter().flatten().count();
    for (middle, samples) in [
        (&mut row.user_s, &mut row.user_s_samples),
        (&mut row.system_s, &mut row.system_s_samples),
        (&mut row.cpu_s, &mut row.cpu_s_samples),
        (&mut row.clock_s, &mut row.clock_s_samples),
    ] {
        *middle = middle_of(samples);
        if middle.is_none() {
            samples.clear();
        }
    }
    let passes: Vec<f64> = row.pass_s_samples.iter().flatten().copied().collect();
    row.pass_median_s = median(&passes);
}

/// The median of the samples that are present.
pub fn middle_of(samples: &[Option<f64>]) -> Option<f64> {
    let sampled: Vec<f64> = samples.iter().copied().flatten().collect();
    median(&sampled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repeats_of_every_row_are_spread_over_the_run() {
        let steps = interleaved(&[7, 3, 7, 1], &mut Rng::with_seed(1));
        let repeats_of = |wanted| -> Vec<usize> {
            let of_row = steps.iter().filter(|(_, row)| *row == wanted);
            of_row.map(|(repeat, _)| *repeat).collect()
        };
        assert_eq!(repeats_of(0), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(repeats_of(1), [0, 3, 6]);
        assert_eq!(repeats_of(3), [0]);
        assert!(steps.is_sorted_by_key(|(repeat, _)| *repeat));
    }

    #[test]
    fn successive_repeats_differ_in_their_order() {
        let steps = interleaved(&[7; 5], &mut Rng::with_seed(1));
        let orders: Vec<Vec<usize>> = steps
            .chunks(5)
            .map(|repeat| repeat.iter().map(|(_, row)| *row).collect())
            .collect();
        assert!(
            orders.windows(2).all(|pair| pair[0] != pair[1]),
            "{orders:?}"
        );
    }

    #[test]
    fn medians_ignore_missing_samples() {
        let mut row = ExperimentRow::default();
        prepare(&mut row, 4);
        for (repeat, clock_s) in [(0, 3.0), (1, 9.0), (3, 1.0)] {
            let cpu_s = Some(clock_s / 2.0);
            let sample = Sample {
                cpu_s,
                clock_s,
                ..Sample::default()
            };
            note(&mut row, repeat, sample);
        }
        summarize(&mut row);
        assert_eq!(
            (row.clock_s, row.cpu_s, row.user_s),
            (Some(3.0), Some(1.5), None)
        );
        assert_eq!(row.repeats, 3);
        assert_eq!(row.clock_s_samples, [Some(3.0), Some(9.0), None, Some(1.0)]);
        assert!(row.user_s_samples.is_empty());
    }
}
