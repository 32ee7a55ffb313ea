//! The worth of a choice at the rate of a program.

use vectored_report::words::grouped;
use vectored_report::{Block, Sentence};

use crate::model::{Cell, Results, TechniqueResult};
use crate::report::measured::Group;
use crate::report::measured::maps::has_helper;
use crate::report::words::nearest_rival;

/// `At 50,000 lists a second the fastest saves 0.2 to 1.0 % of a CPU against the next best, and 61 % against the worst.`
/// `None` if no cell has a winner.
pub(super) fn sentence(group: &Group<'_>, results: &Results, rate: f64) -> Option<Block> {
    let is_alone = |cell: &&&Cell| !has_helper(cell) && cell.segment_count > 1;
    let saved = group.cells.iter().filter(is_alone).filter_map(|cell| {
        let winner = cell.technique(cell.winner?)?;
        let worth = |of: &TechniqueResult| (of.ratio_to_leader - 1.0) * winner.median_ns * 1e-9;
        let rivals = cell.techniques.iter();
        let rivals = rivals.filter(|one| results.rivals.contains(&one.name));
        let slowest = rivals.max_by(|a, b| a.ratio_to_leader.total_cmp(&b.ratio_to_leader))?;
        let nearest = nearest_rival(cell, &results.rivals)?;
        Some((worth(nearest) * rate, worth(slowest) * rate))
    });
    let (nearest, worst): (Vec<f64>, Vec<f64>) = saved.unzip();
    let text = format!(
        "At {} lists a second the fastest saves {} against the next best, and {} against the slowest.",
        grouped(rate.round() as u64),
        range(&nearest)?,
        range(&worst)?
    );
    Some(Block::Sentence(Sentence::of(group.title.as_str(), text)))
}

/// `1.0 % of a CPU`, `0.2 to 1.0 % of a CPU`, `0.5 to 2.3 CPUs`.
fn range(shares: &[f64]) -> Option<String> {
    let least = shares.iter().copied().reduce(f64::min)?;
    let most = shares.iter().copied().reduce(f64::max)?;
    let (scale, unit) = if most < 1.0 { (100.0, "% of a CPU") } else { (1.0, "CPUs") };
    let [low, high] = [least, most].map(|share| digits(share * scale));
    Some(if low == high {
        format!("{high} {unit}")
    } else {
        format!("{low} to {high} {unit}")
    })
}

/// Two digits, since more are not known: `0.02`, `1.0`, `61`.
fn digits(value: f64) -> String {
    match value {
        _ if value < 0.095 => format!("{value:.2}"),
        _ if value < 9.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Conditions, Target, TechniqueName};
    use crate::report::measured::groups;

    #[test]
    fn the_next_best_and_the_slowest_are_told_apart() {
        let ratios = [1.0, 1.1, 3.0];
        let names = ["fastest", "next", "slowest"].map(TechniqueName::new);
        let techniques = std::iter::zip(names, ratios).map(|(name, ratio_to_leader)| {
            let median_ns = 1000.0 * ratio_to_leader;
            TechniqueResult {
                name,
                median_ns,
                ratio_to_leader,
                ..TechniqueResult::default()
            }
        });
        let results = Results {
            cells: vec![Cell {
                conditions: Conditions::write(Target::File),
                segment_count: 2,
                leader: Some(names[0]),
                winner: Some(names[0]),
                techniques: techniques.collect(),
                ..Cell::default()
            }],
            rivals: names.into(),
            ..Results::default()
        };
        let said = sentence(&groups(&results)[0], &results, 1e6);
        let text = "At 1,000,000 lists a second the fastest saves 10 % of a CPU against the next best, and 2.0 CPUs \
                    against the slowest.";
        assert_eq!(said, Some(Block::Sentence(Sentence::of("file", text))));
    }
}
