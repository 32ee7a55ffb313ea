//! The text that stands in place of a crossover.

use crate::model::{Cell, Verdict};

/// The text for `cells` of one shape that have no crossover: `none: copy-then-write` if each
/// has this winner, `none: tie` if all tie, otherwise `not decided`.
pub(crate) fn no_crossover(cells: &[&Cell]) -> String {
    let mut outcomes = cells.iter().map(|cell| (cell.verdict, cell.winner));
    let Some(first) = outcomes.next() else {
        return "not measured".to_owned();
    };
    let is_same = outcomes.all(|outcome| outcome == first);
    match first {
        (Verdict::Faster, Some(winner)) if is_same => format!("none: {winner}"),
        (Verdict::Tie, _) if is_same => "none: tie".to_owned(),
        _ => "not decided".to_owned(),
    }
}
