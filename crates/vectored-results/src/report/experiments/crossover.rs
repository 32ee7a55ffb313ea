//! Crossovers: the sizes at which the faster of two techniques changes.

use crate::model::{ExperimentCrossover, ExperimentRow, Measure, Ratio};
use vectored_report::sort;

/// The crossovers in `ratios`, which all are of one technique over another, for several sizes.
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
