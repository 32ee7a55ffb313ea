//! The environment of a run of experiments: clock, files, program and progress.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use vectored_machine::Clock;
use vectored_results::model::ExperimentName;

/// The environment in which experiments are run.
pub struct Bench<'a> {
    /// The clock that times samples.
    pub clock: &'a dyn Clock,
    /// The directory of temporary files, which have no names.
    pub directory: &'a Path,
    /// The program `vectored`, whose `copy` runs as a child process.
    pub program: &'a Path,
    /// The CPU of a thread that reads a pipe.
    pub reader_cpu: Option<usize>,
    /// The seed of the order of rows and of the bytes.
    pub seed: u64,
    /// The steps that remain, and the progress callback.
    pub eta: EtaTracker<'a>,
    /// When this becomes true, the run ends and keeps the samples so far.
    pub stop: &'a AtomicBool,
}

impl Bench<'_> {
    /// Whether the run was stopped.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// The progress of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ReproduceProgress {
    /// The experiment.
    pub experiment: ExperimentName,
    /// A description of the step that is being measured.
    pub step: String,
    /// Seconds of work done.
    pub done_s: f64,
    /// Estimated seconds of work left.
    pub left_s: f64,
}

/// The remaining time of a run, from the duration of every step: estimated at first, then measured.
pub struct EtaTracker<'a> {
    entries: Vec<Entry>,
    current: usize,
    done_s: f64,
    on_progress: &'a mut dyn FnMut(&ReproduceProgress),
}

struct Entry {
    experiment: ExperimentName,
    step: usize,
    name: String,
    repeats_left: usize,
    repeat_s: f64,
}

impl fmt::Debug for EtaTracker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EtaTracker of {} steps", self.entries.len())
    }
}

impl<'a> EtaTracker<'a> {
    /// A tracker without steps, which calls `on_progress` at every change.
    pub fn new(on_progress: &'a mut dyn FnMut(&ReproduceProgress)) -> Self {
        EtaTracker {
            entries: Vec::new(),
            current: 0,
            done_s: 0.0,
            on_progress,
        }
    }

    /// Adds a step, with the number of its repeats and the estimated duration of one.
    pub(super) fn enter(
        &mut self,
        (experiment, step): (ExperimentName, usize),
        name: String,
        (repeats, guess_s): (usize, f64),
    ) {
        self.entries.push(Entry {
            experiment,
            step,
            name,
            repeats_left: repeats,
            repeat_s: guess_s,
        });
    }

    /// Begins a repeat of a step.
    pub(super) fn begin(&mut self, experiment: ExperimentName, step: usize) {
        let is_it = |entry: &Entry| (entry.experiment, entry.step) == (experiment, step);
        self.current = self.entries.iter().position(is_it).unwrap_or(self.current);
        self.within(0.0);
    }

    /// Reports the progress of the current repeat, which has taken `spent_s` seconds.
    pub(super) fn within(&mut self, spent_s: f64) {
        let Some(current) = self.entries.get(self.current) else {
            return;
        };
        let left = self.entries.iter();
        let left_s: f64 = left
            .map(|entry| entry.repeats_left as f64 * entry.repeat_s)
            .sum();
        let spent_s = spent_s.min(current.repeat_s);
        (self.on_progress)(&ReproduceProgress {
            experiment: current.experiment,
            step: current.name.clone(),
            done_s: self.done_s + spent_s,
            left_s: (left_s - spent_s).max(0.0),
        });
    }

    /// Ends the current repeat, which took `took_s` seconds.
    pub(super) fn end(&mut self, took_s: f64) {
        if let Some(current) = self.entries.get_mut(self.current) {
            current.repeats_left = current.repeats_left.saturating_sub(1);
            current.repeat_s = took_s;
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
        let name = ExperimentName::Kalinin;
        eta.enter((name, 0), "one".to_owned(), (2, 10.0));
        eta.enter((name, 1), "other".to_owned(), (1, 1.0));
        eta.begin(name, 0);
        eta.within(5.0);
        eta.end(4.0);
        eta.begin(name, 1);
        // It takes longer than was estimated.
        eta.within(2.0);
        eta.end(3.0);
        let expected = [
            (0.0, 21.0),
            (5.0, 16.0),
            // The second repeat is expected to take as long as the first.
            (4.0, 5.0),
            (4.0, 5.0),
            (5.0, 4.0),
            (7.0, 4.0),
        ];
        assert_eq!(reported, expected);
    }
}
