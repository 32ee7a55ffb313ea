//! The progress bar.

use std::cell::Cell;
use std::time::Duration;

use vectored_measure::measure::Progress;
#[cfg(unix)]
use vectored_measure::reproduce::ReproduceProgress;

use crate::terminal::can_redraw;
use crate::terminal::status_line::StatusLine;

/// Shows how much of the budget has passed.
///
/// The measuring thread draws the bar between samples, because a second thread would disturb the samples.
pub struct Bar {
    line: StatusLine,
    share: Cell<f64>,
}

impl Bar {
    /// The bar is hidden with `quiet`, or if standard error is not a terminal that can redraw a line.
    pub fn new(quiet: bool) -> Self {
        Bar {
            line: StatusLine::new(!quiet && can_redraw()),
            share: Cell::new(0.0),
        }
    }

    fn draw(&self, at_once: bool, words: &str) {
        self.line.show(at_once, |columns| {
            let columns = columns.saturating_sub(words.chars().count() + 1);
            bar(self.share.get(), columns) + " " + words
        });
    }

    /// Shows a step before the first round. The budget includes the time of the step.
    pub fn show_preparation(&self, what: &str, elapsed: Duration, budget: Duration) {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.share.set(elapsed.as_secs_f64() / budget.as_secs_f64());
        // The next update may come much later, so this step is always drawn.
        self.draw(
            true,
            &format!("{what}  {}", seconds(ns(elapsed), ns(budget))),
        );
    }

    #[cfg(unix)]
    pub fn show_waiting(&self, what: &str) {
        self.draw(true, what);
    }

    pub fn aside(&self, write: impl FnOnce()) {
        self.line.aside(write);
    }

    pub fn show(&self, progress: Progress) {
        let (elapsed, budget) = (progress.elapsed_ns as f64, progress.budget_ns as f64);
        self.share.set(elapsed / budget);
        self.draw(false, &message(progress));
    }

    #[cfg(unix)]
    pub fn show_reproducing(&self, progress: &ReproduceProgress) {
        self.share
            .set(progress.done as f64 / progress.samples as f64);
        self.draw(false, &reproducing(progress));
    }
}

fn bar(share: f64, columns: usize) -> String {
    let count = (share.clamp(0.0, 1.0) * columns as f64) as usize;
    let mut text = "━".repeat(count);
    if count < columns {
        text.push('╸');
        text.push_str(&"─".repeat(columns - count - 1));
    }
    text
}

fn message(progress: Progress) -> String {
    let Progress {
        cells_begun,
        cells_sampled,
        cells,
        target,
        ..
    } = progress;
    let doing = match progress.open {
        None if cells_begun < cells => format!("{cells_begun}/{cells} cells begun, now {target}"),
        None => format!("{cells_sampled}/{cells} cells, now {target}"),
        Some(1) => "deciding: 1 cell open".to_owned(),
        Some(open) => format!("deciding: {open} cells open"),
    };
    let seconds = seconds(progress.elapsed_ns, progress.budget_ns);
    format!("{doing}  {seconds}")
}

/// For example `4/18 s`.
fn seconds(elapsed_ns: u64, budget_ns: u64) -> String {
    let [elapsed_s, budget_s] =
        [elapsed_ns, budget_ns].map(|ns| Duration::from_nanos(ns).as_secs_f64());
    format!("{elapsed_s:.0}/{budget_s:.0} s")
}

#[cfg(unix)]
fn reproducing(progress: &ReproduceProgress) -> String {
    let ReproduceProgress {
        experiment,
        step,
        done,
        samples,
    } = progress;
    format!("{experiment}, {step}  {done}/{samples}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use vectored_results::model::Target;

    #[test]
    fn the_bar_is_filled_by_the_share() {
        for (share, expected) in [
            (0.0, "╸────"),
            (0.5, "━━╸──"),
            (1.0, "━━━━━"),
            (7.0, "━━━━━"),
            (f64::NAN, "╸────"),
        ] {
            assert_eq!(bar(share, 5), expected);
        }
        assert_eq!(bar(0.5, 0), "");
    }

    #[test]
    fn the_bar_says_what_is_going_on() {
        let first = Progress {
            cells_begun: 51,
            cells_sampled: 12,
            cells: 51,
            open: None,
            elapsed_ns: 4_000_000_000,
            budget_ns: 16_000_000_000,
            needed_ns: 9_000_000_000,
            target: Target::Pipe,
        };
        assert_eq!(message(first), "12/51 cells, now pipe  4/16 s");
        let begun = Progress {
            cells_begun: 31,
            cells_sampled: 0,
            ..first
        };
        assert_eq!(message(begun), "31/51 cells begun, now pipe  4/16 s");
        let open = |open| message(Progress { open, ..first });
        assert_eq!(open(Some(9)), "deciding: 9 cells open  4/16 s");
        assert_eq!(open(Some(1)), "deciding: 1 cell open  4/16 s");
    }
}
