//! Ratios of two rows, repeat by repeat, beside the ratios of the published rows.

use vectored_results::model::{ExperimentRow, Measure, PublishedRatio, PublishedRow, Ratio};
use vectored_results::stats::median;

/// The fewest repeats whose range encloses the median with a probability of 95 %.
const MIN_REPEATS: usize = 6;

/// The ratio `rows[of]` ÷ `rows[over]`; `None` if no repeat has both.
pub fn ratio(
    rows: &[ExperimentRow],
    (of, over): (usize, usize),
    measure: Measure,
    published: &[PublishedRow],
) -> Option<Ratio> {
    let samples = |row: usize| rows[row].samples(measure);
    let logs: Vec<f64> = std::iter::zip(samples(of), samples(over))
        .filter_map(|(above, below)| Some(((*above)? / (*below)?).ln()))
        // A coarse clock may measure 0, which has no ratio.
        .filter(|log| log.is_finite())
        .collect();
    let range = |of: fn(f64, f64) -> f64| logs.iter().copied().reduce(of).map(f64::exp);
    let range = |of| range(of).filter(|_| logs.len() >= MIN_REPEATS);
    Some(Ratio {
        of,
        over,
        measure,
        repeats: logs.len(),
        ratio: median(&logs)?.exp(),
        ratio_low: range(f64::min),
        ratio_high: range(f64::max),
        published: published_ratios(&rows[of], &rows[over], measure, published),
    })
}

fn published_ratios(
    of: &ExperimentRow,
    over: &ExperimentRow,
    measure: Measure,
    published: &[PublishedRow],
) -> Vec<PublishedRatio> {
    let is_of = |row: &ExperimentRow, other: &PublishedRow| {
        // No publication used O_DIRECT.
        !row.direct
            && row.technique == other.technique
            && row.operation == other.operation
            && row.iovec_setup == other.iovec_setup
            && row.segment_count == other.segment_count
            && row.segment_bytes == other.segment_bytes
            && row.buffer_bytes == other.buffer_bytes
    };
    let time = |row: &PublishedRow| match measure {
        Measure::Cpu => row.cpu_s,
        Measure::Clock => row.clock_s,
    };
    let above = published.iter().filter(|row| is_of(of, row));
    above
        .filter_map(|above| {
            let below = published
                .iter()
                .find(|row| is_of(over, row) && row.source == above.source)?;
            let ratio = time(above)? / time(below)?;
            ratio.is_finite().then(|| PublishedRatio {
                source: above.source.clone(),
                ratio,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(technique: &str, cpu_s: &[f64]) -> ExperimentRow {
        ExperimentRow {
            technique: technique.to_owned(),
            cpu_s_samples: cpu_s.iter().copied().map(Some).collect(),
            ..ExperimentRow::default()
        }
    }

    #[test]
    fn the_interval_of_seven_repeats_is_their_range() {
        // The order has no trend.
        let above = [1.1, 1.4, 1.0, 1.3, 1.6, 1.2, 1.5];
        let rows = [row("writev", &above), row("copy-then-write", &[1.0; 7])];
        let published =
            [("writev", 3.0), ("copy-then-write", 2.0)].map(|(name, cpu_s)| PublishedRow {
                source: "book".to_owned(),
                technique: name.to_owned(),
                cpu_s: Some(cpu_s),
                ..PublishedRow::default()
            });
        let ratio = ratio(&rows, (0, 1), Measure::Cpu, &published).unwrap();
        assert!((ratio.ratio - 1.3).abs() < 1e-12);
        assert!((ratio.ratio_low.unwrap() - 1.0).abs() < 1e-12);
        assert!((ratio.ratio_high.unwrap() - 1.6).abs() < 1e-12);
        assert_eq!(ratio.published.len(), 1);
        assert_eq!(ratio.published[0].ratio, 1.5);
        assert_eq!(super::ratio(&rows, (0, 1), Measure::Clock, &[]), None);
    }

    #[test]
    fn few_repeats_have_no_interval_and_only_common_repeats_count() {
        let mut rows = [row("a", &[2.0; 7]), row("b", &[1.0; 7])];
        for repeat in [1, 2, 4, 5] {
            rows[0].cpu_s_samples[repeat] = None;
        }
        let ratio = ratio(&rows, (0, 1), Measure::Cpu, &[]).unwrap();
        assert_eq!((ratio.repeats, ratio.ratio), (3, 2.0));
        assert_eq!(ratio.ratio_low, None);
    }
}
