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
