//! The text that stands in place of a crossover.

use crate::model::{Cell, Verdict};

/// The text for `cells` of one shape that have no crossover: `none: copy-then-write` if each
/// has this winner, `none: tie` if all tie, otherwise `not decided`.
pub(crate) fn no_crossover(cells: &[&Cell]) -> String {
    let Some(first) = cells.first() else {
        return "not measured".to_owned();
    };
    let is_same = |cell: &&Cell| (cell.verdict, cell.winner) == (first.verdict, first.winner);
    match (first.verdict, first.winner) {
        (Verdict::Faster, Some(winner)) if cells.iter().all(is_same) => format!("none: {winner}"),
        (Verdict::Tie, _) if cells.iter().all(is_same) => "none: tie".to_owned(),
        _ => "not decided".to_owned(),
    }
}
