//! Compares results with the library's promises. Pure functions: results in, text out.
//!
//! A promise is an upper limit for a ratio, such as the time of `adaptive` ÷ the time of the best technique by
//! hand. `--bars` prints all of them; a bar is such a limit.
//!
//! Each ratio is taken within one round; the ratio of a cell is the median over its rounds. If a
//! technique is compared with the best of several, the odd rounds choose the best, and the even rounds compare with it.
//! On the same rounds the best would look better than it is, since noise decided the choice.

mod against_best;
mod against_copying;
mod against_peers;
mod known_cell;
mod nearness;
mod ratio;
mod section;
mod sections;

use vectored_results::model::Results;

pub use ratio::{AgainstBest, Rounds, against_best, geometric_mean, ratio};
pub use section::{Row, Section};
pub use sections::sections;

/// All promises and what was found, as text.
pub fn promises(results: &Results) -> String {
    let sections = sections(&results.cells);
    let mut text: Vec<String> = sections.iter().map(Section::text).collect();
    let rounds = results.cells.iter().map(|cell| cell.rounds);
    text.push(format!(
        "{} cells, at least {} rounds each, {:.0} s{}\n",
        results.cells.len(),
        rounds.min().unwrap_or(0),
        results.elapsed_s,
        if results.complete { "" } else { "; incomplete" }
    ));
    text.join("\n")
}
