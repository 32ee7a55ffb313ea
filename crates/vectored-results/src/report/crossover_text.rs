//! A crossover as text, and the text that stands in place of one.

use vectored_report::words::about_within;

use crate::model::{Cell, Crossover, Verdict};

/// The size of a crossover, with the interval: `1.40 KiB [1.31, 1.52]`.
pub(crate) fn place(crossover: &Crossover) -> String {
    about_within(
        crossover.at_bytes,
        crossover.low_bytes,
        crossover.high_bytes,
    )
}

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
