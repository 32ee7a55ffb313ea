//! The environment of a run of experiments: clock, files, program and progress.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use vectored_machine::Clock;
use vectored_results::model::ExperimentName;

use crate::reproduce::Step;

pub struct Bench<'a> {
    pub clock: &'a dyn Clock,
    pub directory: &'a Path,
    /// The program `vectored`, whose `copy` runs as a child process.
    pub program: &'a Path,
    pub reader_cpu: Option<usize>,
    pub seed: u64,
    pub eta: EtaTracker<'a>,
    /// When this becomes true, the run ends and keeps the samples so far.
    pub stop: &'a AtomicBool,
}

impl Bench<'_> {
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ReproduceProgress {
    pub experiment: ExperimentName,
    pub step: String,
    pub done_s: f64,
    pub left_s: f64,
}

/// The remaining time of a run, from the duration of every step: estimated at first, then measured.
pub struct EtaTracker<'a> {
    /// The steps of all experiments, with the repeats that remain and the duration of one.
    steps: Vec<(ReproduceProgress, usize, f64)>,
    current: usize,
    done_s: f64,
    on_progress: &'a mut dyn FnMut(&ReproduceProgress),
}

impl<'a> EtaTracker<'a> {
    pub fn new(on_progress: &'a mut dyn FnMut(&ReproduceProgress)) -> Self {
        EtaTracker {
            steps: Vec::new(),
            current: 0,
            done_s: 0.0,
            on_progress,
        }
    }

    pub(super) fn enter(&mut self, experiment: ExperimentName, step: &Step) {
        let progress = ReproduceProgress {
            experiment,
            step: step.name.clone(),
            done_s: 0.0,
            left_s: 0.0,
        };
        self.steps.push((progress, step.repeats, step.guess_s));
    }

    pub(super) fn begin(&mut self, step: usize) {
        self.current = step;
        self.within(0.0);
    }

    pub(super) fn within(&mut self, spent_s: f64) {
        let left_s = self.steps.iter().map(|(_, left, s)| *left as f64 * s);
        let left_s: f64 = left_s.sum();
        if let Some((progress, _, repeat_s)) = self.steps.get_mut(self.current) {
            let spent_s = spent_s.min(*repeat_s);
            progress.done_s = self.done_s + spent_s;
            progress.left_s = (left_s - spent_s).max(0.0);
            (self.on_progress)(progress);
        }
    }

    pub(super) fn end(&mut self, took_s: f64) {
        if let Some((_, left, repeat_s)) = self.steps.get_mut(self.current) {
            *left = left.saturating_sub(1);
            *repeat_s = took_s;
        }
        self.done_s += took_s;
        self.within(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_duration_of_steps() {
        let mut reported = Vec::new();
        let mut report =
            |progress: &ReproduceProgress| reported.push((progress.done_s, progress.left_s));
        let mut eta = EtaTracker::new(&mut report);
        for (repeats, guess_s) in [(2, 10.0), (1, 1.0)] {
            let step = Step {
                rows: Vec::new(),
                name: String::new(),
                repeats,
                guess_s,
            };
            eta.enter(ExperimentName::Kalinin, &step);
        }
        eta.begin(0);
        // The second repeat is expected to take as long as the first.
        eta.end(4.0);
        eta.begin(1);
        // The step takes longer than was estimated.
        eta.within(2.0);
        assert_eq!(reported, [(0.0, 21.0), (4.0, 5.0), (4.0, 5.0), (5.0, 4.0)]);
    }
}
