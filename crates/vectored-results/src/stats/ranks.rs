//! The figures of the ranks of a cluster.

use serde::{Deserialize, Serialize};

use crate::model::{Cell, Rank, RankFigures, STRAGGLER, TechniqueResult};
use crate::stats::summary::{hundredths, median, ten_thousandths};

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankSamples {
    pub samples: u64,
    /// The number of samples in which the rank was the last to end.
    pub last: u64,
    pub median_ns: f64,
    pub min_ns: f64,
}

/// The figures of all ranks. `slowest_ns` is the time of the slowest rank, as the median over the samples. `None` unless each
/// rank has samples.
pub fn rank_figures(
    ranks: &[RankSamples],
    slowest_ns: f64,
    list_bytes: u64,
) -> Option<RankFigures> {
    if ranks.is_empty() || ranks.iter().any(|rank| rank.samples == 0) {
        return None;
    }
    let medians: Vec<f64> = ranks.iter().map(|rank| rank.median_ns).collect();
    let limit_ns = STRAGGLER * median(&medians)?;
    let calls_per_s = hundredths(ranks.len() as f64 * 1e9 / slowest_ns);
    let share = |rank: &RankSamples| ten_thousandths(rank.last as f64 / rank.samples as f64);
    let numbers = 0_u32..;
    Some(RankFigures {
        rank_median_ns: medians.iter().copied().map(hundredths).collect(),
        rank_min_ns: ranks.iter().map(|rank| hundredths(rank.min_ns)).collect(),
        rank_last_share: ranks.iter().map(share).collect(),
        calls_per_s,
        bytes_per_s: (calls_per_s * list_bytes as f64).round(),
        stragglers: std::iter::zip(numbers, &medians)
            .filter(|(_, ns)| **ns > limit_ns)
            .map(|(rank, _)| rank)
            .collect(),
    })
}

pub fn judge_ranks(ranks: &mut [Rank], cells: &[&Cell]) {
    let techniques = cells.iter().flat_map(|cell| &cell.techniques);
    let of_all: Vec<(&TechniqueResult, &RankFigures, f64)> = techniques
        .filter_map(|technique| {
            // A rank without other ranks is neither slower than others nor the last.
            let figures = technique.ranks.as_ref();
            let figures = figures.filter(|figures| figures.rank_median_ns.len() > 1)?;
            Some((technique, figures, median(&figures.rank_median_ns)?))
        })
        .collect();
    for rank in ranks {
        let index = rank.rank as usize;
        let (mut slowdowns, mut last, mut samples) = (Vec::new(), 0.0, 0.0);
        (rank.straggles, rank.figures) = (0, 0);
        for (technique, figures, typical_ns) in &of_all {
            let own = figures
                .rank_median_ns
                .get(index)
                .zip(figures.rank_last_share.get(index));
            let Some((own_ns, share)) = own else {
                continue;
            };
            slowdowns.push(own_ns / typical_ns);
            let rounds = technique.samples_ns.iter().flatten().count() as f64;
            last += share * rounds;
            samples += rounds;
            rank.figures += 1;
            rank.straggles += u32::from(figures.stragglers.contains(&rank.rank));
        }
        rank.slowdown = median(&slowdowns).map(ten_thousandths);
        rank.last_share = (samples > 0.0).then(|| ten_thousandths(last / samples));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(median_ns: f64, last: u64) -> RankSamples {
        RankSamples {
            samples: 10,
            last,
            median_ns,
            min_ns: median_ns / 2.0,
        }
    }

    #[test]
    fn a_rank_far_above_the_median_rank_is_a_straggler() {
        let ranks = [
            of(100.0, 1),
            of(151.0, 2),
            of(90.0, 0),
            of(160.0, 7),
            of(100.0, 0),
        ];
        let figures = rank_figures(&ranks, 200.0, 10).unwrap();
        assert_eq!(figures.stragglers, [1, 3]);
        assert_eq!(figures.rank_last_share, [0.1, 0.2, 0.0, 0.7, 0.0]);
        assert_eq!(figures.rank_min_ns[0], 50.0);
        // Five calls each 200 ns, of 10 bytes.
        assert_eq!((figures.calls_per_s, figures.bytes_per_s), (2.5e7, 2.5e8));
    }

    #[test]
    fn without_samples_of_each_rank_there_are_no_figures() {
        assert_eq!(rank_figures(&[], 1.0, 1), None);
        let ranks = [of(1.0, 0), RankSamples::default()];
        assert_eq!(rank_figures(&ranks, 1.0, 1), None);
    }
}
