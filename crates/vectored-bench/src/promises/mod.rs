//! What results say of the library's promises: pure functions, results in,
//! text out.
//!
//! Ratios are of times within one round, and a cell's is their median. Where a
//! technique is compared with the best of several, the best one is chosen on
//! the odd rounds and compared on the even ones: else the luck of the best
//! would count against the other.

mod ratio;
mod section;
mod sections;

use vectored_lab::model::Results;

pub use ratio::{AgainstBest, Rounds, against_best, geometric_mean, ratio};
pub use section::{Row, Section};
pub use sections::sections;

/// Everything that is promised, and what was found, as text.
pub fn promises(results: &Results) -> String {
    let sections = sections(&results.cells);
    let mut text: Vec<String> = sections.iter().map(Section::text).collect();
    let rounds = results.cells.iter().map(|cell| cell.rounds);
    text.push(format!(
        "{} cells, at least {} rounds each, {:.0} s{}\n",
        results.cells.len(),
        rounds.min().unwrap_or(0),
        results.elapsed_s,
        match results.complete {
            true => "",
            false => "; incomplete",
        }
    ));
    text.join("\n")
}
