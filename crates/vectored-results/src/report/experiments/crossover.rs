//! Crossovers: the sizes at which the faster of two techniques changes.

use crate::model::{ExperimentCrossover, ExperimentRow, Measure, Ratio};
use vectored_report::sort;

/// The crossovers in `ratios`, which all are of one technique over another, for
/// several sizes.
///
/// A crossover lies between a size at which one technique is significantly
/// faster (the interval of its ratio excludes 1) and the next size at which the
/// other is. These two sizes are its interval, since the cost may change by a
/// step anywhere between them. The estimate is where the line through the
/// medians, over the logarithm of the size, passes 1.
pub fn crossovers<'a>(
    rows: &[ExperimentRow],
    ratios: &'a [Ratio],
    measure: Measure,
) -> Vec<ExperimentCrossover> {
    let ratios = ratios.iter().filter(|ratio| ratio.measure == measure);
    let point = |ratio: &'a Ratio| Some((rows[ratio.of].key.segment_bytes? as f64, ratio));
    let mut points: Vec<(f64, &Ratio)> = ratios.filter_map(point).collect();
    sort::sort_by(&mut points, |a, b| a.0.total_cmp(&b.0));
    // The technique that is significantly faster, if one is.
    let faster = |(_, ratio): &(f64, &Ratio)| match (ratio.ratio_low, ratio.ratio_high) {
        (Some(low), _) if low > 1.0 => Some(&rows[ratio.over].key.technique),
        (_, Some(high)) if high < 1.0 => Some(&rows[ratio.of].key.technique),
        _ => None,
    };
    let significant: Vec<usize> = (0..points.len())
        .filter(|&index| faster(&points[index]).is_some())
        .collect();
    let pairs = significant.windows(2).filter_map(|pair| {
        let between = &points[pair[0]..=pair[1]];
        let (first, last) = (between.first()?, between.last()?);
        let (below, above) = (faster(first)?, faster(last)?);
        (below != above).then(|| ExperimentCrossover {
            measure,
            below: below.clone(),
            above: above.clone(),
            at_bytes: crossing(between),
            low_bytes: first.0,
            high_bytes: last.0,
        })
    });
    pairs.collect()
}

/// The size at which the logarithm of the median ratio changes its sign. If there are several, the geometric mean of the
/// first and the last.
fn crossing(points: &[(f64, &Ratio)]) -> f64 {
    let crossings: Vec<f64> = points
        .windows(2)
        .map(|pair| [0, 1].map(|end| (pair[end].0.ln(), pair[end].1.ratio.ln())))
        .filter(|[first, second]| (first.1 > 0.0) != (second.1 > 0.0))
        .map(|[first, second]| first.0 + first.1 / (first.1 - second.1) * (second.0 - first.0))
        .collect();
    // The ends differ in sign, so there is at least one.
    let ends = crossings.first().zip(crossings.last());
    let (first, last) = ends.unwrap_or((&0.0, &0.0));
    ((first + last) / 2.0).exp()
}

#[cfg(test)]
mod tests {
    use crate::model::RowKey;

    use super::*;

    /// The crossovers of pairs of rows, writev and copying, with these sizes and ratios.
    fn found(points: &[(usize, f64, f64, f64)]) -> Vec<ExperimentCrossover> {
        let rows = points.iter().flat_map(|&(bytes, ..)| {
            ["writev", "copy-then-write"].map(|technique| {
                ExperimentRow::here(RowKey {
                    technique: technique.to_owned(),
                    segment_bytes: Some(bytes),
                    ..RowKey::default()
                })
            })
        });
        let ratios = points.iter().enumerate().map(|(index, point)| Ratio {
            of: 2 * index,
            over: 2 * index + 1,
            measure: Measure::Cpu,
            repeats: 7,
            ratio: point.1,
            ratio_low: Some(point.2),
            ratio_high: Some(point.3),
            published: Vec::new(),
        });
        let (rows, ratios): (Vec<_>, Vec<_>) = (rows.collect(), ratios.collect());
        assert_eq!(crossovers(&rows, &ratios, Measure::Clock), []);
        crossovers(&rows, &ratios, Measure::Cpu)
    }

    #[test]
    fn a_crossover_lies_between_significant_sizes() {
        let found = found(&[
            (10, 2.0, 1.9, 2.1),
            (100, 1.1, 0.9, 1.2),
            (400, 1.0 / 1.1, 0.8, 1.05),
            (1000, 0.7, 0.6, 0.8),
        ]);
        let [one] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!((&*one.below, &*one.above), ("copy-then-write", "writev"));
        assert_eq!((one.low_bytes, one.high_bytes), (10.0, 1000.0));
        // The ratio at 100 B is as far above 1 as the ratio at 400 B is below: the crossover is their geometric mean.
        assert!((one.at_bytes - 200.0).abs() < 1e-9);
    }

    #[test]
    fn there_may_be_no_crossover_or_two() {
        let falling = [(10, 2.0, 1.9, 2.1), (100, 1.1, 1.05, 1.2)];
        assert_eq!(found(&falling), []);
        let twice = [
            (10, 2.0, 1.9, 2.1),
            (100, 0.5, 0.4, 0.6),
            (1000, 1.5, 1.4, 1.6),
        ];
        assert_eq!(found(&twice).len(), 2);
    }
}
