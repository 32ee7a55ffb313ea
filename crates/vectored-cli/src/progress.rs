//! The progress bar.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use vectored_machine::host::CpuWait;
use vectored_measure::measure::Progress;
use vectored_measure::reproduce::ReproduceProgress;

use crate::terminal::{can_redraw, messages_are_ascii};

const TEMPLATE: &str = "{wide_bar} {msg}";

/// A bar that shows the share of the budget that has passed.
///
/// It is drawn between samples by the measuring thread; a second thread would disturb the samples.
pub struct Bar(ProgressBar, CpuWait);

/// A share of the time without a CPU below this is not shown.
pub const SHOWN_CPU_WAIT: f64 = 0.1;

impl Bar {
    /// A bar on standard error. Hidden if `quiet`, or if standard error is not a terminal that can redraw
    /// a line.
    pub fn new(quiet: bool) -> Self {
        if quiet || !can_redraw() {
            return Bar(ProgressBar::hidden(), CpuWait::begin());
        }
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            let characters = if messages_are_ascii() { "=>-" } else { "━╸─" };
            bar.set_style(style.progress_chars(characters));
        }
        Bar(bar, CpuWait::begin())
    }

    /// Of the time since the bar was made in which this thread could run, the share in which it had no CPU, if it is
    /// considerable.
    pub fn cpu_wait(&self) -> Option<f64> {
        self.1.share().filter(|share| *share >= SHOWN_CPU_WAIT)
    }

    /// Shows a step before the first round; its time is part of the budget.
    pub fn show_preparation(&self, what: &str, elapsed: Duration, budget: Duration) {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.0.set_length(ns(budget));
        self.0.set_position(ns(elapsed).min(ns(budget)));
        self.0
            .set_message(format!("{what}  {}", seconds(ns(elapsed), ns(budget))));
        // The next update may come much later.
        self.0.force_draw();
    }

    /// Shows a step before a run of unknown length.
    pub fn show_waiting(&self, what: &str) {
        self.0.set_message(what.to_owned());
        self.0.force_draw();
    }

    /// Hides the bar while `write` prints to standard error.
    pub fn aside(&self, write: impl FnOnce()) {
        self.0.suspend(write);
    }

    /// Shows the progress of a run.
    pub fn show(&self, progress: Progress) {
        self.0.set_length(progress.budget_ns);
        self.0
            .set_position(progress.elapsed_ns.min(progress.budget_ns));
        self.0.set_message(message(progress, self.cpu_wait()));
    }
}

impl Bar {
    /// Shows the progress of the published experiments and the time left.
    pub fn show_reproducing(&self, progress: &ReproduceProgress) {
        let milliseconds = |s: f64| (s * 1e3) as u64;
        let all = milliseconds(progress.done_s + progress.left_s);
        self.0.set_length(all);
        self.0.set_position(milliseconds(progress.done_s).min(all));
        self.0.set_message(reproducing(progress));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn message(progress: Progress, cpu_wait: Option<f64>) -> String {
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
    let busy = cpu_wait.map_or(String::new(), |share| {
        format!(", no CPU for {:.0} %", share * 100.0)
    });
    let seconds = seconds(progress.elapsed_ns, progress.budget_ns);
    format!("{doing}{busy}  {seconds}")
}

/// `4/18 s`.
fn seconds(elapsed_ns: u64, budget_ns: u64) -> String {
    let [elapsed_s, budget_s] =
        [elapsed_ns, budget_ns].map(|ns| Duration::from_nanos(ns).as_secs_f64());
    format!("{elapsed_s:.0}/{budget_s:.0} s")
}

fn reproducing(progress: &ReproduceProgress) -> String {
    let ReproduceProgress {
        experiment,
        step,
        left_s,
        ..
    } = progress;
    // Whole seconds, at least 1 while something is left.
    let left_s = left_s.ceil().max(1.0) as u64;
    let left = match (left_s / 60, left_s % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    };
    format!("{experiment}, {step}  {left} left")
}

#[cfg(test)]
mod tests {
    use super::*;
    use vectored_results::model::{ExperimentName, Target};

    #[test]
    fn the_bar_knows_how_long_is_left() {
        let at = |left_s| ReproduceProgress {
            experiment: ExperimentName::Apue35,
            step: "buffer of 1 B".to_owned(),
            done_s: 3.0,
            left_s,
        };
        assert_eq!(
            reproducing(&at(75.2)),
            "apue-3.5, buffer of 1 B  1 min 16 s left"
        );
        assert_eq!(reproducing(&at(0.2)), "apue-3.5, buffer of 1 B  1 s left");
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
        assert_eq!(message(first, None), "12/51 cells, now pipe  4/16 s");
        let begun = Progress {
            cells_begun: 31,
            cells_sampled: 0,
            ..first
        };
        assert_eq!(
            message(begun, Some(0.617)),
            "31/51 cells begun, now pipe, no CPU for 62 %  4/16 s"
        );
        let open = |open| message(Progress { open, ..first }, None);
        assert_eq!(open(Some(9)), "deciding: 9 cells open  4/16 s");
        assert_eq!(open(Some(1)), "deciding: 1 cell open  4/16 s");
    }
}
